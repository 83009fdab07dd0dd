#include "protocols/election/chang_roberts.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::election {
namespace {

using P = ChangRoberts;

P node(std::uint32_t id, const P::Setup& setup = {}, std::uint32_t count = 3) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), setup, out);
}

P::Setup on_ring(std::vector<NodeId> order) {
  return {.ring = std::make_shared<const Ring>(std::move(order))};
}

TEST(ChangRoberts, SendsItsIdToItsNeighbourOnTheRing) {
  P::Out out;
  P two = node(2, on_ring({{2}, {1}, {3}}));
  two.on_command(out, Start{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Election","id":2}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Participating"}])");
}

TEST(ChangRoberts, WithoutARingTheIdsAscend) { EXPECT_EQ(node(3).successor, NodeId{1}); }

TEST(ChangRoberts, StartsOnlyOnce) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Start{});
  out.clear();
  one.on_command(out, Start{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.notes.size(), 1u);
}

TEST(ChangRoberts, LetsAGreaterIdPassAndTakesPart) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {3}, P::Election{{3}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Election","id":3}}])");
  EXPECT_TRUE(one.participant);
}

TEST(ChangRoberts, PutsItsOwnIdInPlaceOfASmallerOne) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Election{{1}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","id":2}}])");
}

TEST(ChangRoberts, AParticipantSwallowsASmallerId) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Start{});
  out.clear();
  two.on_message(out, {1}, P::Election{{1}});
  EXPECT_TRUE(out.sends.empty());
}

TEST(ChangRoberts, WithoutTheFlagItReplacesASmallerIdAgain) {
  P::Out out;
  P two = node(2, {.no_participant_flag = true});
  two.on_command(out, Start{});
  out.clear();
  two.on_message(out, {1}, P::Election{{1}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","id":2}}])");
}

TEST(ChangRoberts, WinsWhenItsIdComesHomeAndSaysSo) {
  P::Out out;
  P three = node(3);
  three.on_command(out, Start{});
  out.clear();
  three.on_message(out, {2}, P::Election{{3}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Elected","id":3}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Elected","leader":3}])");
  EXPECT_FALSE(three.participant);
  out.clear();
  three.on_message(out, {2}, P::Elected{{3}});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_TRUE(out.events.empty());
}

TEST(ChangRoberts, PassesTheNewsOn) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {3}, P::Election{{3}});
  out.clear();
  one.on_message(out, {3}, P::Elected{{3}});
  EXPECT_EQ(one.elected, NodeId{3});
  EXPECT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(ChangRoberts, AloneElectsItselfWithoutAMessage) {
  P::Out out;
  P alone = node(1, {}, 1);
  alone.on_command(out, Start{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(alone.elected, NodeId{1});
}

TEST(ChangRoberts, WithoutTheFlagADeadNeighbourIsSkipped) {
  P::Out out;
  P one = node(1, {.no_participant_flag = true}, 4);
  one.on_bounce(out, {2}, P::Election{{1}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Election","id":1}}])");
  out.clear();
  // What was sent to the dead neighbour before goes the same way.
  one.on_bounce(out, {2}, P::Election{{1}});
  EXPECT_EQ(out.sends.front().to, NodeId{3});
}

TEST(ChangRoberts, KnowsTheCoordinatorElectedBefore) {
  P::Out out;
  const P one = P::start({1}, NodeSet::range({1}, 3), {.coordinator = NodeId{3}}, out);
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Elected","leader":3}])");
  EXPECT_EQ(one.elected, NodeId{3});
}

TEST(Ring, KnowsTheNeighboursOfScatteredIds) {
  const Ring ring({{17}, {24}, {1}, {28}});
  EXPECT_EQ(ring.after({17}), NodeId{24});
  EXPECT_EQ(ring.after({28}), NodeId{17});
  EXPECT_THROW(ring.after({2}), InvariantViolation);
}

TEST(Ring, RefusesAnIdThatStandsTwice) {
  EXPECT_THROW(Ring({{1}, {2}, {1}}), InvariantViolation);
  EXPECT_THROW(Ring({{1}, {9}, {9}}), InvariantViolation);
  EXPECT_THROW(Ring({}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::election
