#include "protocols/consensus/sync_flooding.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::consensus {
namespace {

using Out = SyncFlooding::Out;
using Relay = SyncFlooding::Relay;

std::shared_ptr<const Graph> graph(std::uint32_t nodes, const std::vector<Graph::Edge>& edges) {
  return std::make_shared<const Graph>(NodeSet::range({1}, nodes), edges);
}

std::shared_ptr<const Graph> line(std::uint32_t nodes) {
  std::vector<Graph::Edge> edges;
  for (std::uint32_t i = 1; i < nodes; ++i) edges.push_back({{i}, {i + 1}});
  return graph(nodes, edges);
}

struct Outcome {
  sim::Report report = {};
  trace::ConsensusMonitor monitor = trace::ConsensusMonitor();
  std::uint32_t rounds(std::uint32_t node) const { return monitor.summary().decisions.at({node}).round; }
  bool holds(std::size_t property) const { return monitor.verdicts()[property].holds; }
};

Outcome run(std::uint32_t nodes, const SyncFlooding::Setup& setup, std::optional<sim::Script> script = {}) {
  Outcome outcome;
  sim::Options options = {.nodes = nodes, .entries = 1, .script = std::move(script), .round_limit = 50};
  sim::World<SyncFlooding> world(options, setup, &outcome.monitor);
  world.set_header({.world = "sim"});
  outcome.report = world.run();
  EXPECT_EQ(outcome.report.broken, "");
  return outcome;
}

TEST(SyncFlooding, SendsItsValueInTheFirstRoundAndNothingAfterThatIfAllAreNeighbours) {
  Out out;
  SyncFlooding node = SyncFlooding::start({1}, {{1}, {2}, {3}}, {}, out);
  node.on_command(out, Propose{5});
  node.on_round(out, 1);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<SyncFlooding::Values>(out.sends[0].message).values, (Votes{{{1}, 5}}));
  out.clear();
  node.on_message(out, {2}, SyncFlooding::Values{{{{2}, 5}}});
  node.on_round(out, 2);
  EXPECT_TRUE(out.sends.empty());
}

TEST(SyncFlooding, PassesOnWhatIsNewAndNothingElse) {
  Out out;
  SyncFlooding node = SyncFlooding::start({2}, {{1}, {2}, {3}}, {.graph = line(3)}, out);
  node.on_command(out, Propose{5});
  node.on_round(out, 1);
  out.clear();
  node.on_message(out, {1}, SyncFlooding::Values{{{{1}, 7}, {{2}, 5}}});
  node.on_round(out, 2);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<SyncFlooding::Values>(out.sends[1].message).values, (Votes{{{1}, 7}}));
}

TEST(SyncFlooding, DecidesWhenItKnowsAllAndARoundBroughtNothing) {
  Out out;
  SyncFlooding node = SyncFlooding::start({1}, {{1}, {2}}, {.default_value = 9}, out);
  node.on_command(out, Propose{5});
  node.on_round(out, 1);
  node.on_message(out, {2}, SyncFlooding::Values{{{{2}, 6}}});
  node.on_round(out, 2);
  EXPECT_TRUE(out.events.empty());
  node.on_round(out, 3);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Decided>(out.events[0]).value, 9);
  node.on_round(out, 4);
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(SyncFlooding, OnACompleteGraphTakesTwoRoundsAndEachValueGoesToEverybodyOnce) {
  for (const std::uint32_t n : {2u, 3u, 6u, 11u}) {
    const Outcome all = run(n, {});
    EXPECT_EQ(all.report.messages, n * (n - 1)) << n;
    EXPECT_EQ(all.monitor.summary().rounds, 2u) << n;
  }
}

TEST(SyncFlooding, StopsOneRoundAfterItsEccentricity) {
  const Outcome six = run(6, {.values = {{{1}, 4}, {{2}, 4}, {{6}, 2}}, .graph = line(6)});
  const std::uint32_t expected[] = {6, 5, 4, 4, 5, 6};
  for (std::uint32_t i = 1; i <= 6; ++i) EXPECT_EQ(six.rounds(i), expected[i - 1]) << i;
  EXPECT_EQ(six.report.messages, 6u + 2 * (5 + 4 + 4 + 5) + 6u);
  for (std::size_t property : {0u, 1u, 2u}) EXPECT_TRUE(six.holds(property));
}

TEST(SyncFlooding, AloneDecidesInTheFirstRound) {
  const Outcome one = run(1, {.values = {{{1}, 3}}});
  EXPECT_EQ(one.rounds(1), 1u);
  EXPECT_EQ(one.monitor.summary().decisions.at({1}).value, 3);
}

TEST(SyncFlooding, WithoutRelayNobodyFinishesUnlessAllAreNeighbours) {
  const Outcome stuck = run(4, {.graph = line(4), .relay = Relay::never});
  EXPECT_FALSE(stuck.holds(0));
  EXPECT_EQ(stuck.monitor.summary().undecided.size(), 4u);
  EXPECT_TRUE(run(4, {.relay = Relay::never}).holds(0));
}

TEST(SyncFlooding, WithRelayACompleteGraphCostsTwiceAsMuch) {
  EXPECT_EQ(run(5, {.relay = Relay::always}).report.messages, 40u);
}

TEST(SyncFlooding, ACrashBeforeTheFirstBroadcastBlocksEverybody) {
  sim::Script script;
  for (std::uint32_t i = 1; i <= 4; ++i) script.push_back({.what = sim::Action::What::wish, .node = {i}});
  script.push_back({.what = sim::Action::What::crash, .node = {2}, .forever = true, .dying = true});
  const Outcome stuck = run(4, {}, script);
  EXPECT_FALSE(stuck.holds(0));
  EXPECT_EQ(stuck.monitor.summary().undecided, (NodeSet{{1}, {3}, {4}}));
}

}  // namespace
}  // namespace conclave::consensus
