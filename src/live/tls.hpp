// TLS between members: both sides show a certificate, and both check the other's.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <expected>
#include <memory>
#include <string>

namespace conclave::live {

// Files in PEM. Without a certificate there is no TLS.
struct Tls {
  std::string certificate = {};  // ours, with whatever leads to the authority
  std::string key = {};
  std::string authority = {};  // that signed everybody's
  bool check_host = true;      // the dialler also wants the name it dialled in the certificate
  bool wanted() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

// TLS 1.3 and nothing older; says which file is at fault.
std::expected<std::unique_ptr<boost::asio::ssl::context>, std::string> make_context(const Tls& tls);

// A secret that only the two ends of this TLS session have.
std::string session_secret(SSL* session);

}  // namespace conclave::live
