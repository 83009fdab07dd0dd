#include "protocols/raft/quorum.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

TEST(RaftQuorum, AnyTwoMajoritiesMeet) {
  for (std::uint32_t n = 1; n <= 100; ++n) {
    EXPECT_GT(2 * majority(n), n);
    EXPECT_LE(2 * (majority(n) - 1), n);
    EXPECT_EQ(tolerated_crashes(n), (n - 1) / 2);
  }
}

TEST(RaftQuorum, CountsOnlyVoters) {
  const Configuration three = {.voters = {{1}, {2}, {3}}};
  EXPECT_TRUE(three.is_quorum({{1}, {3}}));
  EXPECT_FALSE(three.is_quorum({{1}, {7}, {8}}));
}

TEST(RaftQuorum, WhileMembersChangeBothMajoritiesAreNeeded) {
  const Configuration joint = {.voters = {{3}, {4}, {5}}, .outgoing = {{1}, {2}, {3}}};
  EXPECT_TRUE(joint.joint());
  EXPECT_TRUE(joint.contains({1}));
  EXPECT_FALSE(joint.is_quorum({{3}, {4}}));
  EXPECT_FALSE(joint.is_quorum({{1}, {2}, {3}}));
  EXPECT_TRUE(joint.is_quorum({{2}, {3}, {4}}));
}

TEST(RaftQuorum, LearnersDoNotCountAndWhoLeavesStaysUntilTheChangeIsDone) {
  const Configuration three = {.voters = {{1}, {2}, {3}}, .learners = {{4}}};
  EXPECT_FALSE(three.is_quorum({{1}, {4}}));
  EXPECT_TRUE(three.contains({4}));
  EXPECT_FALSE(three.votes({4}));
  const Configuration joint = three.joint_with({{1}, {2}, {4}}, {});
  EXPECT_TRUE(joint.votes({3}));
  EXPECT_EQ(joint.everybody(), NodeSet::range({1}, 4));
  EXPECT_EQ(joint.final(), (Configuration{.voters = {{1}, {2}, {4}}}));
}

TEST(RaftQuorum, AnElectionIsLostOnceNoQuorumIsPossible) {
  const Configuration five = {.voters = NodeSet::range({1}, 5)};
  EXPECT_EQ(five.tally({{1}, {2}}, {{3}, {4}}), Tally::open);
  EXPECT_EQ(five.tally({{1}, {2}, {5}}, {{3}, {4}}), Tally::won);
  EXPECT_EQ(five.tally({{1}}, {{3}, {4}, {5}}), Tally::lost);
  const Configuration joint = {.voters = {{3}, {4}, {5}}, .outgoing = {{1}, {2}}};
  EXPECT_EQ(joint.tally({{3}, {4}, {5}}, {{1}}), Tally::lost);
}

TEST(RaftQuorum, FindsTheIndexThatAMajorityHolds) {
  const Configuration five = {.voters = NodeSet::range({1}, 5)};
  EXPECT_EQ(five.held_by_quorum(Matches{{{{1}, {9}}, {{2}, {4}}, {{3}, {7}}}}), Index{4});
  EXPECT_EQ(five.held_by_quorum(Matches{{{{1}, {9}}, {{2}, {4}}}}), Index{0});
  const Configuration four = {.voters = NodeSet::range({1}, 4)};
  EXPECT_EQ(four.held_by_quorum(Matches{{{{1}, {9}}, {{2}, {4}}, {{3}, {7}}, {{4}, {1}}}}), Index{4});
}

TEST(RaftQuorum, WhileMembersChangeTheSlowerMajorityCounts) {
  const Configuration joint = {.voters = {{3}, {4}, {5}}, .outgoing = {{1}, {2}, {3}}};
  EXPECT_EQ(joint.held_by_quorum(Matches{{{{1}, {2}}, {{2}, {2}}, {{3}, {8}}, {{4}, {8}}, {{5}, {8}}}}),
            Index{2});
}

}  // namespace
}  // namespace conclave::raft
