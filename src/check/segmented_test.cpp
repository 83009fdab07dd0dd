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
TEST(Segmented, DestroysWhatWasMadeAndNothingElse) {
  static int alive = 0;
  struct Counted {
    Counted() { ++alive; }
    Counted(Counted&&) { ++alive; }
    ~Counted() { --alive; }
  };
  for (const std::uint32_t size : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 129u, 256u, 257u}) {
    {
      Segmented<Counted> all;
      for (std::uint32_t i = 0; i < size; ++i) all.emplace_back();
      EXPECT_EQ(alive, static_cast<int>(size));
    }
    EXPECT_EQ(alive, 0) << size;
  }
}

}  // namespace
}  // namespace conclave::check
