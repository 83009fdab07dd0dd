// Sixty-four bits that stand for bytes or numbers, the same on every machine. Replicas compare sums of these,
// and the table of keys looks them up.
//
// Fast, not secret: two different states that somebody built on purpose may have one digest.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace conclave::kv {

using Digest = std::uint64_t;

// The two halves of a 128-bit product, folded: every bit of either factor reaches every bit of the result.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline constexpr std::uint64_t odd_bits[] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u};

inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

inline std::uint64_t last_bytes(const char* at, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  return word;
}

inline Digest digest(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t sum = fold(seed ^ odd_bits[0], bytes.size() ^ odd_bits[1]);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16)
    sum = fold(eight_bytes(at) ^ odd_bits[1] ^ seed, eight_bytes(at + 8) ^ sum);
  if (left >= 8) {
    sum = fold(eight_bytes(at) ^ odd_bits[2] ^ seed, sum ^ odd_bits[0]);
    at += 8;
    left -= 8;
  }
  if (left > 0) sum = fold(last_bytes(at, left) ^ odd_bits[0] ^ seed, sum ^ odd_bits[2]);
  return fold(sum ^ odd_bits[2], odd_bits[1]);
}

inline Digest digest(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t sum = odd_bits[2];
  for (const std::uint64_t number : numbers) sum = fold(number ^ odd_bits[0], sum ^ odd_bits[1]) + number;
  return fold(sum ^ odd_bits[0], odd_bits[2]);
}

}  // namespace conclave::kv
