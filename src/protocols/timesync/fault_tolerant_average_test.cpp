#include "protocols/timesync/fault_tolerant_average.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

constexpr std::int64_t hour = 3'600'000'000;

std::vector<MeasuredClock> clocks(std::initializer_list<std::int64_t> differences) {
  std::vector<MeasuredClock> list;
  for (const std::int64_t difference : differences)
    list.push_back({.node = {static_cast<std::uint32_t>(list.size() + 1)},
                    .difference = difference,
                    .own = list.empty()});
  return list;
}

TEST(FaultTolerantAverage, IsTheMeanOfClocksThatAgree) {
  const Average average = fault_tolerant_average(clocks({0, 25, -10}), 100);
  EXPECT_EQ(average.mean, 5);
  EXPECT_EQ(average.counted.size(), 3u);
}

TEST(FaultTolerantAverage, OneClockAnHourOutDoesNotMoveTheMean) {
  const std::int64_t without = fault_tolerant_average(clocks({0, 1'000, -400}), 20'000).mean;
  for (const std::int64_t out : {hour, -hour, INT64_MAX, INT64_MIN})
    EXPECT_EQ(fault_tolerant_average(clocks({0, 1'000, -400, out}), 20'000).mean, without);
}

TEST(FaultTolerantAverage, TheMasterItselfMayBeTheOneThatIsOut) {
  const Average average = fault_tolerant_average(clocks({0, hour, hour + 10}), 20'000);
  EXPECT_EQ(average.mean, hour + 5);
  EXPECT_FALSE(average.counted.contains({1}));
}

TEST(FaultTolerantAverage, OfTwoSetsAlikeTheMastersOwnCounts) {
  EXPECT_EQ(fault_tolerant_average(clocks({0, -hour, hour}), 20'000).mean, 0);
}

TEST(FaultTolerantAverage, ClocksThatWereSetOutweighThoseThatWereNot) {
  auto some = clocks({0, 10, hour});
  some[0].known = some[1].known = false;
  EXPECT_EQ(fault_tolerant_average(some, 20'000).mean, hour);
}

TEST(FaultTolerantAverage, WithoutALimitEverybodyCounts) {
  EXPECT_EQ(fault_tolerant_average(clocks({0, 0, 0, hour}), INT64_MAX).mean, hour / 4);
}

TEST(FaultTolerantAverage, RoundsDownBelowZeroToo) {
  EXPECT_EQ(fault_tolerant_average(clocks({0, -1}), 10).mean, -1);
}

}  // namespace
}  // namespace conclave::timesync
