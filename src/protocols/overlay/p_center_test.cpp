#include "protocols/overlay/p_center.hpp"

#include <gtest/gtest.h>

namespace conclave::overlay {
namespace {

using Node = PCenter;
using Out = Node::Out;

// A path 1 - 2 - 3.
Node node(std::uint32_t id, Out& out, std::uint32_t centres = 2) {
  static const auto path =
      std::make_shared<const Graph>(NodeSet::range({1}, 3), std::vector<Graph::Edge>{{{1}, {2}}, {{2}, {3}}});
  out.clear();
  return Node::start({id}, NodeSet::range({1}, 3), {.graph = path, .centres = centres}, out);
}

template <class M>
void hear(Node& node, Out& out, std::uint32_t from, const M& message) {
  out.clear();
  node.on_message(out, {from}, message);
}

template <class M>
const M& sent(const Out& out, std::size_t i, std::uint32_t to) {
  EXPECT_EQ(out.sends.at(i).to, NodeId{to});
  return std::get<M>(out.sends.at(i).message);
}

TEST(PCenter, OnlyTheFirstBegins) {
  Out out;
  Node two = node(2, out);
  two.on_command(out, Begin{});
  EXPECT_TRUE(out.sends.empty());
  Node one = node(1, out);
  one.on_command(out, Begin{});
  sent<Node::Probe>(out, 0, 2);
}

TEST(PCenter, TheTreeGrowsOutwardsAndEchoesBack) {
  Out out;
  Node two = node(2, out);
  hear(two, out, 1, Node::Probe{});
  ASSERT_EQ(out.sends.size(), 1u);
  sent<Node::Probe>(out, 0, 3);
  Node three = node(3, out);
  hear(three, out, 2, Node::Probe{});
  sent<Node::Echo>(out, 0, 2);
  hear(two, out, 3, Node::Echo{});
  sent<Node::Echo>(out, 0, 1);
  EXPECT_EQ(two.tree, (NodeSet{{1}, {3}}));
}

TEST(PCenter, ANearerCentreIsPassedOnAndAnsweredWhenAllIsAnswered) {
  Out out;
  Node two = node(2, out);
  hear(two, out, 1, Node::Nearer{1, {1}});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(sent<Node::Nearer>(out, 0, 3), (Node::Nearer{2, {1}}));
  hear(two, out, 3, Node::Answer{});
  ASSERT_EQ(out.sends.size(), 1u);
  sent<Node::Answer>(out, 0, 1);
}

TEST(PCenter, WhatIsNoNearerIsAnsweredAtOnce) {
  Out out;
  Node two = node(2, out);
  hear(two, out, 1, Node::Nearer{1, {1}});
  hear(two, out, 3, Node::Nearer{1, {3}});  // as near, but not the least
  ASSERT_EQ(out.sends.size(), 1u);
  sent<Node::Answer>(out, 0, 3);
  EXPECT_EQ(two.nearest->centre, NodeId{1});
}

TEST(PCenter, OfTwoEquallyNearTheLeastCounts) {
  Out out;
  Node two = node(2, out);
  hear(two, out, 3, Node::Nearer{1, {3}});
  hear(two, out, 1, Node::Nearer{1, {1}});
  EXPECT_EQ(two.nearest->centre, NodeId{1});
  sent<Node::Nearer>(out, 0, 3);
  sent<Node::Answer>(out, 1, 1);  // it is engaged by 3 already
}

TEST(PCenter, TheFarthestIsAppointedTheWayItsReportCame) {
  Out out;
  Node two = node(2, out);
  hear(two, out, 1, Node::Probe{});
  hear(two, out, 3, Node::Echo{});
  hear(two, out, 1, Node::Nearer{1, {1}});
  hear(two, out, 3, Node::Answer{});
  hear(two, out, 1, Node::Collect{});
  sent<Node::Collect>(out, 0, 3);
  hear(two, out, 3, Node::Report{2, {3}});
  EXPECT_EQ(sent<Node::Report>(out, 0, 1), (Node::Report{2, {3}}));
  hear(two, out, 1, Node::Appoint{0});
  EXPECT_EQ(sent<Node::Appoint>(out, 0, 3).left, 0u);
}

TEST(PCenter, TheLastCentreEndsTheSelection) {
  Out out;
  Node three = node(3, out);
  hear(three, out, 2, Node::Probe{});
  hear(three, out, 2, Node::Nearer{2, {1}});
  hear(three, out, 2, Node::Collect{});
  EXPECT_EQ(sent<Node::Report>(out, 0, 2), (Node::Report{2, {3}}));
  hear(three, out, 2, Node::Appoint{0});
  EXPECT_EQ(sent<Node::Nearer>(out, 0, 2), (Node::Nearer{1, {3}}));
  hear(three, out, 2, Node::Answer{});
  sent<Node::Finish>(out, 0, 2);
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{3}, 0}));
}

TEST(PCenter, AloneItIsTheCentre) {
  Out out;
  Node one = Node::start({1}, NodeSet::range({1}, 1), {.centres = 3}, out);
  one.on_command(out, Begin{});
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{1}, 0}));
}

}  // namespace
}  // namespace conclave::overlay
