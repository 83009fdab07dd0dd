#include "protocols/raft/voting.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

constexpr Position empty = {};

TEST(RaftVoting, ALaterTermMakesOldVotesVoid) {
  Ballot ballot = {.term = {2}, .voted_for = NodeId{5}};
  EXPECT_FALSE(ballot.observe({2}));
  EXPECT_EQ(ballot.voted_for, NodeId{5});
  EXPECT_TRUE(ballot.observe({3}));
  EXPECT_EQ(ballot, (Ballot{.term = {3}}));
}

TEST(RaftVoting, OneVotePerTermAndTheSameAnswerToARepetition) {
  Ballot ballot;
  EXPECT_TRUE(ballot.answer({3}, {.term = {1}}, empty).granted);
  EXPECT_FALSE(ballot.answer({4}, {.term = {1}}, empty).granted);
  EXPECT_TRUE(ballot.answer({3}, {.term = {1}}, empty).granted);
  EXPECT_TRUE(ballot.answer({4}, {.term = {2}}, empty).granted);
}

TEST(RaftVoting, RefusesACandidateOfAnOlderTermAndTellsItTheTerm) {
  Ballot ballot = {.term = {4}};
  EXPECT_EQ(ballot.answer({3}, {.term = {3}, .last = {{3}, {9}}}, empty), (VoteReply{{4}, false}));
  EXPECT_FALSE(ballot.voted_for);
}

// Section 5.4.1: up to date means the later last term, and within it the longer log.
TEST(RaftVoting, RefusesACandidateWhoseLogIsBehind) {
  const Position ours = {{2}, {3}};
  const auto granted = [&](Position last) {
    Ballot ballot = {.term = {2}};
    return ballot.answer({3}, {.term = {5}, .last = last}, ours).granted;
  };
  EXPECT_FALSE(granted({{1}, {9}}));
  EXPECT_FALSE(granted({{2}, {2}}));
  EXPECT_TRUE(granted({{2}, {3}}));
  EXPECT_TRUE(granted({{3}, {1}}));
}

TEST(RaftVoting, ARefusedRequestStillMovesTheTerm) {
  Ballot ballot = {.term = {2}, .voted_for = NodeId{1}};
  EXPECT_EQ(ballot.answer({3}, {.term = {5}}, {{2}, {3}}), (VoteReply{{5}, false}));
  EXPECT_EQ(ballot, (Ballot{.term = {5}}));
}

}  // namespace
}  // namespace conclave::raft
