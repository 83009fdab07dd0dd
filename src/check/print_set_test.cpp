#include "check/print_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace conclave::check {
namespace {

Print drawn(std::mt19937_64& random) { return {random() | 1, static_cast<std::uint32_t>(random())}; }

// Grows many times; every third fingerprint has been met before.
void compare_with_a_map(bool numbered, std::uint32_t count) {
  std::mt19937_64 random(count);
  Pages pages;
  PrintSet set(numbered, pages);
  std::map<Print, std::uint32_t> known;
  std::vector<Print> order;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Print print = i % 3 == 2 ? order[random() % order.size()] : drawn(random);
    if (i % 3 != 2) order.push_back(print);
    const auto [place, fresh] = known.try_emplace(print, i);
    const auto [number, added] = set.insert(print, i);
    ASSERT_EQ(added, fresh);
    if (numbered || added) {
      ASSERT_EQ(number, place->second);
    }
  }
  EXPECT_EQ(set.size(), known.size());
  for (const auto& [print, number] : known) {
    const auto [found, added] = set.insert(print, 0);
    ASSERT_FALSE(added);
    if (numbered) {
      ASSERT_EQ(found, number);
    }
  }
}

TEST(PrintSet, KeepsWhatItHasMet) { compare_with_a_map(false, 100'000); }
TEST(PrintSet, KeepsTheNumbersToo) { compare_with_a_map(true, 100'000); }

void hold_all(const std::vector<Print>& prints) {
  Pages pages;
  PrintSet set(false, pages);
  for (const Print& print : prints) ASSERT_TRUE(set.insert(print, 0).second);
  for (const Print& print : prints) ASSERT_FALSE(set.insert(print, 0).second);
}

// Those that belong to one line fill the next ones too, and go on at the beginning after the last.
TEST(PrintSet, BearsFingerprintsThatAreAlmostEqual) {
  std::vector<Print> first, last, same;
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    first.push_back({i, 0});
    last.push_back({UINT64_MAX - i, 0});
    same.push_back({1, i});
  }
  hold_all(first);
  hold_all(last);
  hold_all(same);
  last.insert(last.end(), first.begin(), first.end());
  hold_all(last);
}

TEST(PrintSet, IsHardlyLargerThanWhatItHolds) {
  std::mt19937_64 random(1);
  Pages pages;
  PrintSet set(false, pages);
  for (std::uint64_t count = 1; count <= 400'000; ++count) {
    set.insert(drawn(random), 0);
    if (count > 20'000 && count % 1'000 == 0) {
      ASSERT_LT(set.bytes(), 26 * count) << count;
    }
  }
  EXPECT_GE(pages.bytes(), set.bytes() / Pages::unit * Pages::unit);
}

TEST(Pages, AreEmptyAndApart) {
  Pages pages;
  std::set<std::byte*> taken;
  for (int i = 0; i < 100; ++i) {
    std::byte* unit = pages.take();
    EXPECT_TRUE(std::all_of(unit, unit + Pages::unit, [](std::byte b) { return b == std::byte{}; }));
    std::fill_n(unit, Pages::unit, std::byte{0xff});
    EXPECT_TRUE(taken.insert(unit).second);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(unit) % 64, 0u);
  }
  EXPECT_GE(pages.bytes(), 100 * Pages::unit);
}

}  // namespace
}  // namespace conclave::check
