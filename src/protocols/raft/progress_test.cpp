#include "protocols/raft/progress.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

TEST(RaftProgress, WhoeverIsProbedGetsOneMessageAtATime) {
  Progress progress = {.next = {5}};
  EXPECT_TRUE(progress.may_send(4));
  progress.sent(1);
  EXPECT_FALSE(progress.may_send(4));
  progress.matched({5});
  EXPECT_TRUE(progress.may_send(4));
}

TEST(RaftProgress, MessagesFollowEachOtherUpToABound) {
  Progress progress = {.next = {1}};
  progress.matched({0});
  for (int message = 0; message < 3; ++message) {
    EXPECT_TRUE(progress.may_send(3));
    progress.sent(2);
  }
  EXPECT_FALSE(progress.may_send(3));
  EXPECT_EQ(progress.next, Index{7});
  progress.matched({2});
  EXPECT_TRUE(progress.may_send(3));
}

TEST(RaftProgress, AnAnswerForEverythingLeavesNothingUnanswered) {
  Progress progress = {.next = {1}};
  progress.matched({0});
  progress.sent(2);
  progress.sent(2);
  progress.matched({4});
  EXPECT_EQ(progress.unanswered, 0u);
}

TEST(RaftProgress, ARefusalGoesBackOnceAndNeverBehindWhatAgrees) {
  Progress progress = {.next = {9}, .match = {3}};
  EXPECT_TRUE(progress.refused({1}));
  EXPECT_EQ(progress.next, Index{4});
  EXPECT_TRUE(progress.probing);
  EXPECT_FALSE(progress.refused({1})) << "no news";
}

TEST(RaftProgress, NoEntriesGoToWhoGetsASnapshot) {
  Progress progress = {.next = {1}, .offset = 0};
  EXPECT_FALSE(progress.may_send(4));
  progress.matched({7});
  EXPECT_TRUE(progress.may_send(4));
  EXPECT_EQ(progress.next, Index{8});
}

}  // namespace
}  // namespace conclave::raft
