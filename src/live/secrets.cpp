#include "live/secrets.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <climits>

#include "core/ensure.hpp"

namespace conclave::live {
namespace {

constexpr std::size_t digest_size = 32;
using Digest = std::array<unsigned char, digest_size>;

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
std::string text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string sha256(std::string_view text) {
  Digest digest;
  ensure(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1,
         "OpenSSL has SHA-256");
  return text_of(digest);
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  ensure(key.size() <= INT_MAX, "a key fits into memory");
  Digest digest;
  unsigned size = digest_size;
  // An empty view may point nowhere, which OpenSSL would take for "the key of the call before".
  const void* const bytes = key.empty() ? "" : key.data();
  ensure(HMAC(EVP_sha256(), bytes, static_cast<int>(key.size()), data_of(text), text.size(), digest.data(),
              &size) != nullptr,
         "OpenSSL has HMAC");
  return text_of(digest);
}

std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view use,
                        std::size_t bytes) {
  const std::string extracted = hmac_sha256(salt, secret);
  std::string out;
  std::string block;
  for (char count = 1; out.size() < bytes; ++count) {
    ensure(count < 8, "a few keys are wanted, no stream of them");
    block = hmac_sha256(extracted, (block += use) += count);
    out += block;
  }
  out.resize(bytes);
  return out;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string fresh_nonce() {
  Digest bytes;
  ensure(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
         "the system has randomness: a nonce that repeats is worse than none");
  return text_of(bytes);
}

}  // namespace conclave::live
