#include "check/remembered.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace conclave::check {
namespace {

TEST(Remembered, KnowsWhatWasAddedAndNothingElse) {
  Remembered<std::uint32_t> sums;
  EXPECT_EQ(sums.find(3, 4), nullptr);
  sums.add(3, 4, 7);
  ASSERT_NE(sums.find(3, 4), nullptr);
  EXPECT_EQ(*sums.find(3, 4), 7u);
  EXPECT_EQ(sums.find(4, 3), nullptr);
  EXPECT_EQ(sums.find(3, 0), nullptr);
  EXPECT_EQ(sums.find(0, 4), nullptr);
  EXPECT_EQ(sums.find(UINT32_MAX, 4), nullptr);
}

TEST(Remembered, AnOwnerHasAnswersOfItsOwnHoweverMany) {
  Remembered<std::uint32_t> sums;
  const auto many = [](std::uint32_t owner) { return owner % 7 == 0 ? 500u : owner % 3; };
  for (std::uint32_t owner = 0; owner < 200; ++owner) {
    // Questions as the checker asks them: a kind in the upper bits, a number in the lower.
    for (std::uint32_t i = 0; i < many(owner); ++i) sums.add(owner, (i % 3) << 28 | i, owner + i);
  }
  std::uint64_t all = 0;
  for (std::uint32_t owner = 0; owner < 200; ++owner) {
    all += many(owner);
    const auto answers = sums.of(owner);
    for (std::uint32_t i = 0; i < many(owner); ++i) {
      ASSERT_NE(answers.to((i % 3) << 28 | i), nullptr);
      EXPECT_EQ(*answers.to((i % 3) << 28 | i), owner + i);
    }
    EXPECT_EQ(answers.to(many(owner)), nullptr);
  }
  EXPECT_EQ(sums.size(), all);
  EXPECT_GE(sums.bytes(), all * 8);
}

// Whoever asks while another adds finds the whole answer or none.
TEST(Remembered, IsReadWhileItGrows) {
  struct Square {
    std::uint32_t number = 0;
    std::uint64_t square = 0;
  };
  Remembered<Square> squares;
  std::atomic<std::uint32_t> added = 0;
  constexpr std::uint32_t last = 50'000;
  const auto owner = [](std::uint32_t i) { return i % 100; };
  std::thread reader([&] {
    while (added.load(std::memory_order_acquire) < last) {
      const std::uint32_t known = added.load(std::memory_order_acquire);
      for (std::uint32_t i = std::max(known, 100u) - 99; i <= known; ++i) {
        const Square* found = squares.find(owner(i), i);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->square, std::uint64_t{i} * i);
      }
      const Square* perhaps = squares.find(owner(known + 2), known + 2);
      ASSERT_TRUE(!perhaps || perhaps->number == known + 2);
    }
  });
  for (std::uint32_t i = 1; i <= last; ++i) {
    squares.add(owner(i), i, {i, std::uint64_t{i} * i});
    added.store(i, std::memory_order_release);
  }
  reader.join();
}

}  // namespace
}  // namespace conclave::check
