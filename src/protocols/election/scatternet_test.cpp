#include "protocols/election/scatternet.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

using Node = Scatternet;
using Out = Node::Out;

// 1, 2 and 3 in a triangle whose longest side is 1-3; 4 is in range of 3 only.
Node node(std::uint32_t id, Out& out) {
  static const auto radio = std::make_shared<const Graph>(
      NodeSet::range({1}, 4), std::vector<Graph::Edge>{{{1}, {2}}, {{2}, {3}}, {{1}, {3}}, {{3}, {4}}});
  static const auto places = std::make_shared<const std::map<NodeId, Place>>(
      std::map<NodeId, Place>{{{1}, {0, 0}}, {{2}, {5, 3}}, {{3}, {10, 0}}, {{4}, {19, 0}}});
  out.clear();
  return Node::start({id}, NodeSet::range({1}, 4), {radio, places}, out);
}

const Placed& placed(const Out& out) { return std::get<Placed>(out.events.at(0)); }

TEST(Scatternet, WhoeverHearsOfTheStartStartsToo) {
  Out out;
  Node one = node(1, out);
  one.on_message(out, {2}, Node::Hello{{5, 3}});
  EXPECT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<Node::Hello>(out.sends[0].message).place, (Place{0, 0}));
  out.clear();
  one.on_command(out, Start{});
  EXPECT_TRUE(out.sends.empty());
}

TEST(Scatternet, BothEndsDropALinkWithAShorterWayRound) {
  Out out;
  Node one = node(1, out);
  one.on_message(out, {2}, Node::Hello{{5, 3}});
  one.on_message(out, {3}, Node::Hello{{10, 0}});
  EXPECT_EQ(*one.links, (NodeSet{{2}}));
  Node three = node(3, out);
  three.on_message(out, {1}, Node::Hello{{0, 0}});
  three.on_message(out, {2}, Node::Hello{{5, 3}});
  three.on_message(out, {4}, Node::Hello{{19, 0}});
  EXPECT_EQ(*three.links, (NodeSet{{2}, {4}}));
}

TEST(Scatternet, WithoutAMasterAmongGreaterNeighboursANodeBecomesOne) {
  Out out;
  Node two = node(2, out);
  two.links = NodeSet{{1}, {3}};
  two.on_message(out, {3}, Node::Role{{4}});  // a slave of 4
  EXPECT_EQ(two.master, NodeId{2});
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<Node::Role>(out.sends[0].message).master, NodeId{2});
}

TEST(Scatternet, ANodeWaitsForItsGreaterNeighboursAndJoinsTheGreatestMaster) {
  Out out;
  Node one = node(1, out);
  one.links = NodeSet{{2}, {3}};
  one.on_message(out, {2}, Node::Role{{2}});
  EXPECT_FALSE(one.master);
  one.on_message(out, {3}, Node::Role{{3}});
  EXPECT_EQ(one.master, NodeId{3});
}

TEST(Scatternet, ASlaveReportsWhichPiconetsItBordersOn) {
  Out out;
  Node two = node(2, out);
  two.links = NodeSet{{1}, {3}};
  two.on_message(out, {3}, Node::Role{{3}});
  out.clear();
  two.on_message(out, {1}, Node::Role{{1}});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{3});
  EXPECT_EQ(std::get<Node::Report>(out.sends[0].message).borders,
            (std::vector<Node::Border>{{{2}, {1}, {1}}}));
}

TEST(Scatternet, OfSeveralLinksToTheSamePiconetTheFirstBridges) {
  Out out;
  Node nine = {
      .self = {9}, .links = NodeSet{{4}, {5}}, .masters = {{{4}, {9}}, {{5}, {9}}}, .master = NodeId{9}};
  nine.on_message(out, {5}, Node::Report{{{{5}, {2}, {8}}, {{5}, {3}, {7}}}});
  nine.report(out);
  EXPECT_TRUE(out.sends.empty());
  nine.on_message(out, {4}, Node::Report{{{{4}, {6}, {8}}}});
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<Node::Assign>(out.sends[0].message).bridges, NodeSet{});
  EXPECT_EQ(std::get<Node::Assign>(out.sends[1].message).bridges, (NodeSet{{2}, {3}}));
  EXPECT_EQ(placed(out).slaves, (NodeSet{{4}, {5}}));
}

TEST(Scatternet, OfTwoSlavesThatBridgeTheGreaterPlaysTheMaster) {
  Out out;
  Node five = {.self = {5},
               .links = NodeSet{{2}, {8}, {9}},
               .masters = {{{2}, {7}}, {{8}, {8}}, {{9}, {9}}},
               .master = NodeId{9}};
  five.on_message(out, {9}, Node::Assign{{{2}, {8}}});
  EXPECT_EQ(placed(out), (Placed{.leader = {9}, .slaves = {{2}}, .masters = {{8}, {9}}}));
}

TEST(Scatternet, WhatNobodyAskedToBridgeIsNoLink) {
  Out out;
  Node five = {
      .self = {5}, .links = NodeSet{{2}, {9}}, .masters = {{{2}, {7}}, {{9}, {9}}}, .master = NodeId{9}};
  five.on_message(out, {9}, Node::Assign{});
  EXPECT_EQ(placed(out), (Placed{.leader = {9}, .masters = {{9}}}));
}

}  // namespace
}  // namespace conclave::election
