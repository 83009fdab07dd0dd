#include "rpc/tls.hpp"

#include <string_view>

namespace conclave::rpc {

namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

// Wire form of ALPN: each name with its length before it.
constexpr std::string_view h2_and_http1 = "\x02h2\x08http/1.1";
constexpr std::string_view h2_only = "\x02h2";

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* offered,
                    unsigned offered_length, void*) {
  unsigned char* chosen = nullptr;
  const int outcome =
      SSL_select_next_proto(&chosen, out_length, bytes(h2_and_http1),
                            static_cast<unsigned>(h2_and_http1.size()), offered, offered_length);
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::unexpected<std::string> bad_file(const std::string& file, const error_code& error) {
  return std::unexpected("TLS: cannot use \"" + file + "\": " + error.message());
}

std::expected<void, std::string> load(ssl::context& context, const TlsFiles& files) {
  error_code error;
  if (!files.certificate.empty()) {
    if (context.use_certificate_chain_file(files.certificate, error))
      return bad_file(files.certificate, error);
    if (context.use_private_key_file(files.key, ssl::context::pem, error)) return bad_file(files.key, error);
    if (SSL_CTX_check_private_key(context.native_handle()) != 1)
      return std::unexpected("TLS: the key \"" + files.key + "\" does not belong to \"" + files.certificate +
                             "\"");
  }
  if (!files.authority.empty() && context.load_verify_file(files.authority, error))
    return bad_file(files.authority, error);
  return {};
}

TlsPtr fresh(ssl::context::method method, const TlsFiles& files) {
  auto tls = std::make_shared<Tls>(Tls{ssl::context(method), files});
  SSL_CTX_set_min_proto_version(tls->context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(tls->context.native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A connection that waits needs no buffers.
  SSL_CTX_set_mode(tls->context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  return tls;
}

}  // namespace

std::expected<TlsPtr, std::string> server_tls(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty())
    return std::unexpected("TLS: a server needs a certificate and its key");
  if (files.require_client_certificate && files.authority.empty())
    return std::unexpected("TLS: client certificates cannot be required without an authority to check them");
  TlsPtr tls = fresh(ssl::context::tls_server, files);
  if (const auto loaded = load(tls->context, files); !loaded) return std::unexpected(loaded.error());
  if (files.require_client_certificate)
    tls->context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  SSL_CTX_set_alpn_select_cb(tls->context.native_handle(), choose_protocol, nullptr);
  // Sessions belong to this context; without a name for it OpenSSL refuses to resume those with client
  // certificates.
  constexpr std::string_view context_name = "conclave";
  SSL_CTX_set_session_id_context(tls->context.native_handle(), bytes(context_name),
                                 static_cast<unsigned>(context_name.size()));
  return tls;
}

std::expected<TlsPtr, std::string> client_tls(const TlsFiles& files) {
  TlsPtr tls = fresh(ssl::context::tls_client, files);
  if (const auto loaded = load(tls->context, files); !loaded) return std::unexpected(loaded.error());
  error_code error;
  if (files.authority.empty() && !files.trust_anybody && tls->context.set_default_verify_paths(error))
    return bad_file("the system's certificates", error);
  tls->context.set_verify_mode(files.trust_anybody ? ssl::verify_none : ssl::verify_peer);
  SSL_CTX_set_alpn_protos(tls->context.native_handle(), bytes(h2_only),
                          static_cast<unsigned>(h2_only.size()));
  return tls;
}

}  // namespace conclave::rpc
