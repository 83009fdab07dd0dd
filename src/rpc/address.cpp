#include "rpc/address.hpp"

#include <algorithm>

namespace conclave::rpc {

namespace ip = boost::asio::ip;

std::expected<Address, std::string> parse_address(std::string_view text) {
  const auto wrong = [whole = std::string(text)](std::string_view why) {
    return std::unexpected("\"" + whole + "\" is no address: " + std::string(why) + " (like 127.0.0.1:2379)");
  };
  Address result;
  if (text.starts_with("https://")) result.tls = true;
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    if (!result.tls && !text.starts_with("http://")) return wrong("only http:// and https:// are known");
    text.remove_prefix(scheme + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("the port is missing");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool digits = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (port.empty() || port.size() > 5 || !digits || std::stoul(std::string(port)) > 65535)
    return wrong("the port is a number up to 65535");
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return wrong("an IPv6 address stands in brackets");
  }
  if (host.find_first_of("[]/@ ") != std::string_view::npos) return wrong("that is no name of a host");
  result.host = host.empty() ? "0.0.0.0" : std::string(host);
  result.port = port;
  return result;
}

ip::address network_of(const ip::address& address) {
  if (!address.is_v6()) return address;
  if (address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return ip::address_v6(bytes);
}

}  // namespace conclave::rpc
