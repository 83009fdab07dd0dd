#include "protocols/raft/raft.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

using P = Raft;
using conclave::log::Committed;
using conclave::log::Leading;
using conclave::log::Propose;

Command command(std::uint32_t client, std::uint64_t serial = 1) {
  return {{client}, serial, 1000ull * client + serial, {}};
}
Entry entry(std::uint64_t term, std::optional<Command> what = {}) { return {{term}, what, {}}; }
constexpr Position at(std::uint64_t term, std::uint64_t index) { return {{term}, {index}}; }

struct Node {
  P::Out out;
  P node;
  explicit Node(std::uint32_t id, std::uint32_t count = 3, const P::Setup& setup = {.pre_vote = false})
      : node(P::start({id}, NodeSet::range({1}, count), setup, out)) {
    out.clear();
  }
  // The disk takes no time.
  template <class Step>
  void take(Step&& step) {
    out.clear();
    step();
    hear_of_writes(node, out);
  }
  template <class M>
  void hear(std::uint32_t from, const M& message) {
    take([&] { node.on_message(out, {from}, message); });
  }
  template <class C>
  void ask(const C& command) {
    take([&] { node.on_command(out, command); });
  }
  void propose(std::uint64_t serial) { ask(Propose{serial, 1000ull * node.self.value + serial, {}}); }
  void fire(P::Timer timer) {
    take([&] { node.on_timer(out, timer); });
  }
  std::optional<Ballot> written_ballot() const {
    std::optional<Ballot> last;
    for (const Write& write : out.writes) {
      if (write.ballot) last = write.ballot;
    }
    return last;
  }
  Write::Tail written_tail() const {
    for (const Write& write : out.writes) {
      if (write.tail) return *write.tail;
    }
    return {};
  }
  void elect(std::uint32_t voter) { hear(voter, VoteReply{node.ballot.term, true, node.log.last()}); }
  void become_leader(std::uint32_t voter) {
    fire(P::Timer::election);
    elect(voter);
  }
  void matched(std::uint32_t from, std::uint64_t index) {
    hear(from, AppendReply{.term = node.ballot.term, .matched = Index{index}});
  }
  // Those that wait for the disk after those that do not.
  std::vector<P::Out::Send> sends() const {
    std::vector<P::Out::Send> all = out.early;
    all.insert(all.end(), out.sends.begin(), out.sends.end());
    return all;
  }
  template <class M>
  std::vector<M> sent() const {
    std::vector<M> list;
    for (const auto& send : sends()) {
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
  EXPECT_EQ(one.written_ballot(), (Ballot{.term = {7}}));
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
  EXPECT_EQ(two.written_ballot(), (Ballot{{1}, NodeId{2}}));
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
  EXPECT_EQ(two.written_ballot(), (Ballot{{1}, NodeId{3}}));
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
  one.matched(3, 1);
  one.propose(1);
  const P::Append expected = {
      .term = {1}, .previous = at(1, 1), .entries = {entry(1, command(1))}, .committed = {1}};
  EXPECT_EQ(one.sent<P::Append>(), std::vector<P::Append>(2, expected));
  EXPECT_EQ(one.written_tail(), (Write::Tail{{1}, {entry(1, command(1))}}));
  one.matched(3, 2);
  EXPECT_EQ(one.told<Committed>(), (std::vector<Committed>{{2, command(1)}}));
  EXPECT_EQ(one.sent<P::CommitNotice>(), std::vector<P::CommitNotice>(2, {at(1, 2)}));
  EXPECT_EQ(one.sends().size(), 2u);
}

TEST(Raft, EntriesAreTakenOnlyWhereTheOneBeforeMatches_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {2}, .previous = at(1, 1), .entries = {entry(2)}});
  EXPECT_EQ(two.sent<AppendReply>(), (std::vector<AppendReply>{{.term = {2}}}));
  EXPECT_TRUE(two.node.log.entries.empty());
  two.hear(1, P::Append{.term = {2}, .entries = {entry(1), entry(2)}});
  EXPECT_EQ(two.sent<AppendReply>()[0].matched, Index{2});
  EXPECT_EQ(two.written_tail(), (Write::Tail{{0}, {entry(1), entry(2)}}));
}

TEST(Raft, ALaterLeaderRemovesWhatConflicts_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}});
  two.hear(3, P::Append{.term = {2}, .previous = at(1, 1), .entries = {entry(2)}});
  EXPECT_EQ(two.node.log.entries, (Entries<Entry>{entry(1), entry(2)}));
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
  one.matched(2, 1);
  one.matched(3, 1);
  one.propose(1);
  one.fire(P::Timer::heartbeat);
  const auto beats = one.sent<P::Append>();
  ASSERT_EQ(beats.size(), 2u);
  EXPECT_TRUE(beats[0].entries.empty());
  EXPECT_EQ(beats[0].previous, at(1, 2));
  one.hear(2, AppendReply{.term = {1}, .hint = at(0, 0)});
  EXPECT_EQ(one.sent<P::Append>()[0].entries.size(), 1u);
}

TEST(Raft, AFollowerCommitsNoFurtherThanTheMessageVerified_5_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}});
  two.hear(3, P::Append{.term = {2}, .previous = at(1, 1), .committed = {2}});
  EXPECT_EQ(two.told<Committed>(), (std::vector<Committed>{{1, {}}}));
}

// Section 5.4: safety.

