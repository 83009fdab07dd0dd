#include "protocols/raft/raft.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

using P = Raft;
using conclave::log::Leading;
using conclave::log::Propose;

P::Command command(std::uint32_t client, std::uint64_t serial = 1) {
  return {{client}, serial, 1000ull * client + serial};
}
P::Entry entry(std::uint64_t term, std::optional<P::Command> what = {}) { return {{term}, what}; }
constexpr Position at(std::uint64_t term, std::uint64_t index) { return {{term}, {index}}; }

struct Node {
  P::Out out;
  P node;
  explicit Node(std::uint32_t id, std::uint32_t count = 3, const P::Setup& setup = {.pre_vote = false})
      : node(P::start({id}, NodeSet::range({1}, count), setup, out)) {
    out.clear();
  }
  template <class M>
  void hear(std::uint32_t from, const M& message) {
    out.clear();
    node.on_message(out, {from}, message);
  }
  void propose(std::uint64_t serial) {
    out.clear();
    node.on_command(out, Propose{serial, 1000ull * node.self.value + serial});
  }
  void fire(P::Timer timer) {
    out.clear();
    node.on_timer(out, timer);
  }
  void become_leader(std::uint32_t voter) {
    fire(P::Timer::election);
    hear(voter, VoteReply{node.ballot.term, true});
  }
  void matched(std::uint32_t from, std::uint64_t index) {
    hear(from, AppendReply{.term = node.ballot.term, .matched = Index{index}});
  }
  template <class M>
  std::vector<M> sent() const {
    std::vector<M> list;
    for (const auto& send : out.sends) {
      if (const auto* message = std::get_if<M>(&send.message)) list.push_back(*message);
    }
    return list;
  }
  template <class E>
  std::vector<E> told() const {
    std::vector<E> list;
    for (const auto& event : out.events) {
      if (const auto* which = std::get_if<E>(&event)) list.push_back(*which);
    }
    return list;
  }
  bool waits_anew() const {
    return std::ranges::find(out.armed, P::Timer::election, &P::Out::Arm::timer) != out.armed.end();
  }
};

// Section 5.1: terms.

TEST(Raft, ALaterTermMakesAFollowerOfWhoeverHearsOfIt_5_1) {
  Node one(1);
  one.become_leader(2);
  one.hear(3, VoteReply{{7}, false});
  EXPECT_EQ(one.node.role, decltype(P::role)(P::Follower{}));
  EXPECT_EQ(one.out.persisted->ballot, (Ballot{.term = {7}}));
  EXPECT_TRUE(one.waits_anew());
}

TEST(Raft, ALeaderOfAnEarlierTermIsRefusedAndToldTheTerm_5_1) {
  Node two(2);
  two.hear(3, RequestVote{{4}, at(0, 0)});
  two.hear(1, P::Append{.term = {3}, .entries = {entry(3)}});
  EXPECT_EQ(two.sent<AppendReply>(), (std::vector<AppendReply>{{.term = {4}}}));
  EXPECT_TRUE(two.node.log.entries.empty());
  EXPECT_FALSE(two.waits_anew());
}

// Section 5.2: elections.

TEST(Raft, WhoHearsOfNoLeaderStandsInTheNextTermAndVotesForItself_5_2) {
  Node two(2);
  two.fire(P::Timer::election);
  EXPECT_EQ(two.sent<RequestVote>(), (std::vector<RequestVote>(2, {{1}, at(0, 0)})));
  EXPECT_EQ(two.out.persisted->ballot, (Ballot{{1}, NodeId{2}}));
  EXPECT_TRUE(two.waits_anew());
}

TEST(Raft, AVoteHeardTwiceCountsOnce_5_2) {
  Node one(1, 5);
  one.fire(P::Timer::election);
  one.hear(2, VoteReply{{1}, true});
  one.hear(2, VoteReply{{1}, true});
  EXPECT_FALSE(one.node.leads());
  one.hear(3, VoteReply{{1}, true});
  EXPECT_TRUE(one.node.leads());
  EXPECT_EQ(one.told<Leading>(), (std::vector<Leading>{{1}}));
}

