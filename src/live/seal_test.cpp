#include "live/seal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace conclave::live {
namespace {

Seal::Keys keys(int forth, int back) {
  Seal::Keys both;
  both.sending.fill(static_cast<std::byte>(forth));
  both.receiving.fill(static_cast<std::byte>(back));
  return both;
}

// The records of a stream, one for each text.
std::vector<Bytes> records_of(Seal& from, const std::vector<std::string>& texts) {
  std::vector<Bytes> records;
  for (const std::string& text : texts) {
    const ByteView bytes = bytes_of(text);
    from.close({&bytes, 1}, records.emplace_back());
  }
  return records;
}
ByteView body_of(const Bytes& record) { return next_frame(bytes_of(record), 20'000)->value().body; }
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Ends {
  Seal one{keys(1, 2)};
  Seal other{keys(2, 1)};
};

TEST(Seal, WhatWasSealedComesOutInItsOrder) {
  Ends ends;
  const std::string long_text(most_sealed_bytes, 'l');
  std::vector<std::byte> opened;
  for (const Bytes& record : records_of(ends.one, {"one", long_text, "two"})) {
    EXPECT_TRUE(ends.other.open(body_of(record), opened));
    EXPECT_EQ(bytes_of(record).size(), frame_head_bytes + body_of(record).size());
  }
  EXPECT_EQ(text_of(opened), "one" + long_text + "two");
  Bytes parts;
  const std::array<ByteView, 3> pieces = {
      bytes_of(std::string_view("a")), {}, bytes_of(std::string_view("bc"))};
  ends.other.close(pieces, parts);
  opened.clear();
  EXPECT_TRUE(ends.one.open(body_of(parts), opened));
  EXPECT_EQ(text_of(opened), "abc");
}

TEST(Seal, EveryFlippedBitIsSeen) {
  Seal sender(keys(1, 2));
  const Bytes record = records_of(sender, {"words"})[0];
  for (std::size_t bit = 8 * frame_head_bytes; bit < 8 * record.size(); ++bit) {
    Bytes changed = record;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    std::vector<std::byte> opened;
    EXPECT_FALSE(Ends().other.open(body_of(changed), opened)) << bit;
    EXPECT_TRUE(opened.empty());
  }
}

TEST(Seal, ARecordOpensInItsPlaceOnly) {
  Seal sender(keys(1, 2));
  const auto records = records_of(sender, {"one", "two", "three"});
  std::vector<std::byte> opened;
  EXPECT_FALSE(Ends().other.open(body_of(records[1]), opened));  // the first is missing
  Ends ends;
  EXPECT_TRUE(ends.other.open(body_of(records[0]), opened));
  EXPECT_FALSE(ends.other.open(body_of(records[0]), opened));  // repeated
  EXPECT_FALSE(ends.other.open(body_of(records[2]), opened));  // exchanged
  EXPECT_FALSE(Ends().one.open(body_of(records[0]), opened));  // sent back to who said it
  EXPECT_FALSE(Seal(keys(2, 3)).open(body_of(records[0]), opened));
  EXPECT_EQ(text_of(opened), "one");
}

TEST(Seal, BodiesOfNoRecordAreRefused) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, seal_tag_bytes, most_sealed_bytes + seal_tag_bytes + 1}) {
    std::vector<std::byte> opened;
    EXPECT_FALSE(Ends().other.open(std::vector<std::byte>(size), opened)) << size;
  }
}

}  // namespace
}  // namespace conclave::live