TEST(Raft, NoVoteForACandidateWhoseLogLacksSomething_5_4_1) {
  Node two(2);
  two.hear(1, P::Append{.term = {2}, .entries = {entry(2)}});
  two.hear(3, RequestVote{{3}, at(1, 5)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{3}, false}}));
  two.hear(1, RequestVote{{4}, at(2, 1)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{4}, true, at(2, 1)}}));
}

TEST(Raft, AnEntryOfAnEarlierTermIsCommittedOnlyWithOneOfThisTerm_5_4_2) {
  Node one(1, 5);
  one.hear(2, P::Append{.term = {2}, .entries = {entry(1), entry(2, command(1))}});
  one.fire(P::Timer::election);
  one.elect(2);
  one.elect(3);
  ASSERT_TRUE(one.node.leads());
  one.matched(2, 2);
  one.matched(3, 2);
  EXPECT_EQ(one.node.committed, Index{0});
  one.matched(2, 3);
  one.matched(3, 3);
  EXPECT_EQ(one.told<Committed>(), (std::vector<Committed>{{1, {}}, {2, command(1)}, {3, {}}}));
}

TEST(Raft, WhatIsCommittedIsNeverRemoved_5_4_3) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}, .committed = {1}});
  EXPECT_THROW(two.hear(3, P::Append{.term = {2}, .entries = {entry(2)}}), InvariantViolation);
}

TEST(Raft, ComesBackWithItsTermItsVoteAndItsLog_5_5) {
  P::Out out;
  const P::Durable durable = {.ballot = {{4}, NodeId{3}}, .log = {.entries = {entry(1), entry(4)}}};
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
  EXPECT_TRUE(one.sends().empty());
  one.become_leader(2);
  const P::Append expected = {.term = {1}, .entries = {entry(1), entry(1, command(1))}};
  EXPECT_EQ(one.sent<P::Append>(), std::vector<P::Append>(2, expected));
}

TEST(Raft, AFollowerForwardsToTheLeaderAndRepeatsItself_8) {
  Node two(2);
  two.propose(1);
  two.hear(1, P::Append{.term = {1}});
  EXPECT_EQ(two.sent<P::Forward>(), (std::vector<P::Forward>{{1, {command(2)}}}));
  two.hear(1, P::Append{.term = {1}});
  EXPECT_TRUE(two.sent<P::Forward>().empty());
  two.fire(P::Timer::retry);
  EXPECT_EQ(two.sent<P::Forward>().size(), 1u);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1, command(2))}, .committed = {1}});
  EXPECT_EQ(two.told<Committed>(), (std::vector<Committed>{{1, command(2)}}));
  two.fire(P::Timer::retry);
  EXPECT_TRUE(two.sends().empty());
}

TEST(Raft, ARepetitionTakesNoPlace_8) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.matched(3, 1);
  one.hear(2, P::Forward{1, {command(2)}});
  EXPECT_EQ(one.sent<P::Append>().size(), 2u);
  one.hear(2, P::Forward{1, {command(2)}});
  EXPECT_TRUE(one.sends().empty());
  one.matched(3, 2);
  EXPECT_EQ(one.told<Committed>(), (std::vector<Committed>{{2, command(2)}}));
  one.hear(2, P::Forward{1, {command(2)}});
  EXPECT_TRUE(one.sends().empty());
}

TEST(Raft, ACommandThatIsInTheLogTwiceCountsOnce_8) {
  Node two(2);
  two.hear(1, P::Append{.term = {1},
                        .entries = {entry(1, command(3)), entry(1, command(3)), entry(1, command(3, 2))},
                        .committed = {3}});
  EXPECT_EQ(two.told<Committed>(), (std::vector<Committed>{{1, command(3)}, {2, {}}, {3, command(3, 2)}}));
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

TEST(RaftPreVote, WhoeverMissesTheLeaderLaterAndLacksAnEntryIsAskedAgain) {
  Node two(2, 3, {});
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  two.fire(P::Timer::election);
  two.hear(3, P::PreVoteReply{{1}, false});  // it has a leader
  EXPECT_TRUE(two.sent<P::PreVote>().empty());
  two.hear(3, P::PreVote{{2}, at(0, 0)});  // not any more
  EXPECT_FALSE(two.sent<P::PreVoteReply>()[0].granted);
  EXPECT_EQ(two.sent<P::PreVote>(), (std::vector<P::PreVote>{{{2}, at(1, 1)}}));
  two.hear(3, P::PreVoteReply{{2}, true});
  EXPECT_EQ(two.sent<RequestVote>().size(), 2u);
}

TEST(RaftPreVote, NobodyEncouragesACandidateWhoseLogLacksSomething_9_6) {
  Node two(2, 3, {});
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  two.fire(P::Timer::election);
  two.hear(3, P::PreVote{{2}, at(0, 0)});
  EXPECT_FALSE(two.sent<P::PreVoteReply>()[0].granted);
}

// What goes to the leader is bounded.

Propose large(std::uint64_t serial, std::size_t size) {
  return {serial, 0, Payload(std::vector<std::uint8_t>(size, 7))};
}
std::vector<std::uint64_t> forwarded(const Node& node) {
  std::vector<std::uint64_t> serials;
  for (const auto& message : node.sent<P::Forward>())
    for (const Command& command : message.commands) serials.push_back(command.serial);
  return serials;
}

TEST(RaftForward, OnlySoMuchIsOnTheWayAndTheRestFollowsWhatIsInTheLog) {
  Node two(2, 3, {.most_bytes = 100, .most_forwarded = 150, .pre_vote = false});
  two.hear(1, P::Append{.term = {1}});
  std::vector<std::uint64_t> sent;
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    two.ask(large(serial, 80));
    std::ranges::copy(forwarded(two), std::back_inserter(sent));
  }
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{1, 2}));
  const Command first = two.node.wanted[0];
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1, first)}, .committed = {1}});
  EXPECT_EQ(forwarded(two), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(two.node.wanted_bytes, 320u);
}

