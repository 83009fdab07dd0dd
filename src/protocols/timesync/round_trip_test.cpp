#include "protocols/timesync/round_trip.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

TEST(RoundTrip, HalfOfItIsTheGuessAndTheRestTheError) {
  const auto plain = exact_estimate({100}, {120}, {150}, {0}, {0});
  EXPECT_EQ(plain.one_way, Rational{10});
  EXPECT_EQ(plain.time, Rational{160});
  EXPECT_EQ(plain.error, Rational{10});
  const auto better = exact_estimate({100}, {120}, {150}, {4}, {2});
  EXPECT_EQ(better.time, Rational{158});
  EXPECT_EQ(better.error, Rational{6});
}

TEST(RoundTrip, InWholeTicksTheBoundHasRoomForRounding) {
  const Estimate estimate = half_round_trip(20, 0, 0);
  EXPECT_EQ(estimate.ahead, 10);
  EXPECT_GE(estimate.error, 10u);
  EXPECT_LE(estimate.error, 12u);
}

// Every clock within the drift, every split of the round trip: the truth lies within the bound.
TEST(RoundTrip, TheBoundHoldsForEveryDriftAndEverySplit) {
  constexpr std::int64_t rho = 100'000'000;  // a tenth, so that it shows
  for (const std::int64_t drift : {-rho, -rho / 3, std::int64_t{0}, rho / 2, rho}) {
    for (std::int64_t least = 0; least <= 40; least += 20) {
      for (std::int64_t there = least; there <= 400; there += 7) {
        for (std::int64_t back = least; back <= 400; back += 11) {
          const std::int64_t shown = (there + back) + (there + back) * drift / ppb;
          const Estimate estimate = half_round_trip(shown, least, rho);
          const std::int64_t off = estimate.ahead - back;
          ASSERT_LE(static_cast<std::uint64_t>(off < 0 ? -off : off), estimate.error)
              << drift << ' ' << least << ' ' << there << ' ' << back;
        }
      }
    }
  }
}

TEST(RoundTrip, TheLongestOneForAWantedErrorKeepsIt) {
  for (std::int64_t wanted = 10; wanted <= 500; wanted += 35) {
    const std::int64_t longest = longest_round_trip(wanted, 300, 1'000);
    EXPECT_LE(half_round_trip(longest, 300, 1'000).error, static_cast<std::uint64_t>(wanted) + 2);
    EXPECT_GT(half_round_trip(longest + 6, 300, 1'000).error, static_cast<std::uint64_t>(wanted));
  }
}

TEST(RoundTrip, DriftIsRoundedUp) {
  EXPECT_EQ(drift_over(1'000'000, 1'000), 2u);  // by its own count a slow clock has run for longer
  EXPECT_EQ(drift_over(0, 1'000), 0u);
  EXPECT_EQ(drift_over(1, 1), 1u);
}

}  // namespace
}  // namespace conclave::timesync
