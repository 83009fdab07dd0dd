#include "protocols/mutex/maekawa.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = Maekawa;

// Three nodes: everybody's voting set is itself and the next one.
P node(std::uint32_t id, const P::Setup& setup = {}) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, 3), setup, out);
}

TEST(Maekawa, AsksItsVotingSetAndVotesForItself) {
  P::Out out;
  P one = node(1);
  ASSERT_EQ(one.voters, (NodeSet{{1}, {2}}));
  one.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Request"}}])");
  EXPECT_EQ(one.voted_for, NodeId{1});
  EXPECT_EQ(one.awaiting, NodeSet{{2}});
}

TEST(Maekawa, EntersWithAllVotesAndAHigherFence) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_TRUE(out.events.empty());
  one.on_message(out, {2}, P::Reply{{6}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":7}])");
}

TEST(Maekawa, VotesOnce) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Request{});
  two.on_message(out, {3}, P::Request{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Reply","highest":0}}])");
}

TEST(Maekawa, QueuesWhileItsVoteIsLent) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Request{});
  two.on_message(out, {3}, P::Request{});
  EXPECT_EQ(two.queue, std::vector<NodeId>{{3}});
  out.clear();
  two.on_message(out, {1}, P::Release{{4}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Reply","highest":4}}])");
  EXPECT_TRUE(two.queue.empty());
}

TEST(Maekawa, WaitsForItsOwnVoteToo) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Request{});
  two.on_command(out, Acquire{});
  two.on_message(out, {3}, P::Reply{{}});
  EXPECT_TRUE(out.events.empty());
  two.on_message(out, {1}, P::Release{{1}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":2}])");
}

TEST(Maekawa, GivesAllVotesBackOnLeaving) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{{}});
  out.clear();
  one.on_command(out, mutex::Release{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Release","fence":1}}])");
  EXPECT_FALSE(one.voted_for);
}

TEST(Maekawa, WithoutTheSelfVoteStillVotesForOthersWhileWaiting) {
  P::Out out;
  P two = node(2, {.no_self_vote = true});
  two.on_command(out, Acquire{});
  out.clear();
  two.on_message(out, {1}, P::Request{});
  EXPECT_EQ(out.sends.size(), 1u);  // this is what lets two in
}

TEST(Maekawa, TakesTheVotingSetsItIsGiven) {
  const VotingSets sets = {{NodeId{1}, {{1}, {3}}}, {NodeId{2}, {{2}, {3}}}, {NodeId{3}, {{3}}}};
  EXPECT_EQ(node(1, {.sets = sets}).voters, (NodeSet{{1}, {3}}));
  EXPECT_THROW(node(1, {.sets = {{NodeId{2}, {{2}}}}}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::mutex
