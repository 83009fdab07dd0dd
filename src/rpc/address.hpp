// "host:port" and URLs around it, as users write endpoints.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace conclave::rpc {

struct Address {
  std::string host = {};
  std::string port = {};
  bool tls = false;  // written with https://

  bool operator==(const Address&) const = default;
  std::string text() const { return (host.contains(':') ? "[" + host + "]" : host) + ":" + port; }
};

// Takes host:port, [::1]:port, :port (every interface), and all of these after http:// or https://.
std::expected<Address, std::string> parse_address(std::string_view text);

// Whose address it is, as far as can be told: of IPv6 the network of 64 bits, all of which a host may have.
boost::asio::ip::address network_of(const boost::asio::ip::address& address);

}  // namespace conclave::rpc
