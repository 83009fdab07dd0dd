#include <gtest/gtest.h>

#include "causality/dense_clock.hpp"
#include "causality/scalar_clock.hpp"
#include "core/vector_clock.hpp"

namespace conclave::causality {
namespace {

TEST(ScalarClock, AReceiptComesAfterBothTheSendingAndTheOwnPast) {
  ScalarClock clock;
  EXPECT_EQ(clock.tick(), 1u);
  EXPECT_EQ(clock.receive(7), 8u);
  EXPECT_EQ(clock.receive(3), 9u);
}

TEST(ScalarClock, TheStepScalesEveryTime) {
  ScalarClock clock = {.step = 5};
  EXPECT_EQ(clock.tick(), 5u);
  EXPECT_EQ(clock.receive(20), 25u);
}

TEST(DenseClock, OrderIsEntryByEntry) {
  const DenseClock a({2, 4, 0});
  const DenseClock b({2, 3, 3});
  const DenseClock c({2, 3, 0});
  EXPECT_TRUE(a.concurrent(b));
  EXPECT_TRUE(c.before(a));
  EXPECT_TRUE(c.before(b));
  EXPECT_FALSE(a.before(a));
  EXPECT_FALSE(a.concurrent(a));
  EXPECT_EQ(b.predecessors(), 7u);
}

TEST(DenseClock, AReceiptCannotStandBesideAStateBeforeItsSending) {
  const DenseClock sender({3, 1, 0});
  const DenseClock receiver({5, 1, 6});
  EXPECT_FALSE(share_a_frontier(0, sender, 2, receiver));
  EXPECT_FALSE(share_a_frontier(2, receiver, 0, sender));
  EXPECT_TRUE(share_a_frontier(0, DenseClock({5, 1, 0}), 2, receiver));
}

TEST(VectorClock, AbsentEntriesAreZero) {
  VectorClock a;
  a.tick({1});
  VectorClock b = a;
  b.tick({2});
  EXPECT_TRUE(a.before(b));
  EXPECT_FALSE(b.before(a));
  EXPECT_FALSE(a.before(a));
  VectorClock c;
  c.tick({3});
  EXPECT_TRUE(c.concurrent(b));
  EXPECT_FALSE(a.concurrent(a));
  EXPECT_EQ(b.predecessors(), 1u);
  EXPECT_EQ(VectorClock().predecessors(), 0u);
}

}  // namespace
}  // namespace conclave::causality
