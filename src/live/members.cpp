#include "live/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "live/secrets.hpp"

namespace conclave::live {

std::string in_words(const Address& address) {
  const bool colons = address.host.find(':') != std::string::npos;
  return colons ? fmt::format("[{}]:{}", address.host, address.port)
                : fmt::format("{}:{}", address.host, address.port);
}

bool reached_from_elsewhere(const std::string& host) {
  using boost::asio::ip::tcp;
  boost::asio::io_context nobody_runs_it;
  tcp::resolver resolver(nobody_runs_it);
  boost::system::error_code error;
  const auto found = resolver.resolve(host, "0", tcp::resolver::passive, error);
  const auto elsewhere = [](const auto& entry) {
    const boost::asio::ip::address address = entry.endpoint().address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
      return !boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
    return !address.is_loopback();
  };
  return !error && std::any_of(found.begin(), found.end(), elsewhere);
}

std::string members_digest(std::vector<Peer> members) {
  std::ranges::sort(members, {}, &Peer::id);
  std::string lines;
  for (const Peer& peer : members) lines += fmt::format("{}={}\n", peer.id.value, in_words(peer.address()));
  return sha256(lines);
}

std::string wrong_with(const std::vector<Peer>& members, NodeId self) {
  bool found = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Peer& one = members[i];
    found = found || one.id == self;
    if (one.host.empty() || one.host.size() > 255 || one.port == 0)
      return fmt::format("member {} needs an address host:port", one.id.value);
    for (std::size_t j = 0; j < i; ++j) {
      if (members[j].id == one.id) return fmt::format("member {} is listed twice", one.id.value);
      if (members[j].address() == one.address())
        return fmt::format("members {} and {} have the same address {}", members[j].id.value, one.id.value,
                           in_words(one.address()));
    }
  }
  if (!found) return fmt::format("member {} is not in the list of members", self.value);
  return {};
}

}  // namespace conclave::live
