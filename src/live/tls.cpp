#include "live/tls.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <array>
#include <string_view>

#include "core/ensure.hpp"

namespace conclave::live {

namespace ssl = boost::asio::ssl;

std::expected<std::unique_ptr<ssl::context>, std::string> make_context(const Tls& tls) {
  if (tls.certificate.empty() || tls.key.empty() || tls.authority.empty())
    return std::unexpected("TLS needs a certificate, its key and the authority that signed all of them");
  auto context = std::make_unique<ssl::context>(ssl::context::tls);
  ensure(SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_3_VERSION) == 1, "OpenSSL has TLS 1.3");
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  // Resumption would save a round trip that members pay once an hour, and adds a way in.
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context->native_handle(), 0);

  boost::system::error_code error;
  const auto at_fault = [&](const std::string& file) {
    return std::unexpected(fmt::format("{}: {}", file, error.message()));
  };
  context->use_certificate_chain_file(tls.certificate, error);
  if (error) return at_fault(tls.certificate);
  context->use_private_key_file(tls.key, ssl::context::pem, error);
  if (error) return at_fault(tls.key);
  context->load_verify_file(tls.authority, error);
  if (error) return at_fault(tls.authority);
  return context;
}

std::string session_secret(SSL* session) {
  constexpr std::string_view label = "EXPORTER-conclave-link";
  std::array<unsigned char, 32> secret;
  ensure(SSL_export_keying_material(session, secret.data(), secret.size(), label.data(), label.size(),
                                    nullptr, 0, 0) == 1,
         "a finished TLS handshake has a secret");
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

}  // namespace conclave::live
