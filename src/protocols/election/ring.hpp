// The order of a ring, shared by everybody on it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::election {

class Ring {
 public:
  // Clockwise; every process once.
  explicit Ring(std::vector<NodeId> order) : order_(std::move(order)) {
    ensure(!order_.empty(), "a ring has at least one process");
    const auto [least, greatest] = std::ranges::minmax(order_);
    base_ = least.value;
    dense_ = greatest.value - least.value == order_.size() - 1;
    const auto size = static_cast<std::uint32_t>(order_.size());
    if (dense_) {
      place_.assign(size, size);
    } else {
      sorted_.reserve(size);
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      if (!dense_) {
        sorted_.emplace_back(order_[i], i);
        continue;
      }
      std::uint32_t& place = place_[order_[i].value - base_];
      ensure(place == size, "every process has one place in the ring");
      place = i;
    }
    std::ranges::sort(sorted_);
    ensure(std::ranges::adjacent_find(sorted_, {}, &Place::first) == sorted_.end(),
           "every process has one place in the ring");
  }

  const std::vector<NodeId>& order() const { return order_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(order_.size()); }
  // The clockwise neighbour. At once if the ids are consecutive.
  NodeId after(NodeId node) const {
    const std::uint32_t place = dense_ ? place_[node.value - base_] : find(node);
    return order_[place + 1 == size() ? 0 : place + 1];
  }

 private:
  using Place = std::pair<NodeId, std::uint32_t>;

  std::uint32_t find(NodeId node) const {
    const auto found = std::ranges::lower_bound(sorted_, node, {}, &Place::first);
    ensure(found != sorted_.end() && found->first == node, "every member has its place in the ring");
    return found->second;
  }

  std::vector<NodeId> order_;
  bool dense_ = true;
  std::uint32_t base_ = 0;
  std::vector<std::uint32_t> place_;  // by id, if the ids are consecutive
  std::vector<Place> sorted_;         // else
};

}  // namespace conclave::election
