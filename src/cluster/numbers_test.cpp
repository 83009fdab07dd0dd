#include "cluster/numbers.hpp"

#include <gtest/gtest.h>

namespace conclave::cluster {
namespace {

using Whose = Numbers::Whose;

constexpr NodeId self = {1};
Payload word(std::uint8_t letter) { return Payload(Bytes{letter}); }
log::Entry entry(std::uint64_t serial, std::uint8_t letter, std::uint64_t value = 0) {
  return {self, serial, value, word(letter)};
}

TEST(Numbers, OfOneStartAreBelowThoseOfTheNext) {
  Numbers first(1);
  Numbers second(2);
  const std::uint64_t one = first.give(0, word('a'));
  EXPECT_EQ(first.give(0, word('b')), one + 1) << "without a gap";
  EXPECT_GT(second.give(0, word('a')), first.last());
  EXPECT_EQ(start_above(first.last()), 2u);
}

TEST(Numbers, AreAboveThoseThatAClockGave) {
  const std::uint64_t in_2200 = 7'258'118'400'000'000;  // microseconds
  EXPECT_LT(in_2200, Numbers(first_start_after_clocks).first());
  EXPECT_LT(start_above(in_2200), first_start_after_clocks);
}

TEST(Numbers, KnowWhatIsOurs) {
  Numbers numbers(7);
  const std::uint64_t a = numbers.give(0, word('a'));
  const std::uint64_t b = numbers.give(1, word('b'));
  EXPECT_EQ(numbers.whose(entry(a, 'a')), Whose::ours);
  EXPECT_EQ(numbers.whose(entry(b, 'b', 1)), Whose::ours);
}

TEST(Numbers, AnswerNothingOfAnEarlierProcess) {
  Numbers earlier(6);
  const std::uint64_t old = earlier.give(0, word('a'));
  Numbers numbers(7);
  const std::uint64_t a = numbers.give(0, word('a'));
  EXPECT_EQ(numbers.whose(entry(old, 'a')), Whose::earlier);
  EXPECT_EQ(numbers.whose(entry(a, 'a')), Whose::ours) << "it is open still";
}

TEST(Numbers, AreNobodysIfWeDidNotGiveThem) {
  Numbers numbers(7);
  const std::uint64_t a = numbers.give(0, word('a'));
  const std::uint64_t b = numbers.give(0, word('b'));
  EXPECT_EQ(numbers.whose(entry(b + 1, 'c')), Whose::nobodys) << "beyond the last";
  EXPECT_FALSE(numbers.given(b + 1));
  Numbers others(7);
  others.give(0, word('a'));
  EXPECT_EQ(others.whose(entry(a, 'x')), Whose::nobodys) << "something else was said under this number";
  EXPECT_EQ(others.whose(entry(a, 'a')), Whose::nobodys) << "it has come already";
  others.give(0, word('b'));
  EXPECT_EQ(others.whose(entry(b, 'b', 1)), Whose::nobodys);
}

TEST(Numbers, ThatWerePassedOverNeverCome) {
  Numbers numbers(7);
  const std::uint64_t a = numbers.give(0, word('a'));
  const std::uint64_t b = numbers.give(0, word('b'));
  EXPECT_EQ(numbers.whose(entry(b, 'b')), Whose::ours);
  EXPECT_EQ(numbers.whose(entry(a, 'a')), Whose::nobodys);
}

TEST(Numbers, InASnapshotAreClosed) {
  Numbers numbers(7);
  numbers.give(0, word('a'));
  numbers.close(numbers.last());
  const std::uint64_t b = numbers.give(0, word('b'));
  EXPECT_EQ(numbers.whose(entry(b, 'b')), Whose::ours);
}

TEST(Numbers, OfAStartThatAreSpentGoOnInTheNext) {
  Numbers numbers(7, 2);  // three of them
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(numbers.spent());
    numbers.give(0, word('a'));
  }
  EXPECT_TRUE(numbers.spent());
  EXPECT_EQ(numbers.give(0, word('b')), Numbers(8, 2).first());
  EXPECT_FALSE(numbers.spent());
}

}  // namespace
}  // namespace conclave::cluster
