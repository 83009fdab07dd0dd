#include "protocols/overlay/distance_domination.hpp"

#include <gtest/gtest.h>

namespace conclave::overlay {
namespace {

using Node = DistanceDomination;
using Out = Node::Out;

// A path 1 - 2 - 3 - 4 - 5.
std::shared_ptr<const Graph> path() {
  return std::make_shared<const Graph>(
      NodeSet::range({1}, 5), std::vector<Graph::Edge>{{{1}, {2}}, {{2}, {3}}, {{3}, {4}}, {{4}, {5}}});
}

Node node(std::uint32_t id, std::uint32_t reach, Out& out) {
  return Node::start({id}, NodeSet::range({1}, 5), {.graph = path(), .reach = reach}, out);
}

void round(Node& node, Out& out, std::uint32_t number) {
  out.clear();
  node.on_round(out, number);
}

TEST(DistanceDomination, TheFirstRoundTellsTheNeighboursOfOneself) {
  Out out;
  Node two = node(2, 1, out);
  round(two, out, 1);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[0].to, NodeId{1});
  EXPECT_EQ(out.sends[1].to, NodeId{3});
  EXPECT_EQ(std::get<Node::Best>(out.sends[0].message), (Node::Best{{0, {2}}}));
}

TEST(DistanceDomination, WhatIsNoNewsIsNotToldAgain) {
  Out out;
  Node five = node(5, 2, out);
  round(five, out, 1);
  five.on_message(out, {4}, Node::Best{{0, {4}}});
  round(five, out, 2);
  EXPECT_TRUE(out.sends.empty());
}

TEST(DistanceDomination, AVoteGoesBackTheWayTheCandidatesNameCame) {
  Out out;
  Node two = node(2, 2, out);
  round(two, out, 1);
  two.on_message(out, {3}, Node::Best{{0, {3}}});
  round(two, out, 2);
  EXPECT_EQ(std::get<Node::Best>(out.sends.at(0).message).candidate.node, NodeId{3});
  two.on_message(out, {3}, Node::Best{{0, {4}}});
  round(two, out, 3);
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{3});
  EXPECT_EQ(std::get<Node::Vote>(out.sends[0].message).candidate, NodeId{4});
  // A neighbour's vote for somebody we have told it of, and preferred before.
  two.on_message(out, {1}, Node::Vote{{3}});
  round(two, out, 4);
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{3});
  EXPECT_EQ(std::get<Node::Vote>(out.sends[0].message).candidate, NodeId{3});
  EXPECT_FALSE(two.superpeer);
}

TEST(DistanceDomination, VotesForTheSameCandidateMerge) {
  Out out;
  Node four = node(4, 2, out);
  four.heard.push_back({{0, {5}}, {5}});
  four.news = four.heard.back();
  round(four, out, 3);  // its own vote
  EXPECT_EQ(out.sends.size(), 1u);
  four.on_message(out, {3}, Node::Vote{{5}});
  round(four, out, 4);
  EXPECT_TRUE(out.sends.empty());
}

TEST(DistanceDomination, AVoteFromNowhereBreaksTheRules) {
  Out out;
  Node two = node(2, 2, out);
  two.on_message(out, {1}, Node::Vote{{5}});
  EXPECT_THROW(two.on_round(out, 4), InvariantViolation);
}

TEST(DistanceDomination, WhoeverHasAVoteServesAndSaysSo) {
  Out out;
  Node two = node(2, 1, out);
  two.on_message(out, {1}, Node::Vote{{2}});
  two.on_message(out, {3}, Node::Best{{0, {3}}});
  round(two, out, 3);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Joined>(out.events[0]), (Joined{{2}, 0}));
  EXPECT_EQ(out.sends.size(), 2u);
}

TEST(DistanceDomination, TheNearestIsJoinedAndOnTiesTheLeast) {
  Out out;
  Node three = node(3, 2, out);
  three.on_message(out, {4}, Node::Superpeer{1, {4}});
  three.on_message(out, {2}, Node::Superpeer{1, {2}});
  round(three, out, 6);
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{2}, 1}));
  EXPECT_EQ(std::get<Node::Superpeer>(out.sends.at(0).message), (Node::Superpeer{2, {2}}));
  three.on_message(out, {2}, Node::Superpeer{2, {1}});
  round(three, out, 7);
  EXPECT_TRUE(out.events.empty());
}

TEST(DistanceDomination, NobodyIsToldFartherThanK) {
  Out out;
  Node three = node(3, 2, out);
  three.on_message(out, {4}, Node::Superpeer{2, {5}});
  round(three, out, 7);
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{5}, 2}));
  EXPECT_TRUE(out.sends.empty());
}

TEST(DistanceDomination, ByDegreeTheWellConnectedComeFirst) {
  Out out;
  Node five = Node::start({5}, NodeSet::range({1}, 5), {.graph = path(), .by_degree = true}, out);
  EXPECT_EQ(five.heard.front().candidate, (Node::Candidate{1, {5}}));
  five.on_message(out, {4}, Node::Best{{2, {4}}});
  round(five, out, 2);
  EXPECT_EQ(std::get<Node::Vote>(out.sends.at(0).message).candidate, NodeId{4});
}

TEST(DistanceDomination, HashedIdsDoNotAscendAlongThePath) {
  Out out;
  std::vector<std::uint64_t> ranks;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    const Node one = Node::start({id}, NodeSet::range({1}, 5), {.graph = path(), .by_hash = true}, out);
    ranks.push_back(one.heard.front().candidate.rank);
  }
  EXPECT_FALSE(std::ranges::is_sorted(ranks));
}

TEST(DistanceDomination, WithoutAGraphEverybodyIsANeighbour) {
  Out out;
  const Node one = Node::start({1}, NodeSet::range({1}, 4), {}, out);
  EXPECT_EQ(one.neighbours, (NodeSet{{2}, {3}, {4}}));
}

}  // namespace
}  // namespace conclave::overlay
