// The digest behind a saved state, piece by piece.
#pragma once
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "core/ensure.hpp"

namespace conclave::etcd {

class Sha256 {
 public:
  static constexpr std::size_t size = 32;
  using Digest = std::array<std::uint8_t, size>;

  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    ensure(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL has SHA-256");
  }
  void add(std::span<const std::uint8_t> bytes) {
    ensure(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "OpenSSL has SHA-256");
  }
  Digest finish() {
    Digest digest = {};
    ensure(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1, "OpenSSL has SHA-256");
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace conclave::etcd
