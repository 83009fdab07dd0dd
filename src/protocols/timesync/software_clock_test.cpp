#include "protocols/timesync/software_clock.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

SoftwareClock set_to(std::int64_t time, std::uint64_t hardware) {
  SoftwareClock clock;
  clock.tick({hardware});
  clock.adjust(clock.hardware, time, 5, 100, Correction::slew);
  return clock;
}

TEST(SoftwareClock, IsSetFreelyBeforeAnybodyHasReadIt) {
  SoftwareClock clock;
  clock.tick({5'000});
  const Adjusted set = clock.adjust(5'000, 200, 5, 100, Correction::slew);
  EXPECT_TRUE(set.first);
  EXPECT_EQ(set.offset, -4'800);
  EXPECT_EQ(clock.read(), 200);
  EXPECT_EQ(clock.best(), 200);
}

TEST(SoftwareClock, IsNeverSetBackLater) {
  SoftwareClock clock = set_to(1'000, 0);
  clock.tick({10});
  const Adjusted adjusted = clock.adjust(10, 960, 5, 100, Correction::slew);
  EXPECT_EQ(adjusted.before, 1'010);
  EXPECT_EQ(adjusted.after, 1'010);
  EXPECT_EQ(adjusted.offset, -50);
  clock.tick({60});
  EXPECT_EQ(clock.read(), 1'035);  // half way
  clock.tick({110});
  EXPECT_EQ(clock.read(), 1'060);
  EXPECT_EQ(clock.best(), 1'060);
}

TEST(SoftwareClock, TakesLongerForAGreatCorrectionThanItWasTold) {
  SoftwareClock clock = set_to(100'000, 0);
  clock.adjust(0, 0, 5, 100, Correction::slew);
  std::int64_t last = 0;
  for (std::uint64_t hardware = 0; hardware <= 200'000; hardware += 10'000) {
    clock.tick({hardware});
    EXPECT_GE(clock.read(), last);
    last = clock.read();
  }
  EXPECT_EQ(last, 200'000);
}

TEST(SoftwareClock, JumpsForwardWhereItMay) {
  SoftwareClock clock = set_to(0, 0);
  EXPECT_EQ(clock.adjust(0, 70, 5, 100, Correction::jump_forward).after, 70);
  EXPECT_EQ(clock.adjust(0, 20, 5, 100, Correction::jump_forward).after, 70);
  EXPECT_EQ(clock.adjust(0, 20, 5, 100, Correction::jump).after, 20);
}

TEST(SoftwareClock, ItsBoundGrowsWithDriftAndShrinksWithTheCorrection) {
  SoftwareClock clock = set_to(0, 0);
  EXPECT_EQ(clock.bound(1'000), 6u);
  clock.tick({2'000'000});
  EXPECT_EQ(clock.bound(1'000), 5u + 3u + 1u);
  clock.adjust(2'000'000, 2'000'040, 1, 100, Correction::slew);
  EXPECT_EQ(clock.bound(1'000), 42u);  // all of it is still to come
  clock.tick({2'000'050});
  EXPECT_EQ(clock.bound(1'000), 23u);
}

TEST(SoftwareClock, ACounterThatStepsBackStandsStill) {
  SoftwareClock clock = set_to(100, 100);
  clock.tick({500});
  clock.tick({300});
  EXPECT_EQ(clock.read(), 500);
}

TEST(SoftwareClock, AnEstimateOfAMomentAgoCountsFromThen) {
  SoftwareClock clock = set_to(0, 0);
  clock.tick({100});
  clock.adjust(40, 55, 1, 10, Correction::jump_forward);
  EXPECT_EQ(clock.read(), 115);
}

}  // namespace
}  // namespace conclave::timesync