TEST(RaftForward, ANewLeaderGetsItInMessagesThatAreNotTooLarge) {
  Node two(2, 3, {.most_bytes = 100, .most_forwarded = 1000, .pre_vote = false});
  for (std::uint64_t serial = 1; serial <= 5; ++serial) two.ask(large(serial, serial == 2 ? 300 : 40));
  two.hear(1, P::Append{.term = {1}});
  std::vector<std::size_t> sizes;
  for (const auto& message : two.sent<P::Forward>()) sizes.push_back(message.commands.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 2, 1}));
  EXPECT_EQ(forwarded(two), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(RaftSnapshots, KeepNoMoreBytesForThoseWhoAreBehindThanTheyMay) {
  Node one(1, 1, {.keep_entries = 10, .keep_bytes = 100, .pre_vote = false});
  one.fire(P::Timer::election);
  for (std::uint64_t serial = 1; serial <= 8; ++serial) one.ask(large(serial, 40));
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{});
  EXPECT_EQ(one.node.log.base.index, one.node.committed - 2);
}

// Freeing a million entries at once would be a pause for everybody.
TEST(RaftSnapshots, ReplaceEntriesALittleAtATimeButOnTheDiskAtOnce) {
  Node one(1, 1, {.keep_entries = 1, .most_dropped = 2, .pre_vote = false});
  one.fire(P::Timer::election);
  for (std::uint64_t serial = 1; serial <= 8; ++serial) one.ask(large(serial, 1));
  const Index end = one.node.committed;
  ASSERT_EQ(end, Index{9});
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{});
  EXPECT_EQ(one.node.log.base.index, Index{2});
  EXPECT_EQ(one.node.oldest_index(), 8u);
  EXPECT_EQ(one.out.writes.back().base, at(1, 8));
  EXPECT_EQ(one.node.preamble().base, at(1, 8));
  one.ask(large(9, 1));
  EXPECT_EQ(one.node.log.base.index, Index{4});
  one.ask(large(10, 1));
  one.ask(large(11, 1));
  EXPECT_EQ(one.node.log.base.index, Index{8});
  EXPECT_EQ(one.node.spare, Index{});
  one.ask(large(12, 1));
  EXPECT_EQ(one.node.log.base.index, Index{8});
}

// The disk: an entry counts as ours when our disk has it, and not before.

TEST(RaftDisk, ALeaderSendsBeforeItsDiskHasWrittenAndCountsItselfAfter) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.matched(3, 1);
  one.out.clear();
  one.node.on_command(one.out, Propose{1, 1001, {}});
  EXPECT_EQ(one.out.early.size(), 2u);
  EXPECT_TRUE(one.out.sends.empty());
  one.node.on_message(one.out, {2}, AppendReply{.term = {1}, .matched = Index{2}});
  EXPECT_EQ(one.node.committed, Index{1}) << "one of three has it";
  one.node.on_synced(one.out, P::mark(one.out.writes.back()));
  EXPECT_EQ(one.node.committed, Index{2});
}

TEST(RaftDisk, AServerAloneCommitsOnlyWhatItsDiskHas) {
  P::Out out;
  P node = P::start({1}, {{1}}, {}, out);
  node.on_timer(out, P::Timer::election);
  EXPECT_FALSE(node.leads()) << "its own vote is not on disk";
  node.on_synced(out, P::mark(out.writes.back()));
  ASSERT_TRUE(node.leads());
  EXPECT_EQ(node.committed, Index{0});
  node.on_synced(out, P::mark(out.writes.back()));
  EXPECT_EQ(node.committed, Index{1});
}

TEST(RaftDisk, ACandidateAsksWhileItsDiskWritesAndLeadsWhenItHasItsVote) {
  Node one(1);
  one.node.on_timer(one.out, P::Timer::election);
  EXPECT_EQ(one.out.early.size(), 2u);
  EXPECT_TRUE(one.out.sends.empty());
  for (const std::uint32_t voter : {2, 3}) one.node.on_message(one.out, {voter}, VoteReply{{1}, true});
  EXPECT_FALSE(one.node.leads()) << "a majority without it is not enough";
  one.node.on_synced(one.out, P::mark(one.out.writes.back()));
  EXPECT_TRUE(one.node.leads());
}

TEST(RaftDisk, AVoteForALogThatACrashHasShortenedDoesNotCount) {
  P::Out out;
  const P::Durable durable = {.ballot = {.term = {1}}, .log = {.entries = {entry(1)}}};
  P node = P::recover({1}, NodeSet::range({1}, 3), {.pre_vote = false}, durable, out);
  node.on_timer(out, P::Timer::election);  // as before the crash, when there were two entries
  node.on_synced(out, P::mark(out.writes.back()));
  node.on_message(out, {2}, VoteReply{{2}, true, at(1, 2)});
  EXPECT_FALSE(node.leads());
  node.on_message(out, {3}, VoteReply{{2}, true, at(1, 1)});
  EXPECT_TRUE(node.leads());
}

