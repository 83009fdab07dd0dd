#include "protocols/raft/log.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

struct Plain {
  Term term = {};
  bool operator==(const Plain&) const = default;
};
using Terms = std::vector<std::uint64_t>;

Log<Plain> log_of(const Terms& terms) {
  Log<Plain> log;
  for (const std::uint64_t term : terms) log.append({{term}});
  return log;
}

std::vector<Plain> entries_of(const Terms& terms) {
  std::vector<Plain> entries;
  for (const std::uint64_t term : terms) entries.push_back({{term}});
  return entries;
}

Terms terms_of(const Log<Plain>& log) {
  Terms terms;
  for (const Plain& entry : log.entries) terms.push_back(entry.term.value);
  return terms;
}

TEST(RaftLog, TheLaterTermIsAheadOfTheLongerLog) {
  EXPECT_GT(log_of({1, 2}).last(), log_of({1, 1, 1}).last());
  EXPECT_GT(log_of({1, 2, 2}).last(), log_of({1, 2}).last());
  EXPECT_EQ(log_of({}).last(), Position{});
}

TEST(RaftLog, MatchesOnlyWhereTheTermIsTheSame) {
  const auto log = log_of({1, 2});
  EXPECT_TRUE(log.matches({{0}, {0}}));
  EXPECT_TRUE(log.matches({{2}, {2}}));
  EXPECT_FALSE(log.matches({{1}, {2}}));
  EXPECT_FALSE(log.matches({{2}, {3}}));
}

TEST(RaftLog, RefusesEntriesWhosePredecessorItLacks) {
  auto log = log_of({1, 1});
  EXPECT_FALSE(log.merge({{1}, {3}}, entries_of({2})));
  EXPECT_FALSE(log.merge({{2}, {2}}, entries_of({2})));
  EXPECT_EQ(terms_of(log), (Terms{1, 1}));
}

TEST(RaftLog, AConflictRemovesTheEntryAndAllThatFollow) {
  auto log = log_of({1, 1, 1, 1});
  EXPECT_EQ(log.merge({{1}, {1}}, entries_of({1, 3})), Index{3});
  EXPECT_EQ(terms_of(log), (Terms{1, 1, 3}));
}

TEST(RaftLog, AShorterLateMessageRemovesNothing) {
  auto log = log_of({1, 2, 2, 2});
  EXPECT_EQ(log.merge({{1}, {1}}, entries_of({2})), Index{2});
  EXPECT_EQ(terms_of(log), (Terms{1, 2, 2, 2}));
}

TEST(RaftLog, AppendsWhatIsMissing) {
  auto log = log_of({1});
  EXPECT_EQ(log.merge({{0}, {0}}, entries_of({1, 1, 2})), Index{3});
  EXPECT_EQ(terms_of(log), (Terms{1, 1, 2}));
}

TEST(RaftLog, SaysWhereAConflictIs) {
  const auto log = log_of({1, 1, 2});
  EXPECT_EQ(log.conflict({{1}, {1}}, entries_of({1, 3})), Index{3});
  EXPECT_FALSE(log.conflict({{1}, {1}}, entries_of({1, 2, 2})));
}

TEST(RaftLog, TermsNeverFall) {
  auto log = log_of({2});
  EXPECT_THROW(log.append({{1}}), InvariantViolation);
}

TEST(RaftLog, AHintSkipsAWholeTerm) {
  const auto follower = log_of({1, 1, 3, 3, 3});
  EXPECT_EQ(follower.latest_within({{2}, {5}}), (Position{{1}, {2}}));
  EXPECT_EQ(follower.latest_within({{4}, {9}}), (Position{{3}, {5}}));
  const auto leader = log_of({1, 1, 2, 2, 2});
  EXPECT_EQ(leader.latest_within({{1}, {2}}), (Position{{1}, {2}}));
  EXPECT_EQ(log_of({}).latest_within({{4}, {9}}), Position{});
}

