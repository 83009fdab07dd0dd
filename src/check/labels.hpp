// Which moves of a state sleep, and which moves of its successors will (Godefroid's sleep sets). A step of
// one node is independent of those of the others, unless the judge hears both.
#pragma once
#include <cstdint>

#include "check/space.hpp"

namespace conclave::check {

class Labels {
 public:
  // Without `used`, moves have none and nothing sleeps.
  Labels(std::uint32_t nodes, bool fifo, bool used, const Sleep& sleep)
      : nodes_(nodes), fifo_(fifo), used_(used), asleep_(sleep.labels), only_(sleep.only) {}

  static bool fit(std::uint32_t nodes) { return nodes * (nodes + 1) <= 64; }
  std::uint8_t of_client(std::uint32_t node) const { return label(node, node); }
  std::uint8_t of_link(std::uint32_t from, std::uint32_t to) const { return label(to, from); }
  std::uint8_t of_timers(std::uint32_t node) const { return label(node, nodes_); }

  bool sleeps(std::uint8_t label) const {
    if (label == Move::no_label) return only_ != 0;
    return (asleep_ >> label & 1) != 0 || (only_ != 0 && (only_ >> label & 1) == 0);
  }
  // All moves of a label have been tried; did the judge hear one of them?
  void close(std::uint8_t label, bool heard) {
    if (label == Move::no_label || sleeps(label)) return;
    explored_ |= std::uint64_t{1} << label;
    if (!heard) unheard_ |= std::uint64_t{1} << label;
  }
  // What sleeps after a step of that node, which posted these.
  template <class Parcels>
  std::uint64_t after(std::uint32_t node, bool heard, const Parcels& posted) const {
    if (!used_) return 0;
    std::uint64_t still = heard ? unheard_ : asleep_ | explored_;
    if (!fifo_) {
      // One more letter in a lane that slept.
      for (const auto parcel : posted) still &= ~(std::uint64_t{1} << of_link(node, parcel.to()));
    }
    return still & ~(((std::uint64_t{2} << nodes_) - 1) << (node * (nodes_ + 1)));
  }

 private:
  std::uint8_t label(std::uint32_t node, std::uint32_t which) const {
    return used_ ? static_cast<std::uint8_t>(node * (nodes_ + 1) + which) : Move::no_label;
  }

  std::uint32_t nodes_;
  bool fifo_;
  bool used_;
  std::uint64_t asleep_;
  std::uint64_t only_;
  std::uint64_t explored_ = 0;
  std::uint64_t unheard_ = 0;
};

}  // namespace conclave::check
