#include "protocols/timesync/clock_compensation.hpp"

#include <gtest/gtest.h>

#include "sim/random.hpp"

namespace conclave::timesync {
namespace {

TEST(ClockCompensation, AFastClockRunsSlowerUntilItIsRight) {
  const auto clock = Compensation::adjust(1000, 1040, 1000, 400);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->at(1000), 1040);
  EXPECT_EQ(clock->at(1100), 1130);
  EXPECT_EQ(clock->at(1400), 1400);
  EXPECT_EQ(clock->at(1500), 1500);  // from then on like the hardware
  EXPECT_EQ(clock->line(), (Line{{-1, 10}, {140}}));
}

TEST(ClockCompensation, ASlowClockRunsFaster) {
  const auto clock = Compensation::adjust(1000, 980, 1000, 200);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->at(1050), 1035);
  EXPECT_EQ(clock->at(1200), 1200);
  EXPECT_EQ(clock->line(), (Line{{1, 10}, {-120}}));
}

TEST(ClockCompensation, TheMisprintedEquationRunsTheClockBackwards) {
  const Line line = literal_line({1000}, {1040}, {1000}, {400});
  EXPECT_EQ(line.a, Rational::of(-11, 10));
  EXPECT_EQ(line.at({1000}), Rational{1040});
  EXPECT_EQ(line.at({1400}), Rational{1000});
  EXPECT_FALSE(line.monotonic());
  // And a clock that is right would stand still.
  EXPECT_EQ(literal_line({100}, {100}, {100}, {50}).rate(), Rational{0});
}

TEST(ClockCompensation, RefusesAnIntervalInWhichTheClockWouldHaveToRunBackwards) {
  EXPECT_EQ(Compensation::adjust(0, 100, 40, 50).error(), AdjustError::interval_too_short);
  EXPECT_EQ(Compensation::adjust(0, 100, 40, 60).error(), AdjustError::interval_too_short);  // standing still
  EXPECT_TRUE(Compensation::adjust(0, 100, 40, 61));
  EXPECT_EQ(Compensation::adjust(0, 0, 5, 0).error(), AdjustError::interval_not_positive);
  EXPECT_EQ(Compensation::adjust(0, 0, 5, -1).error(), AdjustError::interval_not_positive);
}

TEST(ClockCompensation, RefusesTimesThatDoNotFit) {
  EXPECT_EQ(Compensation::adjust(INT64_MAX - 5, 0, 0, 10).error(), AdjustError::out_of_range);
  EXPECT_EQ(Compensation::adjust(0, INT64_MIN, INT64_MAX, 10).error(), AdjustError::out_of_range);
  EXPECT_EQ(Compensation::adjust(0, INT64_MAX, INT64_MAX - 1, 10).error(), AdjustError::out_of_range);
  const auto clock = Compensation::adjust(0, INT64_MAX - 100, INT64_MAX - 100, 10);
  ASSERT_TRUE(clock);
  EXPECT_THROW(clock->at(101), InvariantViolation);
  EXPECT_THROW(clock->at(-1), InvariantViolation);
}

TEST(ClockCompensation, DoesNotOverflowInTheMiddle) {
  // The product of gap and ticks needs 124 bits.
  constexpr std::int64_t far = std::int64_t{1} << 61;
  const auto clock = Compensation::adjust(0, 0, far, far);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->at(far / 2), far);
  EXPECT_EQ(clock->at(far), 2 * far);
}

// The whole form is the exact one rounded down, monotone, and exact at the end.
TEST(ClockCompensation, WholeTicksFollowTheExactLine) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto draw = [&](std::uint64_t nth, std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(sim::Draw(seed, sim::Purpose::plan, 0, nth)
                                                 .below(static_cast<std::uint64_t>(high - low + 1)));
    };
    const std::int64_t h = draw(1, -500, 500);
    const std::int64_t rl = draw(2, -500, 500);
    const std::int64_t t = draw(3, -500, 500);
    const std::int64_t n = draw(4, std::max<std::int64_t>(1, rl - t + 1), 1'200);
    const auto clock = Compensation::adjust(h, rl, t, n);
    ASSERT_TRUE(clock) << seed;
    const Line line = clock->line();
    std::int64_t last = rl;
    for (std::int64_t hardware = h; hardware <= h + n + 10; ++hardware) {
      const std::int64_t now = clock->at(hardware);
      EXPECT_GE(now, last);
      last = now;
      const Line& exact = hardware <= h + n ? line : line_after({h}, {t});
      EXPECT_EQ(now, exact.at({hardware}).floor());
    }
    EXPECT_EQ(clock->at(h), rl);
    EXPECT_EQ(clock->at(h + n), t + n);
  }
}

TEST(ClockCompensation, ANewAdjustmentInTheMiddleOfOneIsContinuousAndMonotone) {
  Compensation clock = *Compensation::adjust(0, 100, 0, 1'000);
  std::int64_t last = 100;
  for (std::int64_t hardware = 0; hardware < 10'000; ++hardware) {
    if (hardware % 37 == 36) {
      const std::int64_t shown = clock.at(hardware);
      // Now ahead, now behind.
      const std::int64_t target = shown + (hardware % 2 == 0 ? 25 : -25);
      const auto again = clock.readjusted(hardware, target, 60);
      ASSERT_TRUE(again);
      EXPECT_EQ(again->at(hardware), shown);
      clock = *again;
    }
    ASSERT_GE(clock.at(hardware), last);
    last = clock.at(hardware);
  }
}

}  // namespace
}  // namespace conclave::timesync
