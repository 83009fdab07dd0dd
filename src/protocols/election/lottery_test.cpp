#include "protocols/election/lottery.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

TEST(Lottery, TheChancesAreThosePublished) {
  // The paper's tables for q = 0.1 and 0.3.
  EXPECT_NEAR(nakamoto(0.1, 1), 0.2045873, 1e-7);
  EXPECT_NEAR(nakamoto(0.1, 5), 0.0009137, 1e-7);
  EXPECT_NEAR(nakamoto(0.3, 5), 0.1773523, 1e-7);
  EXPECT_NEAR(nakamoto(0.3, 10), 0.0416605, 1e-7);
  EXPECT_NEAR(rosenfeld(0.1, 2), 0.056, 1e-5);
  EXPECT_DOUBLE_EQ(nakamoto(0.6, 3), 1);
}

}  // namespace
}  // namespace conclave::election