TEST(Raft, VotesOfAnEarlierTermDoNotCount_5_2) {
  Node one(1);
  one.fire(P::Timer::election);
  one.fire(P::Timer::election);
  one.hear(2, VoteReply{{1}, true});
  EXPECT_FALSE(one.node.leads());
}

TEST(Raft, GivesOneVoteInATermAndWritesItDownFirst_5_2) {
  Node two(2);
  two.hear(3, RequestVote{{1}, at(0, 0)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{1}, true}}));
  EXPECT_EQ(two.out.persisted->ballot, (Ballot{{1}, NodeId{3}}));
  EXPECT_TRUE(two.waits_anew());
  two.hear(1, RequestVote{{1}, at(0, 0)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{1}, false}}));
  EXPECT_FALSE(two.waits_anew());
}

TEST(Raft, ACandidateGivesWayToTheLeaderOfItsTerm_5_2) {
  Node two(2);
  two.fire(P::Timer::election);
  two.hear(1, P::Append{.term = {1}});
  EXPECT_EQ(two.node.known_leader(), NodeId{1});
}

TEST(Raft, TwoLeadersInATermStopTheNode_5_2) {
  Node one(1);
  one.become_leader(2);
  EXPECT_THROW(one.hear(3, P::Append{.term = {1}}), InvariantViolation);
}

// Section 5.3: replication.

TEST(Raft, ACommandOfTheLeaderTakesOneRoundTrip_5_3) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.propose(1);
  const P::Append expected = {
      .term = {1}, .previous = at(1, 1), .entries = {entry(1, command(1))}, .committed = {1}};
  EXPECT_EQ(one.sent<P::Append>(), std::vector<P::Append>(2, expected));
  EXPECT_EQ(one.out.persisted->log.last(), at(1, 2));
  one.matched(3, 2);
  EXPECT_EQ(one.told<P::Committed>(), (std::vector<P::Committed>{{2, command(1)}}));
  EXPECT_TRUE(one.out.sends.empty());
}

TEST(Raft, EntriesAreTakenOnlyWhereTheOneBeforeMatches_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {2}, .previous = at(1, 1), .entries = {entry(2)}});
  EXPECT_EQ(two.sent<AppendReply>(), (std::vector<AppendReply>{{.term = {2}}}));
  EXPECT_TRUE(two.node.log.entries.empty());
  two.hear(1, P::Append{.term = {2}, .entries = {entry(1), entry(2)}});
  EXPECT_EQ(two.sent<AppendReply>()[0].matched, Index{2});
  EXPECT_EQ(two.out.persisted->log.last(), at(2, 2));
}

TEST(Raft, ALaterLeaderRemovesWhatConflicts_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}});
  two.hear(3, P::Append{.term = {2}, .previous = at(1, 1), .entries = {entry(2)}});
  EXPECT_EQ(two.node.log.entries, (std::vector<P::Entry>{entry(1), entry(2)}));
}

TEST(Raft, AnOldShortMessageRemovesNothing_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}});
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  EXPECT_EQ(two.node.log.last_index(), Index{2});
}

TEST(Raft, ARefusedLeaderGoesBackToWhereTheLogsMayAgree_5_3) {
  Node one(1, 3, {.most_entries = 2, .pre_vote = false});
  one.hear(3, P::Append{.term = {1}, .entries = {entry(1), entry(1), entry(1), entry(1)}});
  one.become_leader(3);
  EXPECT_EQ(one.sent<P::Append>()[0].previous, at(1, 4));
  one.hear(2, AppendReply{.term = {2}, .hint = at(1, 1)});
  ASSERT_EQ(one.sent<P::Append>().size(), 1u);
  EXPECT_EQ(one.sent<P::Append>()[0].previous, at(1, 1));
  EXPECT_EQ(one.sent<P::Append>()[0].entries.size(), 2u);
  one.matched(2, 3);
  EXPECT_EQ(one.sent<P::Append>()[0].previous, at(1, 3));
  one.hear(2, AppendReply{.term = {2}, .hint = at(1, 1)});  // late: by now they agree up to 3
  EXPECT_EQ(one.sent<P::Append>()[0].previous, at(1, 3));
}

