// What many clients want and is bounded for all together: no connection may have more than a quarter of it,
// and no address more than three quarters, so that nobody is locked out by one of them.
//
//   Shares waiting(100'000);
//   auto part = waiting.take(caller->peer());
//   if (!part) return caller->refuse(…);  // it surely has not happened
//
// A part is given back when it is destroyed.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "rpc/peer.hpp"

namespace conclave::rpc {

class Shares {
  struct Counts {
    std::size_t all = 0;
    std::map<ConnectionId, std::size_t> of_connections = {};
    std::map<boost::asio::ip::address, std::size_t> of_addresses = {};
  };

 public:
  class Part {
   public:
    Part() = default;  // of nothing
    Part(Part&& other) noexcept { swap(other); }
    Part& operator=(Part other) noexcept {
      swap(other);
      return *this;
    }
    ~Part();

   private:
    friend class Shares;
    void swap(Part& other) noexcept {
      counts_.swap(other.counts_);
      std::swap(connection_, other.connection_);
      std::swap(address_, other.address_);
      std::swap(amount_, other.amount_);
    }

    std::shared_ptr<Counts> counts_ = {};  // it may outlive the shares
    ConnectionId connection_ = {};
    boost::asio::ip::address address_ = {};
    std::size_t amount_ = 0;
  };

  explicit Shares(std::size_t most) : most_(most) {}

  std::optional<Part> take(const Peer& peer, std::size_t amount = 1);
  std::size_t taken() const { return counts_->all; }
  std::uint64_t refused() const { return refused_; }

 private:
  std::size_t most_;
  std::uint64_t refused_ = 0;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace conclave::rpc
