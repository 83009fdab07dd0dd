#include "protocols/log/multi_paxos.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::log {
namespace {

using P = MultiPaxos;

constexpr P::Ballot ballot(std::uint64_t round, std::uint32_t id) { return {round, {id}}; }
Entry entry(std::uint32_t client, std::uint64_t serial = 1) {
  return {{client}, serial, 1000ull * client + serial};
}

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
  void propose(std::uint64_t serial) {
    out.clear();
    node.on_command(out, Propose{serial, 1000ull * node.self.value + serial});
  }
  void fire(P::Timer timer) {
    out.clear();
    node.on_timer(out, timer);
  }
  // Elected by one other node that has nothing to report.
  void become_leader(std::uint32_t voter) {
    fire(P::Timer::election);
    hear(voter, P::Promise{.ballot = node.promised, .from = node.first_open()});
  }
  template <class M>
  std::vector<std::pair<NodeId, M>> sent() const {
    std::vector<std::pair<NodeId, M>> list;
    for (const auto& send : out.sends) {
      if (const auto* message = std::get_if<M>(&send.message)) list.emplace_back(send.to, *message);
    }
    return list;
  }
  std::vector<Committed> committed() const {
    std::vector<Committed> list;
    for (const auto& event : out.events) {
      if (const auto* which = std::get_if<Committed>(&event)) list.push_back(*which);
    }
    return list;
  }
};

TEST(MultiPaxos, AsksForPromisesWhenItHearsOfNoLeader) {
  Node two(2);
  two.fire(P::Timer::election);
  EXPECT_EQ(two.sent<P::Prepare>().size(), 2u);
  EXPECT_EQ(two.sent<P::Prepare>()[0].second, (P::Prepare{ballot(1, 2), 1}));
  EXPECT_EQ(two.out.writes.back().promised, ballot(1, 2));
}

TEST(MultiPaxos, LeadsWithTheFirstMajorityAndSaysSo) {
  Node two(2);
  two.become_leader(3);
  EXPECT_EQ(describe_json(two.out.events), R"([{"type":"Leading","term":1}])");
  EXPECT_EQ(two.sent<P::Heartbeat>().size(), 2u);
}

TEST(MultiPaxos, APromiseHeardTwiceCountsOnce) {
  Node one(1, 5);
  one.fire(P::Timer::election);
  one.hear(2, P::Promise{.ballot = ballot(1, 1)});
  one.hear(2, P::Promise{.ballot = ballot(1, 1)});
  EXPECT_FALSE(std::holds_alternative<P::Leader>(one.node.role));
}

TEST(MultiPaxos, TakesOneRoundTripForACommandOnceItLeads) {
  Node one(1);
  one.become_leader(2);
  one.propose(1);
  EXPECT_EQ(one.sent<P::Prepare>().size(), 0u);
  EXPECT_EQ(one.sent<P::Accept>().size(), 2u);
  EXPECT_EQ(one.sent<P::Accept>()[0].second, (P::Accept{ballot(1, 1), 1, entry(1), 0}));
  EXPECT_EQ(one.out.writes.back().votes.at(1), (P::Vote{ballot(1, 1), entry(1)}));
  one.hear(3, P::Accepted{ballot(1, 1), 1});
  EXPECT_EQ(one.committed(), (std::vector<Committed>{{1, entry(1)}}));
  EXPECT_EQ(one.sent<P::Commit>().size(), 2u);
  one.hear(2, P::Accepted{ballot(1, 1), 1});
  EXPECT_TRUE(one.out.sends.empty());
}

TEST(MultiPaxos, WithoutNoticesTheNextMessageTells) {
  Node one(1, 3, {.piggyback = true});
  one.become_leader(2);
  one.propose(1);
  one.hear(3, P::Accepted{ballot(1, 1), 1});
  EXPECT_TRUE(one.out.sends.empty());
  one.propose(2);
  EXPECT_EQ(one.sent<P::Accept>()[0].second.committed, 1u);
}