TEST(Raft, AHeartbeatFindsOutWhatWasLost_5_3) {
  Node one(1);
  one.become_leader(2);
  one.propose(1);
  one.fire(P::Timer::heartbeat);
  const auto beats = one.sent<P::Append>();
  ASSERT_EQ(beats.size(), 2u);
  EXPECT_TRUE(beats[0].entries.empty());
  EXPECT_EQ(beats[0].previous, at(1, 2));
  one.hear(2, AppendReply{.term = {1}, .hint = at(0, 0)});
  EXPECT_EQ(one.sent<P::Append>()[0].entries.size(), 2u);
}

TEST(Raft, AFollowerCommitsNoFurtherThanTheMessageVerified_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}});
  two.hear(3, P::Append{.term = {2}, .previous = at(1, 1), .committed = {2}});
  EXPECT_EQ(two.told<P::Committed>(), (std::vector<P::Committed>{{1, {}}}));
}

// Section 5.4: safety.

TEST(Raft, NoVoteForACandidateWhoseLogLacksSomething_5_4_1) {
  Node two(2);
  two.hear(1, P::Append{.term = {2}, .entries = {entry(2)}});
  two.hear(3, RequestVote{{3}, at(1, 5)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{3}, false}}));
  two.hear(1, RequestVote{{4}, at(2, 1)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{4}, true}}));
}

TEST(Raft, AnEntryOfAnEarlierTermIsCommittedOnlyWithOneOfThisTerm_5_4_2) {
  Node one(1, 5);
  one.hear(2, P::Append{.term = {2}, .entries = {entry(1), entry(2, command(1))}});
  one.fire(P::Timer::election);
  one.hear(2, VoteReply{{3}, true});
  one.hear(3, VoteReply{{3}, true});
  ASSERT_TRUE(one.node.leads());
  one.matched(2, 2);
  one.matched(3, 2);
  EXPECT_EQ(one.node.committed, Index{0});
  one.matched(2, 3);
  one.matched(3, 3);
  EXPECT_EQ(one.told<P::Committed>(), (std::vector<P::Committed>{{1, {}}, {2, command(1)}, {3, {}}}));
}

TEST(Raft, WhatIsCommittedIsNeverRemoved_5_4_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}, .committed = {1}});
  EXPECT_THROW(two.hear(3, P::Append{.term = {2}, .entries = {entry(2)}}), InvariantViolation);
}

TEST(Raft, ComesBackWithItsTermItsVoteAndItsLog_5_5) {
  P::Out out;
  const P::Durable durable = {{{4}, NodeId{3}}, {.entries = {entry(1), entry(4)}}};
  P node = P::recover({2}, NodeSet::range({1}, 3), {}, durable, out);
  EXPECT_EQ(node.committed, Index{0});
  node.on_message(out, {1}, RequestVote{{4}, at(4, 9)});
  EXPECT_FALSE(std::get<VoteReply>(out.sends[0].message).granted);
  EXPECT_EQ(node.log.last(), at(4, 2));
}

// Section 8: clients.

TEST(Raft, ALeaderBeginsWithAnEntryOfItsOwnTermAndTakesItsClientsCommandAlong_8) {
  Node one(1);
  one.propose(1);
  EXPECT_TRUE(one.out.sends.empty());
  one.become_leader(2);
  const P::Append expected = {.term = {1}, .entries = {entry(1), entry(1, command(1))}};
  EXPECT_EQ(one.sent<P::Append>(), std::vector<P::Append>(2, expected));
}