TEST(RaftDisk, WhoAsksAgainInATermIsJudgedByTheLogThatItHasNow) {
  Node two(2);
  two.hear(3, P::Append{.term = {1}, .entries = {entry(1), entry(1)}});
  two.hear(1, RequestVote{{2}, at(1, 2)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{2}, true, at(1, 2)}}));
  two.hear(1, RequestVote{{2}, at(1, 1)});
  EXPECT_EQ(two.sent<VoteReply>(), (std::vector<VoteReply>{{{2}, false}}));
}

TEST(RaftDisk, WhatAnEarlierTermWroteSaysNothingOfThisOne) {
  P::Out out;
  P node = P::start({1}, {{1}}, {}, out);
  node.on_timer(out, P::Timer::election);
  node.on_synced(out, P::mark(out.writes.back()));
  node.on_synced(out, Write::Mark{{0}, {1}});
  EXPECT_EQ(node.committed, Index{0});
}

// Flow control.

TEST(RaftFlow, AServerThatIsProbedGetsOneMessageUntilItAnswers) {
  Node one(1);
  one.become_leader(2);
  one.propose(1);
  EXPECT_TRUE(one.sends().empty());
  one.matched(2, 1);
  ASSERT_EQ(one.sent<P::Append>().size(), 1u);
  EXPECT_EQ(one.sent<P::Append>()[0].entries.size(), 1u);
}

TEST(RaftFlow, BeyondTheBoundEntriesGatherAndGoTogether) {
  Node one(1, 3, {.most_unanswered = 2, .pre_vote = false});
  one.become_leader(2);
  one.matched(2, 1);
  std::size_t to_two = 0;
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    one.propose(serial);
    to_two += one.sends().size();
  }
  EXPECT_EQ(to_two, 2u);
  one.matched(2, 2);
  ASSERT_EQ(one.sent<P::Append>().size(), 1u);
  EXPECT_EQ(one.sent<P::Append>()[0].entries.size(), 3u);
}

// What is committed, everybody hears at once.

// Leads three servers in term 1, and what began the term is committed and known.
Node leader_of_three(const P::Setup& setup = {.pre_vote = false}) {
  Node one(1, 3, setup);
  one.become_leader(2);
  one.matched(2, 1);
  one.matched(3, 1);
  EXPECT_EQ(one.node.committed, Index{1});
  return one;
}
std::vector<NodeId> told_by_notice(const Node& node) {
  std::vector<NodeId> peers;
  for (const auto& send : node.out.early) {
    if (P::is_notice(send.message)) peers.push_back(send.to);
  }
  return peers;
}

TEST(RaftNotice, EverybodyHearsOfACommitOnceAndNobodyAnswers) {
  Node one = leader_of_three();
  one.propose(1);
  one.matched(2, 2);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{2}, {3}})) << "3 has been sent the entry";
  EXPECT_EQ(one.sends().size(), 2u);
  Node three(3);
  three.hear(1, P::Append{.term = {1}, .entries = {entry(1), entry(1, command(1))}, .committed = {1}});
  three.hear(1, one.sent<P::CommitNotice>().at(1));
  EXPECT_EQ(three.told<Committed>(), (std::vector<Committed>{{2, command(1)}}));
  EXPECT_TRUE(three.sends().empty());
  EXPECT_FALSE(three.waits_anew()) << "of whether somebody leads it says nothing";
  three.hear(1, P::CommitNotice{at(1, 2)});
  EXPECT_TRUE(three.told<Committed>().empty());
  one.matched(3, 2);
  EXPECT_TRUE(one.sends().empty());
  one.fire(P::Timer::heartbeat);
  EXPECT_TRUE(told_by_notice(one).empty());
}

TEST(RaftNotice, EntriesThatLeaveAnywaySayItToo) {
  Node one = leader_of_three({.most_unanswered = 1, .pre_vote = false});
  for (const std::uint64_t serial : {1, 2}) one.propose(serial);
  one.matched(2, 2);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{3}}));
  const auto appends = one.sent<P::Append>();
  ASSERT_EQ(appends.size(), 1u);
  EXPECT_EQ(appends[0].entries.size(), 1u);
  EXPECT_EQ(appends[0].committed, Index{2});
}

TEST(RaftNotice, TheNextRoundOfReadsSaysItToo) {
  Node one = leader_of_three();
  one.propose(1);
  for (const std::uint64_t serial : {1, 2}) one.ask(conclave::log::Read{serial});
  one.hear(2, AppendReply{.term = {1}, .matched = Index{2}, .round = 1});
  EXPECT_TRUE(told_by_notice(one).empty());
  const auto appends = one.sent<P::Append>();
  ASSERT_EQ(appends.size(), 2u);
  EXPECT_EQ(appends[1].committed, Index{2});
  EXPECT_EQ(appends[1].round, 2u);
}

TEST(RaftNotice, WhoWasSentOnlyAPartHearsOfThatPart) {
  Node one = leader_of_three({.most_unanswered = 2, .pre_vote = false});
  for (const std::uint64_t serial : {1, 2}) one.propose(serial);
  one.matched(2, 3);
  for (const std::uint64_t serial : {3, 4}) one.propose(serial);
  one.matched(2, 5);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{2}})) << "3 has been told of all that it was sent";
  EXPECT_EQ(one.sent<P::CommitNotice>()[0].last, at(1, 5));
  one.matched(3, 2);
  ASSERT_EQ(one.sent<P::Append>().size(), 1u);
  EXPECT_EQ(one.sent<P::Append>()[0].committed, Index{5});
  EXPECT_TRUE(told_by_notice(one).empty());
}

