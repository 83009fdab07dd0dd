#include "protocols/consensus/treason.hpp"

#include <gtest/gtest.h>

namespace conclave::consensus {
namespace {

Treason plot(Strategy strategy, NodeSet traitors) {
  return {.strategy = strategy,
          .traitors = std::move(traitors),
          .source = {1},
          .members = NodeSet::range({1}, 5),
          .rounds = 3,
          .one = 6,
          .other = 7,
          .whims = 99};
}

std::size_t told(const Lies& said, Value value) {
  return static_cast<std::size_t>(
      std::ranges::count_if(said, [&](const auto& lie) { return lie.second.value == value; }));
}

TEST(Treason, OfTheSilentIsSilence) {
  for (std::uint32_t round = 1; round <= 3; ++round)
    EXPECT_TRUE(lies(plot(Strategy::silent, {{1}}), {1}, round).empty());
}

TEST(Treason, OfASourceSplitsTheLoyalInTwo) {
  const Lies said = lies(plot(Strategy::equivocate, {{1}}), {1}, 1);
  EXPECT_EQ(said.size(), 4u);
  EXPECT_EQ(told(said, 6), 2u);
  EXPECT_EQ(told(said, 7), 2u);
  for (const auto& [victim, order] : said) EXPECT_TRUE(order.authentic({}));
}

TEST(Treason, CannotSignForTheLoyal) {
  for (std::uint32_t round = 2; round <= 3; ++round) {
    const Lies said = lies(plot(Strategy::forge, {{3}}), {3}, round);
    EXPECT_FALSE(said.empty());
    for (const auto& [victim, order] : said) {
      EXPECT_TRUE(order.well_formed({1}, NodeSet::range({1}, 5)));
      EXPECT_EQ(order.chain.size(), round);
      EXPECT_FALSE(order.authentic({}));
    }
  }
}

TEST(Treason, ThatIsLateCarriesTheSignaturesOfAllTraitorsButNeverEnough) {
  const Treason both = plot(Strategy::late, {{1}, {4}});
  const Lies second = lies(both, {1}, 2);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].second.chain.size(), 2u);
  EXPECT_TRUE(second[0].second.authentic({}));
  const Lies third = lies(both, {1}, 3);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_LT(third[0].second.chain.size(), 3u);
  EXPECT_NE(third[0].first, second[0].first);
}

TEST(Treason, ByWordOfMouthSignsNothing) {
  Treason spoken = plot(Strategy::forge, {{3}});
  spoken.in_writing = false;
  for (const auto& [victim, order] : lies(spoken, {3}, 2)) {
    for (const auto& name : order.chain) EXPECT_EQ(name.signature, "");
  }
}

TEST(Treason, IsTheSameEveryTime) {
  const Treason whims = plot(Strategy::erratic, {{1}, {2}});
  bool any = false;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    any |= !lies(whims, {2}, round).empty();
    EXPECT_EQ(lies(whims, {2}, round), lies(whims, {2}, round));
  }
  EXPECT_TRUE(any);
}

TEST(Treason, NeverAddressesAccomplices) {
  for (const Strategy strategy : {Strategy::equivocate, Strategy::forge, Strategy::late, Strategy::erratic}) {
    for (const NodeId traitor : {NodeId{1}, NodeId{2}}) {
      for (std::uint32_t round = 1; round <= 3; ++round) {
        for (const auto& [victim, order] : lies(plot(strategy, {{1}, {2}}), traitor, round))
          EXPECT_GT(victim.value, 2u);
      }
    }
  }
}

}  // namespace
}  // namespace conclave::consensus