TEST(MultiPaxos, PlacesAreAnnouncedInTheirOrder) {
  Node one(1, 5);
  one.fire(P::Timer::election);
  one.hear(2, P::Promise{.ballot = ballot(1, 1)});
  one.hear(3, P::Promise{.ballot = ballot(1, 1)});
  one.hear(2, P::Forward{entry(2)});
  one.hear(3, P::Forward{entry(3)});
  one.hear(2, P::Accepted{ballot(1, 1), 2});
  one.hear(3, P::Accepted{ballot(1, 1), 2});
  EXPECT_TRUE(one.committed().empty());
  one.hear(2, P::Accepted{ballot(1, 1), 1});
  one.hear(2, P::Accepted{ballot(1, 1), 1});
  EXPECT_TRUE(one.committed().empty());  // heard twice, counted once
  one.hear(4, P::Accepted{ballot(1, 1), 1});
  EXPECT_EQ(one.committed(), (std::vector<Committed>{{1, entry(2)}, {2, entry(3)}}));
}

TEST(MultiPaxos, ANewLeaderProposesAgainWhatMayHaveBeenChosenAndFillsTheGaps) {
  Node three(3, 5);
  three.fire(P::Timer::election);
  three.hear(1, P::Promise{.ballot = ballot(1, 3), .votes = {{3, {ballot(0, 1), entry(1)}}}});
  three.hear(2, P::Promise{.ballot = ballot(1, 3),
                           .votes = {{1, {ballot(0, 1), entry(2)}}, {3, {ballot(0, 2), entry(2, 2)}}}});
  const auto accepts = three.sent<P::Accept>();
  ASSERT_EQ(accepts.size(), 12u);
  EXPECT_EQ(accepts[0].second.content, entry(2));
  EXPECT_EQ(accepts[4].second.content, P::Content{});
  EXPECT_EQ(accepts[8].second.content, entry(2, 2));
}

TEST(MultiPaxos, ACandidateThatIsBehindIsToldWhatWasChosen) {
  Node two(2);
  two.hear(1, P::Accept{ballot(1, 1), 1, entry(1), 0});
  two.hear(1, P::Commit{ballot(1, 1), 1});
  two.hear(1, P::Accept{ballot(1, 1), 2, entry(3), 1});
  two.hear(3, P::Prepare{ballot(2, 3), 1});
  const auto promise = two.sent<P::Promise>()[0].second;
  EXPECT_EQ(promise.chosen, (std::vector<P::Content>{entry(1)}));
  EXPECT_EQ(promise.votes, (P::Votes{{2, {ballot(1, 1), entry(3)}}}));

  Node three(3);
  three.node.promised = ballot(1, 3);
  three.fire(P::Timer::election);
  three.hear(2, P::Promise{.ballot = ballot(2, 3), .chosen = promise.chosen, .votes = promise.votes});
  EXPECT_EQ(three.committed(), (std::vector<Committed>{{1, entry(1)}}));
  EXPECT_EQ(three.sent<P::Accept>()[0].second, (P::Accept{ballot(2, 3), 2, entry(3), 1}));
}

TEST(MultiPaxos, RefusesWhatIsBelowItsPromise) {
  Node two(2);
  two.hear(3, P::Prepare{ballot(4, 3), 1});
  EXPECT_EQ(two.out.writes.back().promised, ballot(4, 3));
  two.hear(1, P::Accept{ballot(3, 1), 1, entry(1), 0});
  EXPECT_EQ(two.sent<P::Refuse>().size(), 1u);
  EXPECT_TRUE(two.node.votes.empty());
  two.hear(1, P::Prepare{ballot(3, 1), 1});
  EXPECT_EQ(two.sent<P::Refuse>().size(), 1u);
  two.hear(1, P::Heartbeat{ballot(3, 1), 0});
  EXPECT_EQ(two.sent<P::Refuse>().size(), 1u);
}

TEST(MultiPaxos, ALeaderThatIsRefusedStepsDown) {
  Node one(1);
  one.become_leader(2);
  one.hear(3, P::Refuse{ballot(2, 3)});
  EXPECT_TRUE(std::holds_alternative<P::Follower>(one.node.role));
  one.fire(P::Timer::heartbeat);
  EXPECT_TRUE(one.out.sends.empty());
  one.fire(P::Timer::election);
  EXPECT_EQ(one.node.promised, ballot(3, 1));
}

