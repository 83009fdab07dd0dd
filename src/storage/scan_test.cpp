// What a crash can leave of the last batch is cut, and never more than that; what is missing before it is
// damage. Tried for every subset of lost sectors, every truncation and every bit of a small segment.
#include "storage/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "storage/batch.hpp"

namespace conclave::storage {
namespace {

constexpr std::size_t sector = 512;
constexpr SegmentIdentity identity = {.directory = 99, .sequence = 5};
using Image = std::vector<std::byte>;

// Payload number n, recognisable and of a length of its own.
std::vector<std::byte> payload(std::uint64_t number, std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(number * 131 + i * 7 + 1);
  std::copy_n(bytes_of(number).begin(), sizeof number, bytes.begin());
  return bytes;
}

// A segment as the log writes it, batch by batch.
struct Written {
  Image image;
  std::vector<std::size_t> ends = {};      // of the batches
  std::vector<std::uint64_t> counts = {};  // records up to there
  std::uint64_t records = 0;

  explicit Written(Image blank) : image(std::move(blank)) { write_segment_head(image.data(), {identity, 0}); }

  void write(std::initializer_list<std::size_t> lengths) {
    const std::uint64_t at = ends.empty() ? segment_head_bytes : ends.back();
    const auto number = static_cast<std::uint32_t>(ends.size() + 1);
    Batch opening;
    if (ends.empty()) {
      const std::uint64_t previous_end = 4711;
      const std::array<ByteView, 1> parts = {bytes_of(previous_end)};
      opening.add(parts, 0, RecordKind::opening);
      opening.place(identity.seed(), at, number, false);
    }
    Batch batch;
    for (const std::size_t length : lengths) {
      const auto bytes = payload(records, length);
      const std::array<ByteView, 1> parts = {bytes};
      batch.add(parts, records++);
    }
    batch.place(identity.seed(), at + opening.bytes(), number);
    const auto to = image.begin() + static_cast<std::ptrdiff_t>(at);
    std::ranges::copy(batch.view(), std::ranges::copy(opening.view(), to).out);
    ends.push_back(at + opening.bytes() + batch.bytes());
    counts.push_back(records);
  }
};

struct Seen {
  Scan scan;
  std::uint64_t records = 0;
};

// Reads an image and insists that its records are 0, 1, 2 … just as they were written.
Seen look(ByteView image) {
  Seen seen;
  seen.scan = scan_segment(image, identity, [&](ByteView bytes, std::uint64_t tag, bool) {
    EXPECT_EQ(tag, seen.records);
    EXPECT_TRUE(std::ranges::equal(bytes, payload(tag, bytes.size()))) << tag;
    ++seen.records;
  });
  return seen;
}

Image zeros() { return Image(16 * 1024); }

// What an earlier life of the file left: records of another segment, in the very same places.
Image recycled() {
  Image image = zeros();
  Written before(image);
  before.records = 1000;
  before.write({40, 100});
  before.write({900, 30, 1500});
  before.write({700, 2000, 60, 800, 1100});
  before.write({300});
  image = before.image;
  for (std::size_t at = segment_head_bytes; at + record_head_bytes <= image.size(); at += record_alignment)
    if (const auto head = read_record_head(image, at, identity.seed()))
      write_record_head(&image[at], *head, SegmentIdentity{.directory = 99, .sequence = 4}.seed(), at);
  return image;
}

class OnAnyBlank : public testing::TestWithParam<Image (*)()> {};
INSTANTIATE_TEST_SUITE_P(ZeroedOrRecycled, OnAnyBlank, testing::Values(&zeros, &recycled));

TEST_P(OnAnyBlank, NothingIsFoundWhereNothingWasWritten) {
  const Written written(GetParam()());
  const Seen seen = look(written.image);
  EXPECT_EQ(seen.records, 0u);
  EXPECT_EQ(seen.scan.batch, 0u);
  EXPECT_EQ(seen.scan.remains, 0u);
  EXPECT_FALSE(seen.scan.previous_end);
}

TEST_P(OnAnyBlank, WholeBatchesAreRead) {
  Written written(GetParam()());
  written.write({40, 100});
  written.write({900, 30, 1500});
  const Seen seen = look(written.image);
  EXPECT_EQ(seen.records, 5u);
  EXPECT_EQ(seen.scan.end, written.ends.back());
  EXPECT_EQ(seen.scan.greatest_tag, 4u);
  EXPECT_EQ(seen.scan.previous_end, 4711u);
  EXPECT_TRUE(seen.scan.batch_ended);
  EXPECT_EQ(seen.scan.remains, 0u);
}

// A record in its place, with valid sums, is still not the next one if its batch is not.
TEST_P(OnAnyBlank, OnlyTheSameBatchOrTheNextOneContinues) {
  Written written(GetParam()());
  written.write({40, 100});
  const auto bytes = payload(2, 50);
  const std::array<ByteView, 1> parts = {bytes};
  for (const std::uint32_t batch : {1u, 2u, 3u, 7u}) {
    Batch next;
    next.add(parts, 2);
    next.place(identity.seed(), written.ends[0], batch);
    Image image = written.image;
    std::ranges::copy(next.view(), image.begin() + static_cast<std::ptrdiff_t>(written.ends[0]));
    const Seen seen = look(image);
    EXPECT_EQ(seen.records, batch == 2 ? 3u : 2u) << batch;
    EXPECT_EQ(seen.scan.proof.has_value(), batch > 2) << batch;
    EXPECT_EQ(seen.scan.remains != 0, batch != 2) << batch;
  }
}

// The sectors of the last batch arrive in any order: any subset of them may be missing.
TEST_P(OnAnyBlank, AnyLostSectorsOfTheLastBatchAreATornTail) {
  Written written(GetParam()());
  written.write({40, 100});
  written.write({900, 30, 1500});
  const Image before = written.image;
  const std::uint64_t durable = written.records;
  written.write({700, 2000, 60, 800, 1100});
  const std::size_t first = written.ends[1] / sector;
  const std::size_t count = (written.ends[2] - 1) / sector - first + 1;
  ASSERT_GE(count, 9u);
  ASSERT_LE(count, 12u);
  std::vector<int> kept_counts(6);
  for (std::size_t arrived = 0; arrived < (1u << count); ++arrived) {
    Image image = before;
    for (std::size_t i = 0; i < count; ++i)
      if ((arrived >> i & 1) != 0)
        std::copy_n(written.image.begin() + static_cast<std::ptrdiff_t>((first + i) * sector), sector,
                    image.begin() + static_cast<std::ptrdiff_t>((first + i) * sector));
    const Seen seen = look(image);
    ASSERT_FALSE(seen.scan.proof) << arrived;
    ASSERT_GE(seen.records, durable) << arrived;
    ++kept_counts[seen.records - durable];
    ASSERT_TRUE(seen.records < written.records || arrived + 1 == 1u << count);
  }
  EXPECT_GT(kept_counts.front(), 0);
  EXPECT_EQ(kept_counts.back(), 1);
  EXPECT_GE(std::ranges::count_if(kept_counts, [](int times) { return times > 0; }), 4)
      << "different cuts were met";
}

TEST_P(OnAnyBlank, EveryTruncationWithinTheLastBatchIsATornTail) {
  Written written(GetParam()());
  written.write({40, 100});
  written.write({900, 30, 1500});
  for (std::size_t size = written.ends[0]; size < written.ends[1]; ++size) {
    const Seen seen = look(ByteView(written.image).first(size));
    ASSERT_FALSE(seen.scan.proof);
    ASSERT_GE(seen.records, written.counts[0]) << size;
    ASSERT_LT(seen.records, written.counts[1]) << size;
  }
}

// Whatever happens to a bit of a batch that another one follows, it is seen.
TEST_P(OnAnyBlank, EveryFlippedBitBeforeTheLastBatchIsDamage) {
  Written written(GetParam()());
  written.write({40, 100});
  written.write({90, 30, 150});
  written.write({70});
  std::size_t harmless = 0;
  for (std::size_t bit = 8 * segment_head_bytes; bit < 8 * written.ends[1]; ++bit) {
    Image image = written.image;
    image[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const Seen seen = look(image);
    if (seen.records == written.records && !seen.scan.proof) {
      ++harmless;  // between a record's end and the next one's place
    } else {
      ASSERT_TRUE(seen.scan.proof) << bit;
    }
  }
  EXPECT_EQ(harmless, 8u * (4 + 6 + 2 + 2));
}

// The same with whole sectors: also those that hold several records, or the end of one batch and the
// beginning of the next.
TEST_P(OnAnyBlank, EveryLostSectorBeforeTheLastBatchIsDamage) {
  Written written(GetParam()());
  const Image blank = written.image;
  written.write({40, 100});
  written.write({900, 30, 1500});
  written.write({500, 500});
  written.write({700, 2000});
  for (std::size_t at = segment_head_bytes; at + sector <= written.ends[2]; at += sector) {
    Image image = written.image;
    std::copy_n(blank.begin() + static_cast<std::ptrdiff_t>(at), sector,
                image.begin() + static_cast<std::ptrdiff_t>(at));
    ASSERT_TRUE(look(image).scan.proof) << at;
  }
}

// In the last batch a flipped bit cannot be told from a write that did not arrive, but costs nothing before
// it.
TEST_P(OnAnyBlank, AFlippedBitInTheLastBatchLeavesWhatIsBeforeIt) {
  Written written(GetParam()());
  written.write({40, 100});
  written.write({90, 30, 150});
  for (std::size_t bit = 8 * written.ends[0]; bit < 8 * written.ends[1]; ++bit) {
    Image image = written.image;
    image[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const Seen seen = look(image);
    ASSERT_FALSE(seen.scan.proof) << bit;
    ASSERT_GE(seen.records, written.counts[0]) << bit;
  }
}

}  // namespace
}  // namespace conclave::storage
