#include "check/table.hpp"

#include <gtest/gtest.h>

namespace conclave::check {
namespace {

struct Slot {
  std::uint64_t key = 0;
  std::uint32_t value = 0;
};

TEST(Table, FindsWhatWasInsertedAndNothingElse) {
  Table<Slot> table;
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.insert({7, 70})->value, 70u);
  ASSERT_NE(table.find(7), nullptr);
  EXPECT_EQ(table.find(7)->value, 70u);
  EXPECT_EQ(table.find(8), nullptr);
}

TEST(Table, KeepsEverythingWhenItGrows) {
  Table<Slot> table;
  const std::uint64_t before = table.bytes();
  // Keys as the checker packs them: a number in the upper half, an argument in the lower.
  const auto key = [](std::uint32_t i) { return std::uint64_t{i / 3 + 1} << 32 | i % 3; };
  for (std::uint32_t i = 0; i < 10'000; ++i) table.insert({key(i), i});
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_NE(table.find(key(i)), nullptr) << i;
    EXPECT_EQ(table.find(key(i))->value, i);
  }
  EXPECT_EQ(table.find(std::uint64_t{10'000} << 32), nullptr);
  EXPECT_GE(table.bytes(), 20'000 * sizeof(Slot));  // at most half full
  EXPECT_GT(table.bytes(), before);
}

}  // namespace
}  // namespace conclave::check
