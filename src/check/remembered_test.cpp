#include "check/remembered.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace conclave::check {
namespace {

struct Square {
  std::uint64_t key = 0;
  std::uint64_t square = 0;
};

TEST(Remembered, KnowsWhatWasAddedAndNothingElse) {
  Remembered<Square> squares;
  EXPECT_EQ(squares.find(3), nullptr);
  EXPECT_EQ(squares.add({3, 9}).square, 9u);
  ASSERT_NE(squares.find(3), nullptr);
  EXPECT_EQ(squares.find(3)->square, 9u);
  EXPECT_EQ(squares.find(4), nullptr);
  EXPECT_EQ(squares.find(0), nullptr);
}

TEST(Remembered, ValuesStayWhereTheyAre) {
  Remembered<Square> squares;
  const Square* first = &squares.add({1, 1});
  for (std::uint64_t i = 2; i < 10'000; ++i) squares.add({i << 32 | i, i * i});
  EXPECT_EQ(squares.find(1), first);
  for (std::uint64_t i = 2; i < 10'000; ++i) {
    ASSERT_NE(squares.find(i << 32 | i), nullptr);
    EXPECT_EQ(squares.find(i << 32 | i)->square, i * i);
    EXPECT_EQ(squares.find(i << 32 | (i + 1)), nullptr);
  }
}

// Whoever asks while another adds finds the whole value or none.
TEST(Remembered, IsReadWhileItGrows) {
  Remembered<Square> squares;
  std::atomic<std::uint64_t> added = 0;
  constexpr std::uint64_t last = 50'000;
  std::thread reader([&] {
    while (added.load(std::memory_order_acquire) < last) {
      const std::uint64_t known = added.load(std::memory_order_acquire);
      for (std::uint64_t i = std::max<std::uint64_t>(known, 100) - 99; i <= known; ++i) {
        const Square* found = squares.find(i);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->square, i * i);
      }
      const Square* perhaps = squares.find(known + 2);
      ASSERT_TRUE(!perhaps || perhaps->square == (known + 2) * (known + 2));
    }
  });
  for (std::uint64_t i = 1; i <= last; ++i) {
    squares.add({i, i * i});
    added.store(i, std::memory_order_release);
  }
  reader.join();
}

}  // namespace
}  // namespace conclave::check
