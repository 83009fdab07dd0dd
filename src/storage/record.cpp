#include "storage/record.hpp"

#include <algorithm>
#include <string_view>

namespace conclave::storage {
namespace {

constexpr std::string_view magic = "cnclvlog";
constexpr std::uint32_t version = 1;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint32_t length_mask = (1u << 28) - 1;
constexpr unsigned kind_shift = 28;
constexpr std::uint32_t ends_batch_bit = 1u << 31;

std::uint32_t head_sum(const std::byte* head, std::uint32_t seed, std::uint64_t offset) {
  return crc32c({head + 4, record_head_bytes - 4}, crc32c(bytes_of(offset), seed));
}

}  // namespace

void write_record_head(std::byte* at, const RecordHead& head, std::uint32_t seed, std::uint64_t offset) {
  const std::uint32_t word = head.length | static_cast<std::uint32_t>(head.kind) << kind_shift |
                             (head.ends_batch ? ends_batch_bit : 0);
  write_number(at + 4, head.payload_sum);
  write_number(at + 8, word);
  write_number(at + 12, head.batch);
  write_number(at + 16, head.tag);
  write_number(at, head_sum(at, seed, offset));
}

RecordHead record_head_at(const std::byte* at) {
  const auto word = read_number<std::uint32_t>(at + 8);
  return {.kind = static_cast<RecordKind>((word & ~ends_batch_bit) >> kind_shift),
          .ends_batch = (word & ends_batch_bit) != 0,
          .batch = read_number<std::uint32_t>(at + 12),
          .length = word & length_mask,
          .payload_sum = read_number<std::uint32_t>(at + 4),
          .tag = read_number<std::uint64_t>(at + 16)};
}

std::optional<RecordHead> read_record_head(ByteView segment, std::uint64_t offset, std::uint32_t seed) {
  if (offset > segment.size() || segment.size() - offset < record_head_bytes) return std::nullopt;
  const std::byte* at = segment.data() + offset;
  // Most places hold no head; the number of the batch tells for nearly all of them, without a sum.
  const auto batch = read_number<std::uint32_t>(at + 12);
  const auto word = read_number<std::uint32_t>(at + 8);
  const std::uint32_t kind = (word & ~ends_batch_bit) >> kind_shift;
  if (batch == 0 || kind > static_cast<std::uint32_t>(RecordKind::seal) ||
      (word & length_mask) > most_record_bytes)
    return std::nullopt;
  if (read_number<std::uint32_t>(at) != head_sum(at, seed, offset)) return std::nullopt;
  return record_head_at(at);
}

void write_segment_head(std::byte* at, const SegmentHead& head) {
  std::fill_n(at, segment_head_bytes, std::byte{0});
  std::memcpy(at, magic.data(), magic.size());
  write_number(at + 8, version);
  write_number(at + 12, static_cast<std::uint32_t>(head.bytes / page_bytes));
  write_number(at + 16, head.identity.sequence);
  write_number(at + 24, head.identity.directory);
  write_number(at + 32, crc32c({at, 32}));
}

std::optional<SegmentHead> read_segment_head(ByteView segment) {
  if (segment.size() < segment_head_bytes) return std::nullopt;
  const std::byte* at = segment.data();
  if (std::memcmp(at, magic.data(), magic.size()) != 0 || read_number<std::uint32_t>(at + 8) != version ||
      read_number<std::uint32_t>(at + 32) != crc32c({at, 32}))
    return std::nullopt;
  return SegmentHead{.identity = {.directory = read_number<std::uint64_t>(at + 24),
                                  .sequence = read_number<std::uint64_t>(at + 16)},
                     .bytes = read_number<std::uint32_t>(at + 12) * page_bytes};
}

}  // namespace conclave::storage