TEST(RaftNotice, WhoIsProbedIsToldWhatItsLogCanTellToBeTrue) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{2}, {3}})) << "3 has not answered yet";
  Node three(3);
  three.hear(2, P::Append{.term = {1}, .entries = {entry(1)}});
  for (const Position elsewhere : {at(2, 1), at(1, 2), at(2, 2)}) three.hear(1, P::CommitNotice{elsewhere});
  EXPECT_EQ(three.node.committed, Index{0});
}

TEST(RaftNotice, NoneGoesToWhoGetsASnapshot) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{Payload(std::vector<std::uint8_t>{7})});
  one.hear(3, AppendReply{.term = {1}, .hint = at(0, 0)});
  ASSERT_EQ(one.sent<P::InstallSnapshot>().size(), 1u);
  one.propose(1);
  one.matched(2, 2);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{2}}));
}

TEST(RaftNotice, LearnersHearItToo) {
  Node one = leader_of_three();
  one.ask(conclave::log::Reconfigure{.voters = {{1}, {2}, {3}}, .learners = {{4}}});
  for (std::uint64_t index = 2; index <= 3; ++index) {
    one.matched(4, index);
    one.matched(2, index);
  }
  one.propose(1);
  one.matched(2, 4);
  EXPECT_EQ(told_by_notice(one), (std::vector<NodeId>{{2}, {3}, {4}}));
}

// A leader looks at its own disk first, and would miss what a change of the members asks of it.
TEST(RaftNotice, ALeaderBelievesNone) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  two.become_leader(3);
  ASSERT_TRUE(two.node.leads());
  two.hear(1, P::CommitNotice{at(1, 1)});
  EXPECT_EQ(two.node.committed, Index{0});
}

TEST(RaftNotice, WhoeverReadsElsewhereNeedNotWaitForAHeartbeat) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}});
  two.ask(conclave::log::Read{1});
  two.hear(1, P::IndexReply{1, {1}});
  two.hear(1, P::CommitNotice{at(1, 1)});
  EXPECT_EQ(two.told<conclave::log::Readable>(), (std::vector<conclave::log::Readable>{{1, 1}}));
}

// Clients: exactly once, in order.

TEST(RaftClients, ACommandWhosePredecessorWasLostWaitsForIt) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.hear(2, P::Forward{1, {command(2, 2)}});
  EXPECT_EQ(one.node.log.last_index(), Index{1});
  one.hear(2, P::Forward{1, {command(2, 1), command(2, 2)}});
  EXPECT_EQ(one.node.log.last_index(), Index{3});
}

TEST(RaftClients, WhatAClientGaveUpLeavesAGap) {
  Node one(1);
  one.become_leader(2);
  one.hear(2, P::Forward{7, {command(2, 7), command(2, 8)}});
  EXPECT_EQ(one.node.log.last_index(), Index{3});
}

// Stepping down: thesis, 6.2.

TEST(RaftQuorumCheck, ALeaderThatNobodyAnswersStepsDown_6_2) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.fire(P::Timer::quorum);
  EXPECT_TRUE(one.node.leads());
  one.fire(P::Timer::quorum);
  EXPECT_FALSE(one.node.leads());
  EXPECT_TRUE(one.waits_anew());
}

TEST(RaftQuorumCheck, ALeaderWhoseDiskStandsStillStepsDown_6_2) {
  Node one(1);
  one.become_leader(2);
  one.out.clear();
  one.node.on_command(one.out, Propose{1, 1001, {}});  // and the disk never has it
  for (int look = 0; look < 2; ++look) {
    one.node.on_message(one.out, {2}, AppendReply{.term = {1}, .matched = Index{2}});
    EXPECT_TRUE(one.node.leads());
    one.node.on_timer(one.out, P::Timer::quorum);
  }
  EXPECT_FALSE(one.node.leads());
}

TEST(RaftSuspicion, WhoeverComesFirstAsksAtOnceAndTheNextALittleLater) {
  for (std::uint32_t id : {2u, 3u}) {
    Node node(id, 3, {.stagger_ticks = 10});
    node.hear(1, P::Append{.term = {1}});
    node.ask(conclave::log::Suspect{{1}});
    EXPECT_EQ(node.node.known_leader(), std::nullopt);
    ASSERT_TRUE(node.waits_anew());
    EXPECT_EQ(node.out.armed.back().after.max.count, id == 2 ? 0u : 10u);
  }
}

// Transfer of the lead: thesis, 3.10.

TEST(RaftTransfer, TheHeirStandsOnceItHasEverything_3_10) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.propose(1);
  one.ask(conclave::log::Transfer{{2}});
  EXPECT_TRUE(one.sent<P::TimeoutNow>().empty());
  one.propose(2);
  EXPECT_EQ(one.node.log.last_index(), Index{2}) << "takes nothing that the heir would have to fetch";
  one.matched(2, 2);
  EXPECT_EQ(one.sent<P::TimeoutNow>().size(), 1u);
  Node two(2);
  two.hear(1, P::Append{.term = {1}});
  two.hear(1, P::TimeoutNow{{1}});
  EXPECT_EQ(two.sent<RequestVote>().size(), 2u);
}

TEST(RaftTransfer, IsGivenUpWhenTheHeirDoesNotStand_3_10) {
  Node one(1);
  one.become_leader(2);
  one.ask(conclave::log::Transfer{{2}});
  one.fire(P::Timer::transfer);
  one.propose(1);
  EXPECT_EQ(one.node.log.last_index(), Index{2});
}

// Members: thesis, 4.3.

