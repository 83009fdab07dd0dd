#include "protocols/consensus/paxos.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::consensus {
namespace {

using P = Paxos;

constexpr P::Ballot ballot(std::uint64_t round, std::uint32_t id) { return {round, {id}}; }

struct Node {
  P::Out out;
  P node;
  explicit Node(std::uint32_t id, std::uint32_t count = 3, const P::Setup& setup = {})
      : node(P::start({id}, NodeSet::range({1}, count), setup, out)) {
    out.clear();
  }
  template <class M>
  void hear(std::uint32_t from, const M& message) {
    out.clear();
    node.on_message(out, {from}, message);
  }
  void propose(Value value) {
    out.clear();
    node.on_command(out, Propose{value});
  }
  std::string sent() const { return describe_json(out.sends); }
  template <class M>
  std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        out.sends, [](const auto& send) { return std::holds_alternative<M>(send.message); }));
  }
};

TEST(Paxos, AsksEverybodyToPromiseABallotOfItsOwn) {
  Node two(2);
  two.propose(7);
  EXPECT_EQ(two.sent(), R"([{"to":1,"message":{"type":"Prepare","ballot":{"round":1,"node":2}}},)"
                        R"({"to":3,"message":{"type":"Prepare","ballot":{"round":1,"node":2}}}])");
  ASSERT_FALSE(two.out.writes.empty());
  EXPECT_EQ(two.out.writes.back().promised, ballot(1, 2));
}

TEST(Paxos, ProposesItsOwnValueIfAMajorityHasNotVoted) {
  Node one(1, 5);
  one.propose(7);
  one.hear(2, P::Promise{ballot(1, 1), {}});
  EXPECT_EQ(one.count<P::Accept>(), 0u);
  one.hear(2, P::Promise{ballot(1, 1), {}});  // heard twice, counted once
  EXPECT_EQ(one.count<P::Accept>(), 0u);
  one.hear(3, P::Promise{ballot(1, 1), {}});
  EXPECT_EQ(one.count<P::Accept>(), 4u);
  EXPECT_EQ(std::get<P::Accept>(one.out.sends[0].message).value, 7);
  EXPECT_EQ(one.out.writes.back().vote, (P::Vote{ballot(1, 1), 7}));
}

TEST(Paxos, ProposesTheValueOfTheHighestBallotReported) {
  Node five(5, 5);
  five.node.promised = ballot(3, 4);
  five.propose(7);
  five.hear(1, P::Promise{ballot(4, 5), P::Vote{ballot(2, 1), 11}});
  five.hear(2, P::Promise{ballot(4, 5), P::Vote{ballot(1, 2), 12}});
  ASSERT_EQ(five.count<P::Accept>(), 4u);
  EXPECT_EQ(std::get<P::Accept>(five.out.sends[0].message).value, 11);
}

TEST(Paxos, ReportsItsOwnVoteToItself) {
  Node one(1);
  one.hear(3, P::Accept{ballot(1, 3), 9});
  one.propose(7);
  one.hear(2, P::Promise{ballot(2, 1), {}});
  EXPECT_EQ(std::get<P::Accept>(one.out.sends[0].message).value, 9);
}

TEST(Paxos, DecidesWhenAMajorityHasVotedAndTellsTheOthers) {
  Node one(1);
  one.propose(7);
  one.hear(3, P::Promise{ballot(1, 1), {}});
  one.hear(2, P::Accepted{ballot(1, 1)});
  EXPECT_EQ(describe_json(one.out.events), R"([{"type":"Decided","value":7}])");
  EXPECT_EQ(one.count<P::Learn>(), 2u);
  one.hear(3, P::Accepted{ballot(1, 1)});
  EXPECT_TRUE(one.out.events.empty());
  EXPECT_TRUE(one.out.sends.empty());
}

TEST(Paxos, CountsNoVoteTwice) {
  Node one(1, 5);
  one.propose(7);
  one.hear(2, P::Promise{ballot(1, 1), {}});
  one.hear(3, P::Promise{ballot(1, 1), {}});
  one.hear(2, P::Accepted{ballot(1, 1)});
  one.hear(2, P::Accepted{ballot(1, 1)});
  EXPECT_FALSE(one.node.decided);
}

TEST(Paxos, PromisesTheHigherBallotOnlyAndWithItsLastVote) {
  Node two(2);
  two.hear(1, P::Prepare{ballot(3, 1)});
  EXPECT_EQ(two.sent(),
            R"([{"to":1,"message":{"type":"Promise","ballot":{"round":3,"node":1},"vote":null}}])");
  EXPECT_EQ(two.out.writes.back().promised, ballot(3, 1));
  two.hear(1, P::Accept{ballot(3, 1), 8});
  EXPECT_EQ(two.count<P::Accepted>(), 1u);
  EXPECT_EQ(two.out.writes.back().vote, (P::Vote{ballot(3, 1), 8}));
  two.hear(3, P::Prepare{ballot(2, 3)});
  EXPECT_EQ(two.sent(), R"([{"to":3,"message":{"type":"Refuse","promised":{"round":3,"node":1}}}])");
  two.hear(3, P::Prepare{ballot(3, 3)});
  ASSERT_EQ(two.count<P::Promise>(), 1u);
  EXPECT_EQ(std::get<P::Promise>(two.out.sends[0].message).vote, (P::Vote{ballot(3, 1), 8}));
}

