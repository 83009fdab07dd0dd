#include "protocols/timesync/physical_clock.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

TEST(PhysicalClock, QuartzIsASecondOffAfterElevenDaysAndAHalf) {
  const Rational seconds = seconds_per_second_of_error(quartz_drift);
  EXPECT_EQ(seconds, Rational{1'000'000});
  EXPECT_NEAR(seconds.approximate() / static_cast<double>(seconds_per_day), 11.574, 0.001);
}

TEST(PhysicalClock, CaesiumIsASecondOffAfterThreeHundredThousandYears) {
  const Rational seconds = seconds_per_second_of_error(caesium_drift);
  EXPECT_NEAR(seconds.approximate() / static_cast<double>(seconds_per_year), 316'881, 1);
}

}  // namespace
}  // namespace conclave::timesync
