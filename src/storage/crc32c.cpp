#include "storage/crc32c.hpp"

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace conclave::storage {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41, bits reversed
using Table = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b] is what byte b does to the sum when k more bytes follow it.
constexpr Table make_tables() {
  Table tables = {};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t sum = b;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
    tables[0][b] = sum;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}
constexpr Table tables = make_tables();

std::uint32_t step(std::uint32_t sum, std::byte next) {
  return (sum >> 8) ^ tables[0][(sum ^ static_cast<std::uint32_t>(next)) & 0xff];
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(ByteView bytes, std::uint32_t before) {
  std::uint64_t sum = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) sum = _mm_crc32_u64(sum, read_number<std::uint64_t>(at));
  auto narrow = static_cast<std::uint32_t>(sum);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<std::uint8_t>(*at));
  return ~narrow;
}
const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_table(ByteView bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t eight = read_number<std::uint64_t>(at) ^ sum;
    sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum ^= tables[7 - k][(eight >> (8 * k)) & 0xff];
  }
  for (; left > 0; ++at, --left) sum = step(sum, *at);
  return ~sum;
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (has_instruction) return by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace conclave::storage
