#include "protocols/consensus/signatures.hpp"

#include <openssl/evp.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "core/ensure.hpp"

namespace conclave::consensus {
namespace {

constexpr std::size_t signature_bytes = 64;
constexpr std::size_t key_bytes = 32;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Bytes = std::array<unsigned char, signature_bytes>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key make_key(const Keys& keys, NodeId owner) {
  const std::string name =
      "conclave key " + std::to_string(keys.origin) + " of " + std::to_string(owner.value);
  std::array<unsigned char, EVP_MAX_MD_SIZE> secret{};
  unsigned length = 0;
  const int hashed = EVP_Digest(name.data(), name.size(), secret.data(), &length, EVP_sha256(), nullptr);
  ensure(hashed == 1 && length == key_bytes, "SHA-256 gives the 32 bytes of a key");
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(), key_bytes));
  ensure(key != nullptr, "every 32 bytes are a key");
  return key;
}

std::string to_hex(const Bytes& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<Bytes> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  Bytes bytes{};
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return bytes;
}

// What was computed before, for whoever asks again: the same order reaches many processes, and every one of
// them verifies it. Both functions depend on their arguments alone, so that nobody can tell the difference.
template <class Question, class Answer>
class Memory {
 public:
  template <class Compute>
  Answer recall(const Question& question, Compute&& compute) {
    if (const auto found = answers_.find(question); found != answers_.end()) return found->second;
    if (answers_.size() >= most_answers) answers_.clear();
    return answers_.emplace(question, compute()).first->second;
  }

 private:
  static constexpr std::size_t most_answers = 10'000;
  std::map<Question, Answer> answers_;
};

// One memory a thread, since many seeds run at once.
EVP_PKEY* key_of(const Keys& keys, NodeId owner) {
  thread_local std::map<std::pair<std::uint64_t, NodeId>, Key> made;
  Key& key = made[{keys.origin, owner}];
  if (!key) key = make_key(keys, owner);
  return key.get();
}

std::string compute_signature(EVP_PKEY* key, std::string_view text) {
  const Context context(EVP_MD_CTX_new());
  Bytes signature{};
  std::size_t length = signature.size();
  const bool ready = EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) == 1;
  ensure(ready && EVP_DigestSign(context.get(), signature.data(), &length, bytes_of(text), text.size()) == 1,
         "a private key signs anything");
  return to_hex(signature);
}

bool check_signature(EVP_PKEY* key, std::string_view text, const Bytes& signature) {
  const Context context(EVP_MD_CTX_new());
  const bool ready = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1;
  ensure(ready, "a public key verifies");
  return EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(text), text.size()) ==
         1;
}

}  // namespace

std::string sign(const Keys& keys, NodeId signer, std::string_view text) {
  using Question = std::tuple<std::uint64_t, NodeId, std::string>;
  thread_local Memory<Question, std::string> memory;
  return memory.recall({keys.origin, signer, std::string(text)},
                       [&] { return compute_signature(key_of(keys, signer), text); });
}

bool verify(const Keys& keys, NodeId signer, std::string_view text, std::string_view signature) {
  const auto bytes = from_hex(signature);
  if (!bytes) return false;
  using Question = std::tuple<std::uint64_t, NodeId, std::string, std::string>;
  thread_local Memory<Question, bool> memory;
  return memory.recall({keys.origin, signer, std::string(text), std::string(signature)},
                       [&] { return check_signature(key_of(keys, signer), text, *bytes); });
}

}  // namespace conclave::consensus
