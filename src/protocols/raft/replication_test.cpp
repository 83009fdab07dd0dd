#include "protocols/raft/replication.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

struct Plain {
  Term term = {};
  bool operator==(const Plain&) const = default;
};

Log<Plain> log_of(const std::vector<std::uint64_t>& terms) {
  Log<Plain> log;
  for (const std::uint64_t term : terms) log.append({{term}});
  return log;
}

TEST(RaftReplication, RefusesALeaderOfAnOlderTerm) {
  Ballot ballot = {.term = {3}};
  auto log = log_of({1});
  Index committed = {0};
  const AppendEntries<Plain> message = {
      .term = {2}, .previous = {{1}, {1}}, .entries = {{{2}}}, .committed = {1}};
  const AppendReply reply = take_entries(ballot, log, committed, message);
  EXPECT_EQ(reply.term, Term{3});
  EXPECT_FALSE(reply.matched);
  EXPECT_EQ(log.entries.size(), 1u);
  EXPECT_EQ(committed, Index{0});
}

TEST(RaftReplication, CommitsNoFurtherThanTheMessageVerified) {
  Ballot ballot = {.term = {2}};
  auto log = log_of({1, 1, 1, 1});
  Index committed = {1};
  const AppendReply reply =
      take_entries(ballot, log, committed, {.term = {3}, .previous = {{1}, {2}}, .committed = {4}});
  EXPECT_EQ(reply.matched, Index{2});
  EXPECT_EQ(committed, Index{2});
  EXPECT_EQ(ballot.term, Term{3});
}

TEST(RaftReplication, ALateMessageDoesNotTakeTheCommitBack) {
  Ballot ballot = {.term = {2}};
  auto log = log_of({1, 2, 2});
  Index committed = {3};
  take_entries(ballot, log, committed, {.term = {2}, .previous = {{1}, {1}}, .committed = {1}});
  EXPECT_EQ(committed, Index{3});
}

TEST(RaftReplication, ARefusalSaysWhereTheLogsMayAgree) {
  Ballot ballot = {.term = {4}};
  auto log = log_of({1, 1, 3, 3});
  Index committed = {0};
  const AppendReply reply = take_entries(ballot, log, committed, {.term = {4}, .previous = {{2}, {6}}});
  EXPECT_FALSE(reply.matched);
  EXPECT_EQ(reply.hint, (Position{{1}, {2}}));
}

// Figure 8: an entry of term 2 stands on three of five servers, and may be overwritten all the same.
TEST(RaftReplication, AnEntryOfAnEarlierTermIsNotCommittedByCounting) {
  const Configuration five = {.voters = NodeSet::range({1}, 5)};
  const auto log = log_of({1, 2, 4});
  EXPECT_EQ(advance_commit({1}, {4}, log, five, Matches{{{{1}, {3}}, {{2}, {2}}, {{3}, {2}}, {{4}, {1}}}}),
            Index{1});
  EXPECT_EQ(advance_commit({1}, {4}, log, five, Matches{{{{1}, {3}}, {{2}, {3}}, {{3}, {3}}, {{4}, {1}}}}),
            Index{3});
}

TEST(RaftReplication, TheCommitNeverGoesBack) {
  const Configuration three = {.voters = NodeSet::range({1}, 3)};
  EXPECT_EQ(advance_commit({2}, {1}, log_of({1, 1}), three, Matches{{{{1}, {2}}}}), Index{2});
}

}  // namespace
}  // namespace conclave::raft
