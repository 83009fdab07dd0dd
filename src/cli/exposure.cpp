#include "cli/exposure.hpp"

#include <fmt/format.h>

namespace conclave::cli {
namespace {

std::unexpected<std::string> exposed(const live::Address& listen, std::string_view what,
                                     std::string_view cure, std::string_view why_not) {
  return std::unexpected(fmt::format("whoever reaches {} may {}: give\n  {}\n  {}", live::in_words(listen),
                                     what, cure, why_not));
}

}  // namespace

std::expected<void, std::string> check_clients_port(const ServePlan& plan, const live::Address& listen) {
  if (plan.client_tls || plan.insecure_clients || !live::reached_from_elsewhere(listen.host)) return {};
  return exposed(
      listen, "read and write everything",
      "--client-tls --tls-cert FILE --tls-key FILE, and --client-ca FILE to let in only whom it signed; or",
      "--insecure-clients, where everybody who reaches it may do so");
}

std::expected<void, std::string> check_members_port(const ServePlan& plan, const live::Address& listen) {
  const bool tls = !plan.tls_cert.empty() && !plan.tls_ca.empty();
  if (!plan.key_file.empty() || tls || plan.insecure_members || !live::reached_from_elsewhere(listen.host))
    return {};
  return exposed(
      listen, "join as a member",
      "--key-file FILE, a secret that all members share (head -c 32 /dev/urandom | base64 > FILE); or",
      "--insecure-members, where everybody who reaches it may do so");
}

}  // namespace conclave::cli
