#include "check/segmented.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conclave::check {
namespace {

TEST(Segmented, NumbersFromZero) {
  Segmented<std::string> words;
  EXPECT_EQ(words.size(), 0u);
  EXPECT_EQ(words.bytes(), 0u);
  EXPECT_EQ(words.push_back("a"), 0u);
  EXPECT_EQ(words.push_back("b"), 1u);
  EXPECT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0], "a");
  EXPECT_EQ(words[1], "b");
}

TEST(Segmented, ElementsNeverMove) {
  Segmented<std::uint32_t> numbers;
  std::vector<const std::uint32_t*> places;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    EXPECT_EQ(numbers.push_back(i * i), i);
    places.push_back(&numbers[i]);
  }
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    EXPECT_EQ(places[i], &numbers[i]);
    EXPECT_EQ(*places[i], i * i);
  }
}

// Segments have 64, 64, 128, 256, … elements: the ends are where an error by one would show.
TEST(Segmented, CountsWholeSegments) {
  Segmented<std::uint32_t> numbers;
  const auto capacity = [&] { return numbers.bytes() / sizeof(std::uint32_t); };
  for (std::uint32_t i = 0; i < 257; ++i) {
    numbers.push_back(i);
    const std::uint32_t size = i + 1;
    EXPECT_EQ(capacity(), size <= 64 ? 64u : size <= 128 ? 128u : size <= 256 ? 256u : 512u) << size;
  }
}

}  // namespace
}  // namespace conclave::check
