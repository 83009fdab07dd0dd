#include "protocols/election/ring_list.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::election {
namespace {

using P = RingList;

P node(std::uint32_t id, const P::Setup& setup = {}, std::uint32_t count = 4) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), setup, out);
}

TEST(RingList, SendsAListOfItselfToTheNext) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Start{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","list":[2]}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Participating"}])");
  EXPECT_EQ(out.armed.size(), 1u);
}

TEST(RingList, FollowsTheOrderOfTheRing) {
  P::Out out;
  P two = node(2, {.ring = {{2}, {4}, {1}, {3}}});
  two.on_command(out, Start{});
  EXPECT_EQ(out.sends.front().to, NodeId{4});
}

TEST(RingList, AddsItsIdAndPassesTheListOn) {
  P::Out out;
  P four = node(4);
  four.on_message(out, {3}, P::Election{{{2}, {3}}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Election","list":[2,3,4]}}])");
}

TEST(RingList, WhoFindsItsOwnIdClosesTheElection) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Start{});
  out.clear();
  two.on_message(out, {1}, P::Election{{{2}, {3}, {4}, {1}}});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":3,"message":{"type":"Coordinator","leader":4,"members":[1,2,3,4],"seen":[2]}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Elected","leader":4}])");
  EXPECT_EQ(out.disarmed.size(), 1u);
}

TEST(RingList, AnotherThanTheStarterClosesAndDropsWhoWasSkipped) {
  P::Out out;
  P three = node(3);
  three.on_message(out, {2}, P::Election{{{2}}});
  out.clear();
  three.on_message(out, {1}, P::Election{{{2}, {3}, {4}, {1}}});
  EXPECT_EQ(three.elected, NodeId{4});
  EXPECT_EQ(three.members, (NodeSet{{1}, {3}, {4}}));
}

TEST(RingList, TheGreatestIsNotEligibleOnceItWasSkipped) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {4}, P::Election{{{4}}});
  one.on_message(out, {3}, P::Election{{{4}, {1}, {2}, {3}}});
  EXPECT_EQ(one.elected, NodeId{3});
}

TEST(RingList, PassesTheNewsOnUntilItHasGoneRound) {
  P::Out out;
  P three = node(3);
  three.on_message(out, {2}, P::Coordinator{{4}, NodeSet::range({1}, 4), {{2}}});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":4,"message":{"type":"Coordinator","leader":4,"members":[1,2,3,4],"seen":[2,3]}}])");
  EXPECT_EQ(three.elected, NodeId{4});
  out.clear();
  three.on_message(out, {2}, P::Coordinator{{4}, NodeSet::range({1}, 4), NodeSet::range({1}, 4)});
  EXPECT_TRUE(out.sends.empty());
}

TEST(RingList, SkipsADeadProcessWithOneAttempt) {
  P::Out out;
  P two = node(2);
  two.on_bounce(out, {3}, P::Election{{{2}}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":4,"message":{"type":"Election","list":[2]}}])");
}

TEST(RingList, WithEverybodyElseDeadTheListComesHome) {
  P::Out out;
  P two = node(2, {}, 3);
  two.on_command(out, Start{});
  two.on_bounce(out, {3}, P::Election{{{2}}});
  out.clear();
  two.on_bounce(out, {1}, P::Election{{{2}}});
  EXPECT_EQ(two.elected, NodeId{2});
  EXPECT_EQ(two.members, NodeSet{{2}});
}

TEST(RingList, AloneElectsItselfAndWaitsForNothing) {
  P::Out out;
  P alone = node(1, {}, 1);
  alone.on_command(out, Start{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_TRUE(out.armed.empty());
  EXPECT_EQ(alone.elected, NodeId{1});
}

TEST(RingList, StartsAnewWhenTheListDoesNotComeBack) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Start{});
  out.clear();
  two.on_timer(out, P::Timer::patience);
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","list":[2]}}])");
}

TEST(RingList, WithTheStarterAloneAllowedToCloseTheListGoesOn) {
  P::Out out;
  P three = node(3, {.starter_closes = true});
  three.on_message(out, {1}, P::Election{{{2}, {3}, {4}, {1}}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":4,"message":{"type":"Election","list":[2,3,4,1]}}])");
  EXPECT_FALSE(three.elected);
}

TEST(RingList, TellsEveryMemberItselfIfItAnnouncesDirectly) {
  P::Out out;
  P two = node(2, {.announce_directly = true});
  two.on_message(out, {1}, P::Election{{{2}, {3}, {4}, {1}}});
  EXPECT_EQ(out.sends.size(), 3u);
  P three = node(3, {.announce_directly = true});
  const auto news = std::get<P::Coordinator>(out.sends.front().message);
  out.clear();
  three.on_message(out, {2}, news);
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(three.elected, NodeId{4});
}

TEST(RingList, WhoComesBackJoinsByAnElection) {
  P::Out out;
  P::restart({2}, NodeSet::range({1}, 4), {.coordinator = NodeId{4}}, out);
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","list":[2]}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Participating"}])");
}

}  // namespace
}  // namespace conclave::election
