// CRC-32C (Castagnoli, RFC 3720 appendix B.4), by the processor's own instruction where it has one.
//
// `before` continues a sum: crc32c(b, crc32c(a)) is the sum of a followed by b. Two sums of the same bytes
// after different `before` always differ.
#pragma once
#include <cstdint>

#include "storage/bytes.hpp"

namespace conclave::storage {

std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0);

// Without the instruction; crc32c chooses it on processors that lack one.
std::uint32_t crc32c_by_table(ByteView bytes, std::uint32_t before = 0);

}  // namespace conclave::storage