// Figure 7 of the paper: every follower is brought to the leader's log, in at most one question per term.
TEST(RaftLog, EveryFollowerOfFigureSevenIsRepaired) {
  const Terms leader_terms = {1, 1, 1, 4, 4, 5, 5, 6, 6, 6};
  const auto leader = log_of(leader_terms);
  for (const Terms& terms :
       {Terms{1, 1, 1, 4, 4, 5, 5, 6, 6}, Terms{1, 1, 1, 4}, Terms{1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6},
        Terms{1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7}, Terms{1, 1, 1, 4, 4, 4, 4},
        Terms{1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3}}) {
    auto follower = log_of(terms);
    Position previous = leader.last();
    int questions = 0;
    const auto rest = [&] {
      const auto span = leader.after(previous.index);
      return std::vector<Plain>(span.begin(), span.end());
    };
    while (!follower.merge(previous, rest())) {
      previous = leader.latest_within(follower.latest_within(previous));
      ASSERT_LT(++questions, 5);
    }
    follower.merge(leader.last(), entries_of({8}));
    Terms expected = leader_terms;
    expected.push_back(8);
    EXPECT_EQ(terms_of(follower), expected);
  }
}

TEST(RaftLog, KeepsWhatFollowsASnapshot) {
  auto log = log_of({1, 1, 2, 3});
  log.compact({2});
  EXPECT_EQ(terms_of(log), (Terms{2, 3}));
  EXPECT_EQ(log.last(), (Position{{3}, {4}}));
  EXPECT_EQ(log.term_at({2}), Term{1});
  EXPECT_FALSE(log.term_at({1}));
  EXPECT_EQ(log.at({3}).term, Term{2});
  EXPECT_EQ(log.after({3}).size(), 1u);
  EXPECT_EQ(log.after({2}, 1).size(), 1u);
}

TEST(RaftLog, TakesEntriesThatReachBackIntoItsSnapshot) {
  auto log = log_of({1, 1, 2});
  log.compact({2});
  EXPECT_EQ(log.merge({{0}, {0}}, entries_of({1, 1, 2, 2})), Index{4});
  EXPECT_EQ(terms_of(log), (Terms{2, 2}));
}

TEST(RaftLog, ALeadersSnapshotReplacesALogThatDisagrees) {
  auto log = log_of({1, 1, 1});
  log.install({{2}, {2}}, {{2}, {2}});
  EXPECT_EQ(log.last(), (Position{{2}, {2}}));
  EXPECT_TRUE(log.entries.empty());
}

TEST(RaftLog, ALeadersSnapshotLeavesWhatFollowsTheSameEntry) {
  auto log = log_of({1, 1, 1});
  log.install({{1}, {2}}, {{1}, {2}});
  EXPECT_EQ(terms_of(log), (Terms{1}));
  log.install({{1}, {1}}, {{1}, {1}});
  EXPECT_EQ(log.base.index, Index{2});
}

TEST(RaftLog, AnotherLogThatDiffersWhereOursBeginsAgreesOnlyBefore) {
  Log<Plain> log = log_of({1, 2, 3, 3});
  log.compact({3});
  EXPECT_EQ(log.latest_within({{2}, {3}}).index, Index{2});
  EXPECT_EQ(log.latest_within({{3}, {3}}).index, Index{3});
}

TEST(RaftLog, SaysWhatChangedInItAndNoMore) {
  const auto before = log_of({1, 1, 2});
  const auto change = [&](const Log<Plain>& log) {
    const auto [base, after, entries] = log.change_since(before);
    EXPECT_EQ(base, log.base);
    return std::pair(after.value, entries);
  };
  EXPECT_EQ(change(log_of({1, 1, 2, 3})), std::pair(3ul, entries_of({3})));
  EXPECT_EQ(change(log_of({1, 1, 3, 3})), std::pair(2ul, entries_of({3, 3})));
  EXPECT_EQ(change(log_of({1})), std::pair(1ul, entries_of({})));
  auto compacted = before;
  compacted.compact({2});
  compacted.append({{4}});
  EXPECT_EQ(change(compacted), std::pair(3ul, entries_of({4})));
  EXPECT_EQ(change({.base = {{5}, {9}}, .entries = log_of({5}).entries}), std::pair(9ul, entries_of({5})));
}

}  // namespace
}  // namespace conclave::raft
