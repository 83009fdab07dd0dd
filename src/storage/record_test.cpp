// Heads: what is written is read again, in its own place and nowhere else.
#include "storage/record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "storage/batch.hpp"

namespace conclave::storage {
namespace {

constexpr SegmentIdentity here = {.directory = 0x0123456789abcdef, .sequence = 7};
const RecordHead example = {.kind = RecordKind::record,
                            .ends_batch = true,
                            .batch = 3,
                            .length = 300,
                            .payload_sum = 0xdeadbeef,
                            .tag = 41};

std::vector<std::byte> segment_with(const RecordHead& head, std::uint64_t offset) {
  std::vector<std::byte> segment(8192);
  write_record_head(&segment[offset], head, here.seed(), offset);
  return segment;
}

TEST(RecordHead, IsReadAsItWasWritten) {
  for (const RecordKind kind : {RecordKind::record, RecordKind::opening, RecordKind::seal})
    for (const bool ends : {false, true}) {
      RecordHead head = example;
      head.kind = kind;
      head.ends_batch = ends;
      EXPECT_EQ(read_record_head(segment_with(head, 4096), 4096, here.seed()), head);
    }
}

TEST(RecordHead, IsNotTakenForOneOfAnotherSegment) {
  const auto segment = segment_with(example, 4096);
  for (std::uint64_t sequence = 0; sequence < 10'000; ++sequence) {
    if (sequence == here.sequence) continue;
    const SegmentIdentity other = {.directory = here.directory, .sequence = sequence};
    ASSERT_FALSE(read_record_head(segment, 4096, other.seed())) << sequence;
  }
}

TEST(RecordHead, IsNotTakenForOneInAnotherPlace) {
  for (std::uint64_t place = 4104; place < 8000; place += 8) {
    auto segment = segment_with(example, 4096);
    std::copy_n(segment.begin() + 4096, record_head_bytes,
                segment.begin() + static_cast<std::ptrdiff_t>(place));
    ASSERT_FALSE(read_record_head(segment, place, here.seed())) << place;
  }
}

TEST(RecordHead, OfFlippedBitsIsNone) {
  for (std::size_t bit = 0; bit < 8 * record_head_bytes; ++bit) {
    auto segment = segment_with(example, 4096);
    segment[4096 + bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(read_record_head(segment, 4096, here.seed())) << bit;
  }
}

TEST(RecordHead, EndsWhereTheFileDoes) {
  const auto segment = segment_with(example, 4096);
  const ByteView all = segment;
  EXPECT_FALSE(read_record_head(all.first(4096 + record_head_bytes - 1), 4096, here.seed()));
  EXPECT_TRUE(read_record_head(all.first(4096 + record_head_bytes), 4096, here.seed()));
  EXPECT_FALSE(read_record_head(all, 8192, here.seed()));
  EXPECT_FALSE(read_record_head(all, ~0ull - 7, here.seed()));
}

TEST(SegmentHead, IsReadAsItWasWritten) {
  std::vector<std::byte> segment(segment_head_bytes, std::byte{0xaa});
  const SegmentHead head = {.identity = here, .bytes = 3 * 4096};
  write_segment_head(segment.data(), head);
  EXPECT_EQ(read_segment_head(segment), head);
  EXPECT_FALSE(read_segment_head(ByteView(segment).first(segment_head_bytes - 1)));
  for (std::size_t bit = 0; bit < 8 * 36; ++bit) {
    segment[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(read_segment_head(segment)) << bit;
    segment[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

std::string hexadecimal(ByteView bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  for (const std::byte byte : bytes) {
    shown += digits[static_cast<unsigned>(byte) >> 4];
    shown += digits[static_cast<unsigned>(byte) & 15];
  }
  return shown;
}

// The example of docs/storage-format.md.
TEST(Segment, StandsInTheDocumentationByteForByte) {
  std::vector<std::byte> head(segment_head_bytes);
  write_segment_head(head.data(), {.identity = here, .bytes = 16 << 20});
  EXPECT_EQ(hexadecimal(ByteView(head).first(40)),
            "636e636c766c6f67"    // cnclvlog
            "0100000000100000"    // format 1; 4096 pages
            "0700000000000000"    // the seventh segment
            "efcdab8967452301"    // of this directory
            "ac516f0200000000");  // the sum of all that

  const std::uint64_t previous_end = 16'777'000;
  constexpr std::string_view preamble = "term 3";
  const std::array<ByteView, 2> first = {bytes_of(previous_end), std::as_bytes(std::span(preamble))};
  Batch opening;
  opening.add(first, 0, RecordKind::opening);
  opening.place(here.seed(), 4096, 1, false);
  EXPECT_EQ(hexadecimal(opening.view()),
            "77a03edd"            // the head's sum
            "8ba211b9"            // the payload's
            "0e000010"            // 14 bytes, an opening
            "01000000"            // batch 1
            "0000000000000000"    // no tag
            "28ffff0000000000"    // the segment before ended at byte 16777000
            "7465726d20330000");  // term 3, and zeros up to the next place

  constexpr std::string_view word = "hello";
  const std::array<ByteView, 1> second = {std::as_bytes(std::span(word))};
  Batch batch;
  batch.add(second, 12);
  batch.place(here.seed(), 4136, 1);
  EXPECT_EQ(hexadecimal(batch.view()),
            "9293f950"            // the head's sum
            "4cbb719a"            // the payload's
            "05000080"            // five bytes, a record, the last of its batch
            "01000000"            // batch 1
            "0c00000000000000"    // tag 12
            "68656c6c6f000000");  // hello, and zeros up to the next place
}

}  // namespace
}  // namespace conclave::storage
