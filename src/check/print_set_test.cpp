#include "check/print_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace conclave::check {
namespace {

using Print = std::array<std::uint32_t, 4>;

// Grows through many cells; every third fingerprint has been met before.
void compare_with_a_map(bool numbered, std::uint32_t count) {
  std::mt19937 random(count);
  PrintSet set(numbered);
  std::map<Print, std::uint32_t> known;
  std::vector<Print> order;
  for (std::uint32_t i = 0; i < count; ++i) {
    Print print = {};
    if (i % 3 == 2) {
      print = order[random() % order.size()];
    } else {
      for (auto& word : print) word = static_cast<std::uint32_t>(random());
      order.push_back(print);
    }
    const auto [place, fresh] = known.try_emplace(print, i);
    const auto [number, added] = set.insert(print.data(), i);
    ASSERT_EQ(added, fresh);
    if (numbered || added) {
      ASSERT_EQ(number, place->second);
    }
  }
  EXPECT_EQ(set.size(), known.size());
  for (const auto& [print, number] : known) {
    const auto [found, added] = set.insert(print.data(), 0);
    ASSERT_FALSE(added);
    if (numbered) {
      ASSERT_EQ(found, number);
    }
  }
}

TEST(PrintSet, KeepsWhatItHasMet) { compare_with_a_map(false, 100'000); }
TEST(PrintSet, KeepsTheNumbersToo) { compare_with_a_map(true, 100'000); }

// Hashes that all begin alike end up in one cell, which must hold them all the same.
TEST(PrintSet, BearsFingerprintsThatAreAlmostEqual) {
  PrintSet set(false);
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    const Print print = {i, 0, 0, 0};
    ASSERT_TRUE(set.insert(print.data(), 0).second);
  }
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    const Print print = {i, 0, 0, 0};
    ASSERT_FALSE(set.insert(print.data(), 0).second);
  }
}

TEST(PrintSet, IsHardlyLargerThanWhatItHolds) {
  std::mt19937_64 random(1);
  PrintSet set(false);
  for (std::uint64_t count = 1; count <= 400'000; ++count) {
    const std::uint64_t high = random(), low = random();
    const Print print = {static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32),
                         static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32)};
    set.insert(print.data(), 0);
    if (count > 20'000 && count % 1'000 == 0) {
      ASSERT_LT(set.bytes(), 32 * count) << count;
    }
  }
}

}  // namespace
}  // namespace conclave::check
