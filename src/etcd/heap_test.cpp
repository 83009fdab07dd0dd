#include "etcd/heap.hpp"

#include <gtest/gtest.h>

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t MiB = 1 << 20;

struct Memory : testing::Test {
  int unsorted = 0;  // times that there is something to be sorted
  Heap::Duration trim_takes = 5ms;
  int sorts = 0;
  int trims = 0;
  Heap heap{{.sort =
                 [this] {
                   ++sorts;
                   return unsorted-- > 0 ? Heap::Duration(1ms) : Heap::Duration(1us);
                 },
             .trim =
                 [this] {
                   ++trims;
                   return trim_takes;
                 }}};
  void shrink(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t bytes = from; bytes > to; bytes -= MiB)
      while (heap.look(bytes)) continue;
  }
};

TEST_F(Memory, IsNotGivenBackWhileAStoreGrowsOrStaysAsItIs) {
  for (std::uint64_t bytes = 0; bytes < 500 * MiB; bytes += MiB) heap.look(bytes);
  for (int i = 0; i < 100; ++i) {
    heap.look(500 * MiB);
    heap.look(480 * MiB);
  }
  EXPECT_EQ(sorts + trims, 0);
}

TEST_F(Memory, IsGivenBackPieceByPieceWhileAStoreShrinks) {
  shrink(1000 * MiB, 10 * MiB);
  EXPECT_NEAR(trims, 30, 2);
}

TEST_F(Memory, IsSortedFirstAndNotAllAtOnce) {
  heap.look(100 * MiB);
  unsorted = 7;
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(heap.look(10 * MiB));
  EXPECT_EQ(trims, 0);
  EXPECT_FALSE(heap.look(10 * MiB));
  EXPECT_EQ(trims, 1);
}

TEST_F(Memory, IsLeftAloneWhenItTakesLongUntilMuchHasGone) {
  trim_takes = 30ms;
  shrink(1000 * MiB, 10 * MiB);
  EXPECT_LE(trims, 6) << "each at half of the one before";
  EXPECT_GE(trims, 4);
  EXPECT_EQ(heap.longest_trim(), 30ms);
}

}  // namespace
}  // namespace conclave::etcd
