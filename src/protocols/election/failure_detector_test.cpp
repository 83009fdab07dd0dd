#include "protocols/election/failure_detector.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

TEST(FailureDetector, AnAnswerTakesTwoTransmissionsAndTheProcessing) {
  EXPECT_EQ((Bounds{{5}, {3}}.answer_within()), Ticks{13});
  EXPECT_EQ((Bounds{{1}, {0}}.answer_within()), Ticks{2});
  EXPECT_EQ((Bounds{{50}, {20}}.answer_within()), Ticks{120});
  EXPECT_EQ((Bounds{{50}, {20}}.outcome_within()), Ticks{240});
}

TEST(FailureDetector, WhoeverStaysSilentIsTakenForDown) {
  FailureDetector detector;
  detector.expect({NodeId{2}, NodeId{3}, NodeId{5}});
  EXPECT_TRUE(detector.heard({3}));
  EXPECT_EQ(detector.stop(), (NodeSet{NodeId{2}, NodeId{5}}));
  EXPECT_TRUE(detector.stop().empty());
}

TEST(FailureDetector, AnAnswerCountsOnceAndOnlyIfItWasAskedFor) {
  FailureDetector detector;
  detector.expect({NodeId{2}});
  EXPECT_FALSE(detector.heard({4}));
  EXPECT_TRUE(detector.heard({2}));
  EXPECT_FALSE(detector.heard({2}));
}

}  // namespace
}  // namespace conclave::election
