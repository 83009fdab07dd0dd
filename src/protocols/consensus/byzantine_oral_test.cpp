#include "protocols/consensus/byzantine_oral.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::consensus {
namespace {

enum Property { termination, agreement, integrity };
using Out = ByzantineOral::Out;
using Hearsay = ByzantineOral::Hearsay;

const NodeSet four = NodeSet::range({1}, 4);

ByzantineOral lieutenant(NodeId self) {
  Out out;
  return ByzantineOral::start(self, four, {.source = {1}, .default_value = 9, .rounds = 2}, out);
}

TEST(ByzantineOral, TheSourceTellsEverybody) {
  Out out;
  ByzantineOral source = lieutenant({1});
  source.on_command(out, Propose{4});
  source.on_round(out, 1);
  ASSERT_EQ(out.sends.size(), 3u);
  EXPECT_EQ(std::get<Hearsay>(out.sends[0].message).told.at({{1}}), 4);
}

TEST(ByzantineOral, ALieutenantTellsTheOthersWhatItWasToldAndByWhom) {
  Out out;
  ByzantineOral node = lieutenant({2});
  node.on_round(out, 1);
  node.on_message(out, {1}, Hearsay{{{{{1}}, 4}}});
  node.on_round(out, 2);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[0].to, NodeId{3});
  EXPECT_EQ(std::get<Hearsay>(out.sends[0].message).told.at({{1}, {2}}), 4);
}

TEST(ByzantineOral, BelievesTheMajorityOfWhatTheLieutenantsHeard) {
  Out out;
  ByzantineOral node = lieutenant({2});
  node.on_round(out, 1);
  node.on_message(out, {1}, Hearsay{{{{{1}}, 4}}});
  node.on_round(out, 2);
  node.on_message(out, {3}, Hearsay{{{{{1}, {3}}, 5}}});
  node.on_message(out, {4}, Hearsay{{{{{1}, {4}}, 4}}});
  node.on_round(out, 3);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Decided>(out.events[0]).value, 4);
}

TEST(ByzantineOral, DoesNotBelieveInPathsThatCannotBe) {
  Out out;
  ByzantineOral node = lieutenant({2});
  node.on_round(out, 1);
  for (const auto& path : std::vector<ByzantineOral::Path>{{{3}}, {{1}, {3}}, {{1}, {2}}, {{7}}})
    node.on_message(out, {3}, Hearsay{{{path, 5}}});
  EXPECT_TRUE(node.told.empty());
  EXPECT_EQ(out.notes.size(), 4u);
}

struct Outcome {
  sim::Report report = {};
  trace::ConsensusMonitor monitor;
  bool holds(Property property) const { return monitor.verdicts()[property].holds; }
};

Outcome run(std::uint32_t nodes, std::uint32_t f, const NodeSet& traitors, std::uint64_t seed) {
  const ByzantineOral::Setup setup = {
      .source = {1},
      .value = 4,
      .default_value = 9,
      .rounds = f + 1,
      .treason = {.traitors = traitors, .one = 4, .other = 5, .whims = seed * 0x9e3779b97f4a7c15u}};
  Outcome outcome = {.monitor = trace::ConsensusMonitor(traitors)};
  sim::World<ByzantineOral> world({.nodes = nodes, .entries = 1, .seed = seed}, setup, &outcome.monitor);
  world.set_header({.world = "sim"});
  outcome.report = world.run();
  EXPECT_EQ(outcome.report.broken, "");
  return outcome;
}

TEST(ByzantineOral, FourSurviveAnyTraitorAndSevenAnyTwo) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (std::uint32_t traitor = 1; traitor <= 4; ++traitor) {
      const Outcome outcome = run(4, 1, {{traitor}}, seed);
      for (const Property property : {termination, agreement, integrity})
        ASSERT_TRUE(outcome.holds(property)) << traitor << " " << seed;
    }
    for (const NodeSet& two : {NodeSet{{1}, {2}}, NodeSet{{3}, {6}}}) {
      const Outcome outcome = run(7, 2, two, seed);
      for (const Property property : {termination, agreement, integrity})
        ASSERT_TRUE(outcome.holds(property)) << seed;
    }
  }
}

TEST(ByzantineOral, ThreeDoNotSurviveOneAndSixDoNotSurviveTwo) {
  const auto found = [](std::uint32_t nodes, std::uint32_t f, const NodeSet& traitors) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const Outcome outcome = run(nodes, f, traitors, seed);
      if (!outcome.holds(agreement) || !outcome.holds(integrity)) return true;
    }
    return false;
  };
  EXPECT_TRUE(found(3, 1, {{3}}));
  EXPECT_TRUE(found(6, 2, {{3}, {6}}));
}

TEST(ByzantineOral, OneRoundTooFewIsOneTooFew) {
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 200 && !found; ++seed)
    found = !run(7, 1, {{1}, {2}}, seed).holds(agreement);
  EXPECT_TRUE(found);
}

TEST(ByzantineOral, EverybodySpeaksToEverybodyInEveryRound) {
  for (const std::uint32_t n : {4u, 5u, 7u}) {
    for (const std::uint32_t f : {0u, 1u, 2u})
      EXPECT_EQ(run(n, f, {}, 1).report.messages, (n - 1) + f * (n - 1) * (n - 2)) << n << " " << f;
  }
}

}  // namespace
}  // namespace conclave::consensus
