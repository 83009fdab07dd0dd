#include "check/print_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace conclave::check {
namespace {

Print drawn(std::mt19937_64& random) { return {random() | 1, random()}; }

// Grows many times; every third fingerprint has been met before.
void compare_with_a_map(bool numbered, std::uint32_t count) {
  std::mt19937_64 random(count);
  PrintSet set(numbered);
  const auto insert = [&](const Print& print, std::uint32_t number) {
    return numbered ? set.insert(print, number) : std::pair(number, set.insert(print));
  };
  std::map<Print, std::uint32_t> known;
  std::vector<Print> order;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Print print = i % 3 == 2 ? order[random() % order.size()] : drawn(random);
    if (i % 3 != 2) order.push_back(print);
    const auto [place, fresh] = known.try_emplace(print, i);
    const auto [number, added] = insert(print, i);
    ASSERT_EQ(added, fresh);
    if (numbered || added) {
      ASSERT_EQ(number, place->second);
    }
  }
  EXPECT_EQ(set.size(), known.size());
  for (const auto& [print, number] : known) {
    const auto [found, added] = insert(print, 0);
    ASSERT_FALSE(added);
    if (numbered) {
      ASSERT_EQ(found, number);
    }
  }
}

TEST(PrintSet, KeepsWhatItHasMet) { compare_with_a_map(false, 100'000); }
TEST(PrintSet, KeepsTheNumbersToo) { compare_with_a_map(true, 100'000); }

void hold_all(const std::vector<Print>& prints) {
  PrintSet set(false);
  for (const Print& print : prints) ASSERT_TRUE(set.insert(print));
  for (const Print& print : prints) ASSERT_FALSE(set.insert(print));
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

// All 128 bits count, each by itself.
TEST(PrintSet, TellsFingerprintsApartThatDifferInOneBit) {
  const Print one = {0x8000000000000001u, 0};
  std::vector<Print> others = {one};
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (bit != 0 && bit != 63) others.push_back({one.low ^ std::uint64_t{1} << bit, one.high});
    others.push_back({one.low, one.high ^ std::uint64_t{1} << bit});
  }
  hold_all(others);
}

TEST(PrintSet, IsHardlyLargerThanWhatItHolds) {
  std::mt19937_64 random(1);
  PrintSet set(false);
  for (std::uint64_t count = 1; count <= 400'000; ++count) {
    set.insert(drawn(random));
    if (count > 20'000 && count % 1'000 == 0) {
      ASSERT_LT(set.bytes(), 37 * count) << count;
    }
  }
}

}  // namespace
}  // namespace conclave::check