TEST(RaftMembers, AChangeNeedsBothMajoritiesAndThenFinishesItself_4_3) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Reconfigure{.voters = {{1}, {4}, {5}}});
  EXPECT_TRUE(one.node.configuration.joint());
  EXPECT_EQ(one.node.configuration.everybody(), NodeSet::range({1}, 5));
  one.matched(4, 2);
  EXPECT_EQ(one.node.committed, Index{1}) << "the old majority has not agreed";
  one.matched(2, 2);
  EXPECT_EQ(one.node.committed, Index{2});
  EXPECT_EQ(one.node.configuration, (Configuration{.voters = {{1}, {4}, {5}}}));
  one.matched(4, 3);
  EXPECT_EQ(one.node.committed, Index{3});
  EXPECT_TRUE(one.node.leads());
}

TEST(RaftMembers, OneChangeAtATimeAndNoneBeforeTheTermHasBegun_4_3) {
  Node one(1);
  one.become_leader(2);
  one.ask(conclave::log::Reconfigure{.voters = {{1}, {2}}});
  EXPECT_FALSE(one.node.configuration.joint());
  one.matched(2, 1);
  one.ask(conclave::log::Reconfigure{.voters = {{1}, {2}}});
  EXPECT_TRUE(one.node.configuration.joint());
  one.ask(conclave::log::Reconfigure{.voters = {{1}}});
  EXPECT_EQ(one.node.log.last_index(), Index{2});
}

TEST(RaftMembers, ALeaderThatIsNoMemberAnyMoreLeadsUntilThatIsCommitted_4_3) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Reconfigure{.voters = {{2}, {3}}});
  one.matched(2, 2);
  one.matched(3, 2);
  EXPECT_TRUE(one.node.leads());
  one.matched(2, 3);
  EXPECT_TRUE(one.node.leads());
  one.matched(3, 3);
  EXPECT_FALSE(one.node.leads());
  one.fire(P::Timer::election);
  EXPECT_TRUE(one.sends().empty()) << "who has no vote does not stand";
}

TEST(RaftMembers, AChangeThatIsRemovedFromTheLogNeverWas_4_3) {
  Node two(2);
  const Configuration before = two.node.configuration;
  const Configuration joint = before.joint_with({{2}, {3}}, {});
  two.hear(1, P::Append{.term = {1}, .entries = {{{1}, {}, joint}}});
  EXPECT_EQ(two.node.configuration, joint);
  two.hear(3, P::Append{.term = {2}, .entries = {entry(2)}});
  EXPECT_EQ(two.node.configuration, before);
}

TEST(RaftMembers, WhoAloneHasTheEntryThatTakesItsVoteStandsOnceMore_4_2_2) {
  Node one(1);
  const Configuration joint = one.node.configuration.joint_with({{2}, {3}}, {});
  one.hear(2,
           P::Append{.term = {1}, .entries = {{{1}, {}, joint}, {{1}, {}, joint.final()}}, .committed = {1}});
  one.fire(P::Timer::election);
  EXPECT_EQ(one.sent<RequestVote>().size(), 2u);
  one.elect(2);
  EXPECT_FALSE(one.node.leads()) << "its own vote does not count";
  one.elect(3);
  EXPECT_TRUE(one.node.leads());
}

// Reads: thesis, 6.4.

TEST(RaftReads, AReadWaitsForARoundThatBeganAfterIt_6_4) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Read{1});
  EXPECT_TRUE(one.told<conclave::log::Readable>().empty());
  one.ask(conclave::log::Read{2});
  one.hear(2, AppendReply{.term = {1}, .matched = Index{1}, .round = 0});
  EXPECT_TRUE(one.told<conclave::log::Readable>().empty()) << "an answer from before the question";
  one.hear(2, AppendReply{.term = {1}, .matched = Index{1}, .round = 1});
  EXPECT_EQ(one.told<conclave::log::Readable>(), (std::vector<conclave::log::Readable>{{1, 1}}));
  one.hear(3, AppendReply{.term = {1}, .matched = Index{1}, .round = 2});
  EXPECT_EQ(one.told<conclave::log::Readable>(), (std::vector<conclave::log::Readable>{{2, 1}}));
}

TEST(RaftReads, AFollowerAsksTheLeaderAndCatchesUpFirst_6_4) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}});
  two.ask(conclave::log::Read{1});
  EXPECT_EQ(two.sent<P::AskIndex>(), (std::vector<P::AskIndex>{{1}}));
  two.hear(1, P::IndexReply{1, {1}});
  EXPECT_TRUE(two.told<conclave::log::Readable>().empty());
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}, .committed = {1}});
  EXPECT_EQ(two.told<conclave::log::Readable>(), (std::vector<conclave::log::Readable>{{1, 1}}));
}

TEST(RaftReads, BeforeItsFirstEntryIsCommittedALeaderAnswersNothing_6_4) {
  Node one(1);
  one.become_leader(2);
  one.ask(conclave::log::Read{1});
  one.hear(2, AppendReply{.term = {1}, .hint = at(0, 0), .round = 1});
  EXPECT_TRUE(one.told<conclave::log::Readable>().empty());
  one.matched(2, 1);
  EXPECT_EQ(one.told<conclave::log::Readable>().size(), 1u);
}

// Nobody may be forgotten who asks.

using conclave::log::Read;
using conclave::log::Readable;