TEST(Paxos, DoesNotVoteBelowItsPromise) {
  Node two(2);
  two.hear(3, P::Prepare{ballot(3, 3)});
  two.hear(1, P::Accept{ballot(2, 1), 8});
  EXPECT_EQ(two.count<P::Refuse>(), 1u);
  EXPECT_FALSE(two.node.vote);
}

TEST(Paxos, VotesInABallotThatItHasNotPromisedIfItIsHigher) {
  Node two(2);
  two.hear(1, P::Accept{ballot(2, 1), 8});
  EXPECT_EQ(two.count<P::Accepted>(), 1u);
  EXPECT_EQ(two.node.promised, ballot(2, 1));
}

TEST(Paxos, AnOvertakenProposerWaitsAndTriesAHigherBallot) {
  Node one(1);
  one.propose(7);
  one.hear(2, P::Refuse{ballot(5, 3)});
  EXPECT_FALSE(one.node.attempt);
  EXPECT_TRUE(one.out.sends.empty());
  ASSERT_EQ(one.out.armed.size(), 1u);
  one.hear(2, P::Promise{ballot(1, 1), {}});
  EXPECT_TRUE(one.out.sends.empty());
  one.out.clear();
  one.node.on_timer(one.out, P::Timer::retry);
  EXPECT_EQ(std::get<P::Prepare>(one.out.sends[0].message).ballot, ballot(6, 1));
}

TEST(Paxos, WaitsLongerWithEveryAttempt) {
  Node one(1);
  one.propose(7);
  const auto first = one.out.armed.back().after;
  one.out.clear();
  one.node.on_timer(one.out, P::Timer::retry);
  const auto second = one.out.armed.back().after;
  EXPECT_EQ(first.min, second.min);
  EXPECT_EQ(2 * first.max.count, second.max.count);
}

TEST(Paxos, ADuellistTriesAgainAtOnce) {
  Node one(1, 3, {.deviation = P::Deviation::duel});
  one.propose(7);
  one.hear(2, P::Prepare{ballot(1, 2)});
  EXPECT_EQ(one.count<P::Promise>(), 1u);
  EXPECT_EQ(one.count<P::Prepare>(), 2u);
  EXPECT_EQ(one.node.attempt->ballot, ballot(2, 1));
}

TEST(Paxos, WhoKnowsTheDecisionTellsWhoeverStillTries) {
  Node two(2);
  two.hear(1, P::Learn{4});
  EXPECT_EQ(describe_json(two.out.events), R"([{"type":"Decided","value":4}])");
  two.hear(3, P::Prepare{ballot(9, 3)});
  EXPECT_EQ(two.sent(), R"([{"to":3,"message":{"type":"Learn","value":4}}])");
  two.hear(3, P::Accept{ballot(9, 3), 5});
  EXPECT_EQ(two.count<P::Learn>(), 1u);
  two.hear(3, P::Ask{});
  EXPECT_EQ(two.count<P::Learn>(), 1u);
}

TEST(Paxos, WhoHeardNothingAsks) {
  Node two(2);
  two.node.on_timer(two.out, P::Timer::ask);
  EXPECT_EQ(two.count<P::Ask>(), 2u);
  EXPECT_EQ(two.out.armed.size(), 1u);
  two.hear(3, P::Ask{});
  EXPECT_TRUE(two.out.sends.empty());
}

TEST(Paxos, KeepsPromiseAndVoteOverACrash) {
  P::Out out;
  const P::Durable durable = {ballot(4, 3), P::Vote{ballot(2, 1), 8}, std::nullopt};
  P node = P::recover({2}, NodeSet::range({1}, 3), {}, durable, out);
  out.clear();
  node.on_message(out, {1}, P::Prepare{ballot(4, 1)});
  EXPECT_TRUE(std::holds_alternative<P::Refuse>(out.sends[0].message));
  out.clear();
  node.on_command(out, Propose{5});
  EXPECT_EQ(node.promised, ballot(5, 2));
  node.on_message(out, {3}, P::Promise{ballot(5, 2), {}});
  EXPECT_EQ(node.vote->value, 8);
}

TEST(Paxos, WithAmnesiaKeepsNothing) {
  Node one(1, 3, {.deviation = P::Deviation::amnesia});
  one.propose(7);
  EXPECT_TRUE(one.out.writes.empty());
}

TEST(Paxos, AnnouncesAgainWhatItHadDecidedBeforeACrash) {
  P::Out out;
  P::recover({2}, NodeSet::range({1}, 3), {}, {ballot(4, 3), std::nullopt, 6}, out);
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Decided","value":6}])");
}

TEST(Paxos, StopsIfItHearsOfTwoDecisions) {
  Node two(2);
  two.hear(1, P::Learn{4});
  EXPECT_THROW(two.hear(1, P::Learn{5}), InvariantViolation);
}

TEST(Paxos, AloneDecidesAtOnce) {
  Node one(1, 1);
  one.propose(3);
  EXPECT_EQ(describe_json(one.out.events), R"([{"type":"Decided","value":3}])");
}

TEST(Paxos, ProposesItsIdUnlessToldOtherwise) {
  EXPECT_EQ(P::client({4}, {}).value, 4);
  EXPECT_EQ(P::client({4}, {.values = {{NodeId{4}, -2}}}).value, -2);
}

}  // namespace
}  // namespace conclave::consensus
