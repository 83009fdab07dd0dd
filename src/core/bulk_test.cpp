#include "core/bulk.hpp"

#include <gtest/gtest.h>

#include "core/codec.hpp"

namespace conclave {
namespace {

// What a file would be: it counts how much of it was read.
struct Kept final : Bulk::Place {
  explicit Kept(std::vector<std::uint8_t> all) : bytes(std::move(all)) {}
  void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
    if (offset + into.size() > bytes.size()) throw Unreadable("it ends before");
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    was_read += into.size();
  }
  std::vector<std::uint8_t> bytes;
  mutable std::size_t was_read = 0;
};

Payload counted(std::uint8_t from, std::uint8_t to) {
  std::vector<std::uint8_t> bytes;
  for (std::uint8_t one = from; one < to; ++one) bytes.push_back(one);
  return Payload(bytes);
}
std::shared_ptr<Kept> kept(const Payload& bytes) {
  return std::make_shared<Kept>(std::vector<std::uint8_t>(bytes.bytes().begin(), bytes.bytes().end()));
}

TEST(Bulk, IsTheSameInMemoryElsewhereAndInBoth) {
  const Payload all = counted(0, 100);
  const Bulk here(all);
  const Bulk elsewhere(kept(all), 0, 100);
  Bulk both(kept(counted(0, 60)), 0, 60);
  both.append(counted(60, 80));
  both.append(counted(80, 100));
  for (const Bulk& one : {here, elsewhere, both}) {
    EXPECT_EQ(one.size(), 100u);
    EXPECT_EQ(one.whole(), all);
    for (const Bulk& other : {here, elsewhere, both}) EXPECT_EQ(one, other);
    for (std::uint8_t from = 0; from < 110; ++from) {
      EXPECT_EQ(one.part(from, 7),
                counted(std::min<std::uint8_t>(from, 100), std::min<std::uint8_t>(from + 7, 100)));
      if (from > 100) continue;
      EXPECT_EQ(one.from(from), Bulk(counted(from, 100)));
    }
    EXPECT_NE(one, Bulk(counted(0, 99)));
    EXPECT_NE(one, Bulk(kept(counted(100, 200)), 0, 100));
  }
}

TEST(Bulk, ReadsNoMoreThanIsAskedFor) {
  const auto place = kept(counted(0, 200));
  const Bulk rest = Bulk(place, 10, 100).from(20);
  EXPECT_EQ(rest.size(), 80u);
  EXPECT_EQ(rest.part(5, 3), counted(35, 38));
  EXPECT_EQ(place->was_read, 3u);
  EXPECT_TRUE(Bulk(place, 0, 50) == Bulk(place, 0, 50));
  EXPECT_EQ(place->was_read, 3u) << "the same place is the same";
}

TEST(Bulk, ThatWasMovedIsNotInMemory) {
  Bulk state(counted(0, 50));
  EXPECT_EQ(decode<Bulk>(encode(state)).value(), state);
  state.move_to(kept(counted(0, 50)));
  EXPECT_TRUE(state.in_memory().empty());
  EXPECT_EQ(state, Bulk(counted(0, 50)));
  EXPECT_TRUE(Bulk().empty());
  EXPECT_EQ(decode<Bulk>(encode(Bulk())).value(), Bulk());
  EXPECT_THROW(Bulk(kept(counted(0, 5)), 0, 6).whole(), Unreadable);
}

}  // namespace
}  // namespace conclave
