#include "cli/exposure.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace conclave::cli {

namespace {

bool is_loopback(const boost::asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

std::unexpected<std::string> exposed(const live::Address& listen, std::string_view what,
                                     std::string_view cure, std::string_view why_not) {
  return std::unexpected(fmt::format("whoever reaches {} may {}: give\n  {}\n  {}", live::in_words(listen),
                                     what, cure, why_not));
}

}  // namespace

bool reached_from_elsewhere(const live::Address& address) {
  using boost::asio::ip::tcp;
  boost::asio::io_context loop(1);
  boost::system::error_code error;
  const auto found =
      tcp::resolver(loop).resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error) return false;
  for (const auto& one : found)
    if (!is_loopback(one.endpoint().address())) return true;
  return false;
}

std::expected<void, std::string> check_clients_port(const ServePlan& plan, const live::Address& listen) {
  if (plan.client_tls || plan.insecure_clients || !reached_from_elsewhere(listen)) return {};
  return exposed(
      listen, "read and write everything",
      "--client-tls --tls-cert FILE --tls-key FILE, and --client-ca FILE to let in only whom it signed; or",
      "--insecure-clients, where everybody who reaches it may do so");
}

std::expected<void, std::string> check_members_port(const ServePlan& plan, const live::Address& listen) {
  const bool tls = !plan.tls_cert.empty() && !plan.tls_ca.empty();
  if (!plan.key_file.empty() || tls || plan.insecure_members || !reached_from_elsewhere(listen)) return {};
  return exposed(
      listen, "join as a member",
      "--key-file FILE, a secret that all members share (head -c 32 /dev/urandom | base64 > FILE); or",
      "--insecure-members, where everybody who reaches it may do so");
}

}  // namespace conclave::cli