TEST(MultiPaxos, AFollowerForwardsToTheLeaderAndRepeatsItself) {
  Node two(2);
  two.propose(1);
  EXPECT_TRUE(two.out.sends.empty());
  two.hear(1, P::Heartbeat{ballot(1, 1), 0});
  ASSERT_EQ(two.sent<P::Forward>().size(), 1u);
  EXPECT_EQ(two.sent<P::Forward>()[0].second.entry, entry(2));
  two.fire(P::Timer::retry);
  EXPECT_EQ(two.sent<P::Forward>().size(), 1u);
  two.hear(1, P::Accept{ballot(1, 1), 1, entry(2), 0});
  two.hear(1, P::Commit{ballot(1, 1), 1});
  EXPECT_EQ(two.committed(), (std::vector<Committed>{{1, entry(2)}}));
  two.fire(P::Timer::retry);
  EXPECT_TRUE(two.out.sends.empty());
}

TEST(MultiPaxos, ARepeatedProposalTakesOnePlace) {
  Node one(1);
  one.become_leader(2);
  one.hear(2, P::Forward{entry(2)});
  one.hear(2, P::Forward{entry(2)});
  EXPECT_TRUE(one.out.sends.empty());
  one.hear(2, P::Accepted{ballot(1, 1), 1});
  one.hear(2, P::Forward{entry(2)});
  EXPECT_TRUE(one.out.sends.empty());
}

TEST(MultiPaxos, ACommandChosenTwiceCountsOnce) {
  Node two(2);
  two.hear(1, P::Chosen{ballot(1, 1), 1, {entry(3), entry(3), entry(3, 2)}});
  EXPECT_EQ(two.committed(), (std::vector<Committed>{{1, entry(3)}, {2, {}}, {3, entry(3, 2)}}));
}

TEST(MultiPaxos, AVoteFromAnOlderBallotIsNotTakenForTheChoice) {
  Node two(2);
  two.hear(1, P::Accept{ballot(1, 1), 1, entry(1), 0});
  two.hear(3, P::Heartbeat{ballot(2, 3), 1});
  EXPECT_TRUE(two.committed().empty());
  EXPECT_EQ(two.sent<P::Ask>()[0].second.from, 1u);
  two.hear(3, P::Chosen{ballot(2, 3), 1, {entry(3)}});
  EXPECT_EQ(two.committed(), (std::vector<Committed>{{1, entry(3)}}));
}

TEST(MultiPaxos, TheLeaderTellsWhoIsBehind) {
  Node one(1);
  one.become_leader(2);
  one.propose(1);
  one.hear(2, P::Accepted{ballot(1, 1), 1});
  one.hear(3, P::Ask{1});
  EXPECT_EQ(one.sent<P::Chosen>()[0].second, (P::Chosen{ballot(1, 1), 1, {entry(1)}}));
}

TEST(MultiPaxos, RepeatsAtTheSecondHeartbeatWhatWasNotAnswered) {
  Node one(1);
  one.become_leader(2);
  one.propose(1);
  one.fire(P::Timer::heartbeat);
  EXPECT_TRUE(one.sent<P::Accept>().empty());
  one.fire(P::Timer::heartbeat);
  EXPECT_EQ(one.sent<P::Accept>().size(), 2u);
}

TEST(MultiPaxos, StopsIfSomethingElseIsProposedAfterAChoice) {
  Node two(2);
  two.hear(1, P::Chosen{ballot(1, 1), 1, {entry(3)}});
  EXPECT_THROW(two.hear(1, P::Accept{ballot(2, 1), 1, entry(1), 0}), InvariantViolation);
}

TEST(MultiPaxos, ComesBackWithItsPromiseItsVotesAndItsLog) {
  P::Out out;
  const P::Durable durable = {ballot(4, 3), {{2, {ballot(3, 3), entry(3)}}}, {entry(2)}};
  P node = P::recover({2}, NodeSet::range({1}, 3), {}, durable, out);
  EXPECT_EQ(describe_json(out.events),
            R"([{"type":"Committed","index":1,"entry":{"client":2,"serial":1,"value":2001,"bytes":""}}])");
  out.clear();
  node.on_message(out, {1}, P::Prepare{ballot(4, 1), 1});
  EXPECT_TRUE(std::holds_alternative<P::Refuse>(out.sends[0].message));
  EXPECT_EQ(node.votes.size(), 1u);
}

TEST(MultiPaxos, AClientGoesOnWhenItsOwnCommandIsInTheLog) {
  Spec::Client client = P::client({2}, {});
  client.wishes = 1;
  client.issue(*client.next());
  EXPECT_FALSE(client.content());
  client.see(Committed{1, entry(1)});
  EXPECT_FALSE(client.content());
  client.see(Committed{2, entry(2)});
  EXPECT_TRUE(client.content());
}

}  // namespace
}  // namespace conclave::log
