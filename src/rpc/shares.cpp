#include "rpc/shares.hpp"

#include "core/ensure.hpp"
#include "rpc/address.hpp"

namespace conclave::rpc {

namespace {

// Of "192.0.2.7:4711" or "[::1]:4711"; what is written otherwise counts as one address.
boost::asio::ip::address address_of(const Peer& peer) {
  const auto address = parse_address(peer.address);
  if (!address) return {};
  boost::system::error_code wrong;
  const auto parsed = boost::asio::ip::make_address(address->host, wrong);
  return wrong ? boost::asio::ip::address() : network_of(parsed);
}

template <class Parts, class Whose>
void give(Parts& parts, const Whose& whose, std::size_t amount) {
  const auto found = parts.find(whose);
  ensure(found != parts.end() && found->second >= amount, "nobody gives back more than was taken");
  if ((found->second -= amount) == 0) parts.erase(found);
}

template <class Parts, class Whose>
std::size_t taken_of(const Parts& parts, const Whose& whose) {
  const auto found = parts.find(whose);
  return found == parts.end() ? 0 : found->second;
}

// So much of so many fourths, and something in any case.
std::size_t fourths(std::size_t most, std::size_t count) { return (most * count + 3) / 4; }

}  // namespace

Shares::Part::~Part() {
  if (!counts_) return;
  counts_->all -= amount_;
  give(counts_->of_connections, connection_, amount_);
  give(counts_->of_addresses, address_, amount_);
}

std::optional<Shares::Part> Shares::take(const Peer& peer, std::size_t amount) {
  const auto address = address_of(peer);
  const bool fits = counts_->all + amount <= most_ &&
                    taken_of(counts_->of_connections, peer.connection) + amount <= fourths(most_, 1) &&
                    taken_of(counts_->of_addresses, address) + amount <= fourths(most_, 3);
  if (!fits) {
    ++refused_;
    return std::nullopt;
  }
  counts_->all += amount;
  counts_->of_connections[peer.connection] += amount;
  counts_->of_addresses[address] += amount;
  Part part;
  part.counts_ = counts_;
  part.connection_ = peer.connection;
  part.address_ = address;
  part.amount_ = amount;
  return part;
}

}  // namespace conclave::rpc
