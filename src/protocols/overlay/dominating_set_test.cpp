#include "protocols/overlay/dominating_set.hpp"

#include <gtest/gtest.h>

namespace conclave::overlay {
namespace {

using Node = DominatingSet;
using Out = Node::Out;

// A star: 1 in the middle of 2, 3, 4.
std::shared_ptr<const Graph> star() {
  return std::make_shared<const Graph>(NodeSet::range({1}, 4),
                                       std::vector<Graph::Edge>{{{1}, {2}}, {{1}, {3}}, {{1}, {4}}});
}

Node node(std::uint32_t id, Out& out, std::uint32_t limit = 0) {
  return Node::start({id}, NodeSet::range({1}, 4), {.graph = star(), .limit = limit, .ties_by_id = true},
                     out);
}

void round(Node& node, Out& out, std::uint32_t number) {
  out.clear();
  node.on_round(out, number);
}

// Everything up to the first decision of the middle.
Node middle_before_its_decision(Out& out, std::uint32_t limit = 0) {
  Node one = node(1, out, limit);
  round(one, out, 1);
  round(one, out, 2);
  for (std::uint32_t leaf : {2u, 3u, 4u}) one.on_message(out, {leaf}, Node::Span{2});
  round(one, out, 3);
  for (std::uint32_t leaf : {2u, 3u, 4u}) one.on_message(out, {leaf}, Node::Best{one.rank.span, {1}});
  return one;
}

TEST(DominatingSet, TheSpanCountsOneselfAndTheNeighboursNotCoveredYet) {
  Out out;
  Node one = node(1, out);
  EXPECT_EQ(one.span(), 4u);
  one.on_message(out, {3}, Node::Covered{});
  EXPECT_EQ(one.span(), 3u);
  one.on_message(out, {2}, Node::Admit{});
  EXPECT_EQ(one.span(), 2u);
}

TEST(DominatingSet, TheGreatestWithinTwoHopsServesAndAdmitsItsNeighbours) {
  Out out;
  Node one = middle_before_its_decision(out);
  round(one, out, 4);
  EXPECT_TRUE(one.serving());
  ASSERT_EQ(out.sends.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Node::Admit>(out.sends[0].message));
  round(one, out, 5);
  EXPECT_TRUE(std::holds_alternative<Node::Covered>(out.sends.at(0).message));
  round(one, out, 6);
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{1}, 0}));
}

TEST(DominatingSet, AGreaterOneTwoHopsAwayGoesFirst) {
  Out out;
  Node one = middle_before_its_decision(out);
  one.on_message(out, {4}, Node::Best{5, {9}});
  round(one, out, 4);
  EXPECT_FALSE(one.serving());
  EXPECT_TRUE(out.sends.empty());
}

TEST(DominatingSet, OfEqualSpansOneGoesFirst) {
  Out out;
  Node two = node(2, out);
  round(two, out, 2);
  two.on_message(out, {1}, Node::Span{2});
  round(two, out, 3);
  EXPECT_EQ(two.best.node, NodeId{2});  // equal, and 2 is the greater id
  two.on_message(out, {1}, Node::Best{2, {3}});
  round(two, out, 4);
  EXPECT_FALSE(two.serving());  // 3 is greater still, and two hops away
}

TEST(DominatingSet, WhatHasNotChangedIsNotToldAgain) {
  Out out;
  Node one = middle_before_its_decision(out);
  one.on_message(out, {4}, Node::Best{5, {9}});
  for (std::uint32_t number : {4u, 5u, 6u, 7u}) {
    round(one, out, number);
    EXPECT_TRUE(out.sends.empty()) << number;
  }
}

TEST(DominatingSet, ACoveredNodeIsToldOnceNobodyNeedsIt) {
  Out out;
  Node two = node(2, out);
  round(two, out, 2);
  two.on_message(out, {1}, Node::Admit{});
  round(two, out, 5);
  EXPECT_TRUE(std::holds_alternative<Node::Covered>(out.sends.at(0).message));
  two.on_message(out, {1}, Node::Covered{});
  round(two, out, 6);
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{1}, 1}));
  EXPECT_EQ(std::get<Node::Span>(out.sends.at(0).message).span, 0u);
}

TEST(DominatingSet, NobodyIsAdmittedTwice) {
  Out out;
  Node two = node(2, out);
  two.on_message(out, {1}, Node::Admit{});
  EXPECT_THROW(two.on_message(out, {1}, Node::Admit{}), InvariantViolation);
}

TEST(DominatingSet, ALimitedSuperpeerAdmitsNoMoreThanItsLimit) {
  Out out;
  Node one = node(1, out, 2);
  EXPECT_EQ(one.span(), 3u);
  one = middle_before_its_decision(out, 2);
  round(one, out, 4);
  EXPECT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(one.span(), 0u);
}

TEST(DominatingSet, StrangersAreNotHeard) {
  Out out;
  Node two = node(2, out);
  EXPECT_THROW(two.on_message(out, {3}, Node::Covered{}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::overlay