TEST(Raft, AFollowerForwardsToTheLeaderAndRepeatsItself_8) {
  Node two(2);
  two.propose(1);
  two.hear(1, P::Append{.term = {1}});
  EXPECT_EQ(two.sent<P::Forward>(), (std::vector<P::Forward>{{command(2)}}));
  two.hear(1, P::Append{.term = {1}});
  EXPECT_TRUE(two.sent<P::Forward>().empty());
  two.fire(P::Timer::retry);
  EXPECT_EQ(two.sent<P::Forward>().size(), 1u);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1, command(2))}, .committed = {1}});
  EXPECT_EQ(two.told<P::Committed>(), (std::vector<P::Committed>{{1, command(2)}}));
  two.fire(P::Timer::retry);
  EXPECT_TRUE(two.out.sends.empty());
}

TEST(Raft, WhoProposedIsToldAtOnceAndARepetitionTakesNoPlace_8) {
  Node one(1);
  one.become_leader(2);
  one.hear(2, P::Forward{command(2)});
  EXPECT_EQ(one.sent<P::Append>().size(), 2u);
  one.hear(2, P::Forward{command(2)});
  EXPECT_TRUE(one.out.sends.empty());
  one.matched(3, 2);
  ASSERT_EQ(one.out.sends.size(), 1u);
  EXPECT_EQ(one.out.sends[0].to, NodeId{2});
  EXPECT_EQ(one.sent<P::Append>()[0].committed, Index{2});
  one.hear(2, P::Forward{command(2)});
  EXPECT_TRUE(one.out.sends.empty());
}

TEST(Raft, ACommandThatIsInTheLogTwiceCountsOnce_8) {
  Node two(2);
  two.hear(1, P::Append{.term = {1},
                        .entries = {entry(1, command(3)), entry(1, command(3)), entry(1, command(3, 2))},
                        .committed = {3}});
  EXPECT_EQ(two.told<P::Committed>(),
            (std::vector<P::Committed>{{1, command(3)}, {2, {}}, {3, command(3, 2)}}));
}

// Pre-vote: section 9.6 of the thesis.

TEST(RaftPreVote, ChangesNoTermBeforeAMajorityWouldVote_9_6) {
  Node two(2, 3, {});
  two.fire(P::Timer::election);
  EXPECT_EQ(two.sent<P::PreVote>(), (std::vector<P::PreVote>(2, {{1}, at(0, 0)})));
  EXPECT_EQ(two.node.ballot.term, Term{0});
  two.hear(1, P::PreVoteReply{{1}, true});
  EXPECT_EQ(two.sent<RequestVote>().size(), 2u);
  EXPECT_EQ(two.node.ballot.term, Term{1});
}

TEST(RaftPreVote, WhoHasALeaderDoesNotEncourageOthersUntilItTimesOutItself_9_6) {
  Node two(2, 3, {});
  two.hear(1, P::Append{.term = {1}});
  two.hear(3, P::PreVote{{2}, at(0, 0)});
  EXPECT_EQ(two.sent<P::PreVoteReply>(), (std::vector<P::PreVoteReply>{{{1}, false}}));
  two.fire(P::Timer::election);
  two.hear(3, P::PreVote{{2}, at(0, 0)});
  EXPECT_EQ(two.sent<P::PreVoteReply>(), (std::vector<P::PreVoteReply>{{{2}, true}}));
  EXPECT_EQ(two.node.ballot, (Ballot{.term = {1}}));
}

TEST(RaftPreVote, NobodyEncouragesACandidateWhoseLogLacksSomething_9_6) {
  Node two(2, 3, {});
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  two.fire(P::Timer::election);
  two.hear(3, P::PreVote{{2}, at(0, 0)});
  EXPECT_FALSE(two.sent<P::PreVoteReply>()[0].granted);
}

}  // namespace
}  // namespace conclave::raft
