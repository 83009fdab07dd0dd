#include "live/seal.hpp"

#include "core/ensure.hpp"

namespace conclave::live {
namespace {

constexpr std::size_t nonce_bytes = 12;
using Nonce = std::array<std::byte, nonce_bytes>;
using Head = std::array<std::byte, frame_head_bytes>;

Nonce nonce_of(std::uint64_t record) {
  Nonce nonce = {};
  store(nonce.data() + nonce_bytes - sizeof record, record);
  return nonce;
}

Head head_of(std::size_t sealed_bytes) {
  Head head;
  store(head.data(), static_cast<std::uint32_t>(1 + sealed_bytes + seal_tag_bytes));
  head[4] = static_cast<std::byte>(FrameKind::sealed);
  return head;
}

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

// Takes the context to the next record. The head is what is authenticated without being hidden.
void begin(EVP_CIPHER_CTX* context, std::uint64_t record, std::size_t sealed_bytes) {
  const Nonce nonce = nonce_of(record);
  const Head head = head_of(sealed_bytes);
  int length = 0;
  ensure(
      EVP_CipherInit_ex(context, nullptr, nullptr, nullptr, raw(nonce.data()), -1) == 1 &&
          EVP_CipherUpdate(context, nullptr, &length, raw(head.data()), static_cast<int>(head.size())) == 1,
      "OpenSSL begins a record");
}

}  // namespace

Seal::Seal(const Keys& keys)
    : sending_(cipher(keys.sending, true)), receiving_(cipher(keys.receiving, false)) {}

Seal::Cipher Seal::cipher(const Key& key, bool sends) {
  Cipher context(EVP_CIPHER_CTX_new());
  ensure(context && EVP_CipherInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, raw(key.data()),
                                      nullptr, sends ? 1 : 0) == 1,
         "OpenSSL has ChaCha20-Poly1305");
  return context;
}

void Seal::close(std::span<const ByteView> pieces, Bytes& out) {
  std::size_t size = 0;
  for (const ByteView piece : pieces) size += piece.size();
  ensure(size > 0 && size <= most_sealed_bytes, "a record has some bytes and not too many");
  EVP_CIPHER_CTX* const context = sending_.get();
  begin(context, sent_++, size);
  const Head head = head_of(size);
  out.insert(out.end(), numbers_of(head).begin(), numbers_of(head).end());
  std::size_t at = out.size();
  out.resize(at + size + seal_tag_bytes);
  int length = 0;
  for (const ByteView piece : pieces) {
    ensure(EVP_CipherUpdate(context, out.data() + at, &length, raw(piece.data()),
                            static_cast<int>(piece.size())) == 1,
           "OpenSSL seals");
    at += piece.size();
  }
  ensure(EVP_CipherFinal_ex(context, out.data() + at, &length) == 1 && length == 0 &&
             EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(seal_tag_bytes),
                                 out.data() + at) == 1,
         "OpenSSL ends a record");
}

bool Seal::open(ByteView body, std::vector<std::byte>& out) {
  if (body.size() <= seal_tag_bytes || body.size() > most_sealed_bytes + seal_tag_bytes) return false;
  const std::size_t size = body.size() - seal_tag_bytes;
  EVP_CIPHER_CTX* const context = receiving_.get();
  begin(context, received_, size);
  const std::size_t at = out.size();
  out.resize(at + size);
  std::array<unsigned char, seal_tag_bytes> tag;
  std::memcpy(tag.data(), body.data() + size, tag.size());
  int length = 0;
  unsigned char none = 0;
  const bool genuine =
      EVP_CipherUpdate(context, raw(out.data() + at), &length, raw(body.data()), static_cast<int>(size)) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), tag.data()) == 1 &&
      EVP_CipherFinal_ex(context, &none, &length) == 1;
  if (!genuine) {
    out.resize(at);
    return false;
  }
  ++received_;
  return true;
}

}  // namespace conclave::live
