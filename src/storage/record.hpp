// The bytes of a log's segments: heads of files, heads of records. docs/storage-format.md shows an example.
//
// The sum in a record's head covers the directory's id, the segment's number and the record's place in it. So
// what an earlier life of a recycled file left behind is never taken for a record, nor is a copy of one that
// somebody stored as a value.
#pragma once
#include <optional>

#include "storage/crc32c.hpp"

namespace conclave::storage {

inline constexpr std::size_t record_head_bytes = 24;
inline constexpr std::size_t record_alignment = 8;
inline constexpr std::size_t segment_head_bytes = 4096;  // a page that no later write touches
inline constexpr std::size_t most_record_bytes = 64 << 20;

enum class RecordKind : std::uint8_t {
  record = 0,   // the owner's
  opening = 1,  // the first of a segment: where the previous one ended, then the owner's preamble
  seal = 2,     // nothing; proves that everything before it was durable
};

struct RecordHead {
  RecordKind kind = {};
  bool ends_batch = false;   // the last of what one fdatasync made durable
  std::uint32_t batch = 0;   // counts from 1 in every segment
  std::uint32_t length = 0;  // of the payload, which follows
  std::uint32_t payload_sum = 0;
  std::uint64_t tag = 0;
  bool operator==(const RecordHead&) const = default;

  // Head, payload, and zeros up to the next record's place.
  std::size_t size() const { return round_up(record_head_bytes + length, record_alignment); }
};

// Which file a record is in.
struct SegmentIdentity {
  std::uint64_t directory = 0;
  std::uint64_t sequence = 0;
  bool operator==(const SegmentIdentity&) const = default;

  // Two segments of one directory have different seeds, for certain.
  std::uint32_t seed() const {
    const auto fold = [](std::uint64_t value) { return static_cast<std::uint32_t>(value ^ (value >> 32)); };
    return fold(directory) ^ static_cast<std::uint32_t>(sequence);
  }
};

void write_record_head(std::byte* at, const RecordHead& head, std::uint32_t seed, std::uint64_t offset);
// The head that write_record_head has put there.
RecordHead record_head_at(const std::byte* at);
// The head at that place of a segment's bytes; none if what stands there is not one.
std::optional<RecordHead> read_record_head(ByteView segment, std::uint64_t offset, std::uint32_t seed);

// What the first page of a segment says. The file was whole when it was given: one with fewer bytes was cut.
struct SegmentHead {
  SegmentIdentity identity = {};
  std::uint64_t bytes = 0;  // of the file, to the page below; 0: an earlier version did not say
  bool operator==(const SegmentHead&) const = default;
};

void write_segment_head(std::byte* at, const SegmentHead& head);  // segment_head_bytes
std::optional<SegmentHead> read_segment_head(ByteView segment);

}  // namespace conclave::storage