TEST(RaftReads, ANewLeaderAsksAnewWhatItAskedTheFormerOne) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}});
  two.ask(Read{1});
  two.ask(Read{2});
  two.become_leader(3);
  for (const P::Append& append : two.sent<P::Append>()) EXPECT_EQ(append.round, 1u);
  two.hear(3, AppendReply{.term = {2}, .matched = Index{1}, .round = 1});
  EXPECT_EQ(two.told<Readable>(), (std::vector<Readable>{{1, 1}, {2, 1}}));
}

TEST(RaftReads, AServerAloneAnswersWhatWasAskedBeforeItLed) {
  Node one(1, 1);
  one.ask(Read{1});
  one.ask(Read{2});
  one.fire(P::Timer::election);
  EXPECT_TRUE(one.node.leads());
  EXPECT_TRUE(one.node.asked.empty());
}

TEST(RaftReads, NoOtherTrafficPutsOffTheTimeToAskAgain) {
  const auto times_retry_was_set = [](const Node& node) {
    return std::ranges::count(node.out.armed, P::Timer::retry, &P::Out::Arm::timer);
  };
  Node two(2);
  two.hear(1, P::Append{.term = {1}});
  two.ask(Read{1});
  EXPECT_EQ(times_retry_was_set(two), 1);
  two.propose(1);
  EXPECT_EQ(times_retry_was_set(two), 0);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1, command(2))}, .committed = {1}});
  ASSERT_TRUE(two.node.wanted.empty());
  two.propose(2);
  EXPECT_EQ(times_retry_was_set(two), 0);
  EXPECT_TRUE(two.out.disarmed.empty());
  two.fire(P::Timer::retry);
  EXPECT_EQ(two.sent<P::AskIndex>(), (std::vector<P::AskIndex>{{1}}));
  EXPECT_EQ(times_retry_was_set(two), 1);
}

TEST(RaftReads, AHeartbeatBeginsALostRoundAgain) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(Read{1});
  one.fire(P::Timer::heartbeat);
  ASSERT_EQ(one.sent<P::Append>().size(), 2u);
  EXPECT_EQ(one.sent<P::Append>()[1].round, 1u);
}

// 1 led a term whose first entry, at place 3, is lost with it. Nobody's log gets there unless somebody
// proposes something.
TEST(RaftReads, AnAnswerOfAFormerLeaderDoesNotKeepAwayThatOfTheNext) {
  Node two(2);
  two.hear(1, P::Append{.term = {1}, .entries = {entry(1)}, .committed = {1}});
  two.ask(Read{1});
  two.hear(1, P::IndexReply{1, {3}});
  two.hear(3, P::Append{.term = {2}, .previous = at(1, 1), .entries = {entry(2)}, .committed = {2}});
  EXPECT_EQ(two.sent<P::AskIndex>(), (std::vector<P::AskIndex>{{1}}));
  two.hear(1, P::IndexReply{1, {4}});
  EXPECT_TRUE(two.told<Readable>().empty()) << "late, and farther";
  two.hear(3, P::IndexReply{1, {2}});
  EXPECT_EQ(two.told<Readable>(), (std::vector<Readable>{{1, 2}}));
}

TEST(RaftReads, WhoeverGetsASnapshotAnswersRounds) {
  Node one(1, 3, {.part_bytes = 1, .pre_vote = false});
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{Payload(std::vector<std::uint8_t>{7, 8})});
  one.hear(3, AppendReply{.term = {1}, .hint = at(0, 0)});
  one.ask(Read{1});
  const auto signs = one.sent<P::Append>();
  ASSERT_EQ(signs.size(), 2u);
  EXPECT_TRUE(one.sent<P::InstallSnapshot>().empty());
  Node three(3);
  three.hear(1, signs[1]);
  ASSERT_EQ(three.sent<AppendReply>().size(), 1u);
  one.hear(3, three.sent<AppendReply>()[0]);
  EXPECT_EQ(one.told<Readable>(), (std::vector<Readable>{{1, 1}}));
  EXPECT_EQ(one.sent<P::InstallSnapshot>().size(), 1u) << "what may have been lost comes again";
}

// The last one that could have answered leaves before it does, and nobody else ever answers.
TEST(RaftReads, ARoundEndsWhenThoseWhoLackHaveNoVoteAnyMore) {
  Node one(1, 2);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Reconfigure{.voters = {{1}}});
  one.ask(Read{1});
  EXPECT_TRUE(one.told<Readable>().empty());
  one.matched(2, 2);
  EXPECT_EQ(one.told<Readable>(), (std::vector<Readable>{{1, 1}}));
  one.ask(Read{2});
  EXPECT_EQ(one.told<Readable>(), (std::vector<Readable>{{2, 3}}));
}

TEST(RaftTransfer, SeveralWishesHoldUpProposalsNoLongerThanOne) {
  Node one(1);
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Transfer{{3}});
  EXPECT_EQ(std::ranges::count(one.out.armed, P::Timer::transfer, &P::Out::Arm::timer), 1);
  one.ask(conclave::log::Transfer{{2}});
  EXPECT_EQ(std::ranges::count(one.out.armed, P::Timer::transfer, &P::Out::Arm::timer), 0);
  EXPECT_EQ(std::get<P::Leader>(one.node.role).heir, NodeId{2});
}

// Snapshots: section 7.

Payload bytes(std::initializer_list<std::uint8_t> list) { return Payload(std::vector(list)); }

