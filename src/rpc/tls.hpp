// TLS from PEM files, for servers and for clients. ALPN offers h2, and http/1.1 where it is served.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <expected>
#include <memory>
#include <string>

namespace conclave::rpc {

struct TlsFiles {
  std::string certificate = {};  // our chain, leaf first
  std::string key = {};
  std::string authority = {};  // who signs the other side; a client without it trusts what the system trusts
  bool require_client_certificate = false;
  // Clients only: a name to expect instead of the host of the endpoint, or no check at all.
  std::string server_name = {};
  bool trust_anybody = false;
};

struct Tls {
  boost::asio::ssl::context context;
  TlsFiles files;
};
using TlsPtr = std::shared_ptr<Tls>;  // empty: plain text

// Both say in one sentence what is wrong with which file.
std::expected<TlsPtr, std::string> server_tls(const TlsFiles& files);
std::expected<TlsPtr, std::string> client_tls(const TlsFiles& files);

}  // namespace conclave::rpc
