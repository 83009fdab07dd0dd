// The seal of a connection: bytes in records that nobody can read, change, repeat, leave out or exchange who
// does not know the keys. Without I/O.
//
//   length, kind   as of any frame (frames.hpp), the kind is `sealed`
//   body           ChaCha20-Poly1305 of at most `most_sealed_bytes` of the stream, and its tag
//
// The head is authenticated too. The nonce is the number of the record on this connection and in this
// direction, and does not travel: a record opens in its own place only. Keys are drawn for each connection
// and direction (handshake.cpp), so no pair of key and nonce is used twice. docs/decisions/0025 has the
// reasons.
#pragma once
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <vector>

#include "live/frames.hpp"

namespace conclave::live {

inline constexpr std::size_t seal_key_bytes = 32;
inline constexpr std::size_t seal_tag_bytes = 16;
// Of the stream, in one record: enough that the cipher's start does not count, few enough that the other side
// opens one while the next is on its way.
inline constexpr std::size_t most_sealed_bytes = 16 * 1024;

class Seal {
 public:
  using Key = std::array<std::byte, seal_key_bytes>;
  struct Keys {
    Key sending = {};
    Key receiving = {};
  };
  explicit Seal(const Keys& keys);

  // Appends one record with these bytes, of which there are some and not too many.
  void close(std::span<const ByteView> pieces, Bytes& out);
  // Appends what is in the body of the next record; false if it is not the next record of the peer. Then
  // nothing that follows can be believed either.
  bool open(ByteView body, std::vector<std::byte>& out);

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Free>;
  static Cipher cipher(const Key& key, bool sends);

  Cipher sending_;
  Cipher receiving_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace conclave::live
