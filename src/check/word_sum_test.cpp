#include "check/word_sum.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace conclave::check {
namespace {

TEST(WordSum, ChangesWithItsWords) {
  std::mt19937 random(1);
  std::vector<Id> words(WordSum::most_words);
  for (Id& word : words) word = static_cast<Id>(random());
  WordSum sum = WordSum::of(words.data(), WordSum::most_words);
  for (int i = 0; i < 1'000; ++i) {
    const auto at = static_cast<std::uint32_t>(random() % words.size());
    const auto to = static_cast<Id>(random());
    sum.change(at, words[at], to);
    words[at] = to;
    ASSERT_EQ(sum, WordSum::of(words.data(), WordSum::most_words));
  }
}

TEST(WordSum, IsNeverThatOfNoState) {
  const std::vector<Id> nothing(8);
  for (std::uint32_t count = 0; count <= 8; ++count) EXPECT_NE(WordSum::of(nothing.data(), count), WordSum{});
}

// Numbers of states are small and close together: all of a box must differ, in either half.
TEST(WordSum, TellsNeighboursApart) {
  std::set<std::uint64_t> first, second;
  std::uint32_t count = 0;
  for (Id a = 0; a < 40; ++a) {
    for (Id b = 0; b < 40; ++b) {
      for (Id c = 0; c < 40; ++c, ++count) {
        const Id words[] = {a, b, c};
        const WordSum sum = WordSum::of(words, 3);
        first.insert(sum.first);
        second.insert(sum.second);
      }
    }
  }
  EXPECT_EQ(first.size(), count);
  EXPECT_EQ(second.size(), count);
}

}  // namespace
}  // namespace conclave::check