TEST(RaftSnapshots, ReplaceTheLogAndKeepWhatFollows_7) {
  Node one(1, 3, {.keep_entries = 1, .pre_vote = false});
  one.become_leader(2);
  one.matched(2, 1);
  one.propose(1);
  one.matched(2, 2);
  one.ask(conclave::log::Capture{});
  one.propose(2);
  one.matched(2, 3);
  one.ask(conclave::log::Compact{bytes({7})});
  EXPECT_EQ(one.node.log.base, at(1, 1)) << "one entry before its end is kept";
  EXPECT_EQ(one.node.snapshot->last, at(1, 2));
  EXPECT_TRUE(one.node.snapshot->sessions.applied({1}, 1));
  EXPECT_FALSE(one.node.snapshot->sessions.applied({1}, 2));
  ASSERT_EQ(one.out.writes.size(), 1u);
  EXPECT_EQ(one.out.writes[0].snapshot, one.node.snapshot);
}

TEST(RaftSnapshots, GoInPartsToWhoNeedsWhatTheLogNoLongerHas_7) {
  Node one(1, 3, {.part_bytes = 2, .pre_vote = false});
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{bytes({7, 8, 9})});
  one.hear(3, AppendReply{.term = {1}, .hint = at(0, 0)});
  auto parts = one.sent<P::InstallSnapshot>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].part, bytes({7, 8}));
  Node three(3);
  three.hear(1, parts[0]);
  ASSERT_EQ(three.sent<P::SnapshotReply>(), (std::vector<P::SnapshotReply>{{{1}, {1}, 2}}));
  one.hear(3, three.sent<P::SnapshotReply>()[0]);
  parts = one.sent<P::InstallSnapshot>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].offset, 2u);
  three.hear(1, parts[0]);
  EXPECT_EQ(three.told<conclave::log::Restored>(),
            (std::vector<conclave::log::Restored>{{1, bytes({7, 8, 9})}}));
  EXPECT_EQ(three.node.committed, Index{1});
  EXPECT_EQ(three.node.log.base, at(1, 1));
  one.hear(3, three.sent<AppendReply>()[0]);
  one.propose(1);
  EXPECT_EQ(one.sent<P::Append>().size(), 2u);
}

TEST(RaftSnapshots, APartThatWasLostIsSentAgainAndOneThatCameTwiceAsksForNothing_7) {
  Node one(1, 3, {.part_bytes = 1, .pre_vote = false});
  one.become_leader(2);
  one.matched(2, 1);
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{bytes({7, 8, 9})});
  one.hear(3, AppendReply{.term = {1}, .hint = at(0, 0)});
  one.hear(3, P::SnapshotReply{{1}, {1}, 1});
  EXPECT_EQ(one.sent<P::InstallSnapshot>().size(), 1u);
  one.hear(3, P::SnapshotReply{{1}, {1}, 1});
  EXPECT_TRUE(one.sends().empty());
  one.fire(P::Timer::heartbeat);
  one.hear(3, AppendReply{.term = {1}, .hint = at(0, 0)});
  ASSERT_EQ(one.sent<P::InstallSnapshot>().size(), 1u);
  EXPECT_EQ(one.sent<P::InstallSnapshot>()[0].offset, 1u);
}

TEST(RaftSnapshots, AServerComesBackWithItsSnapshotAndWhatFollows_7) {
  P::Durable disk;
  disk.take(
      {.ballot = Ballot{{2}, {}}, .tail = Write::Tail{{0}, {entry(1), entry(1, command(3)), entry(2)}}});
  disk.take(
      {.snapshot =
           Snapshot{.last = at(1, 2), .configuration = {.voters = {{2}, {3}}}, .state = Bulk(bytes({5}))},
       .base = at(1, 2)});
  P::Out out;
  const P node = P::recover({2}, NodeSet::range({1}, 3), {}, disk, out);
  EXPECT_EQ(node.committed, Index{2});
  EXPECT_EQ(node.log.last(), at(2, 3));
  EXPECT_EQ(node.configuration.voters, (NodeSet{{2}, {3}}));
  EXPECT_EQ(std::get<conclave::log::Restored>(out.events.at(0)), (conclave::log::Restored{2, bytes({5})}));
}

// Seed 1399 of three servers without pre-vote: a late answer of the term before, with a greater round, was
// taken for one to a question of this term.
TEST(Raft, ARoundOfAnEarlierTermIsNoAnswerInThisOne) {
  Node two(2);
  two.hear(1, RequestVote{{2}, at(0, 0)});
  two.hear(1, P::Append{.term = {1}, .round = 5});
  EXPECT_EQ(two.sent<AppendReply>().at(0).term, Term{2});
  EXPECT_EQ(two.sent<AppendReply>().at(0).round, 0u);
  two.hear(1, P::Append{.term = {2}, .round = 1});
  EXPECT_EQ(two.sent<AppendReply>().at(0).round, 1u);
}

// Seed 5989 of five servers: nobody ended the change, and no other could begin.
TEST(Raft, ANewLeaderEndsAChangeWhoseFirstHalfIsCommittedAlready) {
  Node two(2);
  Entry joint = entry(1);
  joint.configuration = Configuration{.voters = {{1}, {2}}, .outgoing = {{1}, {2}, {3}}};
  two.hear(3, P::Append{.term = {1}, .entries = {entry(1), joint}, .committed = {2}});
  ASSERT_EQ(two.node.committed, Index{2});
  two.become_leader(1);
  ASSERT_TRUE(two.node.leads());
  two.matched(1, 3);
  EXPECT_EQ(two.node.committed, Index{3});
  EXPECT_EQ(two.node.configured, Index{4});
  EXPECT_EQ(two.node.configuration, (Configuration{.voters = {{1}, {2}}}));
}

}  // namespace
}  // namespace conclave::raft
