#include "protocols/consensus/sync_crash_tolerant.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::consensus {
namespace {

enum Property { termination, agreement, integrity, validity, uniform };

struct Death {
  NodeId node = {};
  std::uint64_t round = 1;
  NodeSet reaches = {};
};

struct Outcome {
  sim::Report report = {};
  trace::ConsensusMonitor monitor = trace::ConsensusMonitor();
  bool holds(Property property) const { return monitor.verdicts()[property].holds; }
  Value decision(std::uint32_t node) const { return monitor.summary().decisions.at({node}).value; }
};

Outcome run(std::uint32_t nodes, const SyncCrashTolerant::Setup& setup, const std::vector<Death>& deaths) {
  sim::Script script;
  for (std::uint32_t i = 1; i <= nodes; ++i) script.push_back({.what = sim::Action::What::wish, .node = {i}});
  for (const Death& death : deaths) {
    script.push_back({.what = sim::Action::What::crash,
                      .at = {(death.round - 1) * sim::round_length},
                      .node = death.node,
                      .forever = true,
                      .dying = true,
                      .group = death.reaches});
  }
  Outcome outcome;
  sim::World<SyncCrashTolerant> world({.nodes = nodes, .script = script}, setup, &outcome.monitor);
  world.set_header({.world = "sim"});
  outcome.report = world.run();
  EXPECT_EQ(outcome.report.broken, "");
  return outcome;
}

TEST(SyncCrashTolerant, DecidesAfterExactlyItsRoundsAndNotBefore) {
  SyncCrashTolerant::Out out;
  SyncCrashTolerant node = SyncCrashTolerant::start({1}, {{1}, {2}}, {.rounds = 3}, out);
  node.on_command(out, Propose{5});
  for (std::uint32_t round = 1; round <= 3; ++round) node.on_round(out, round);
  EXPECT_TRUE(out.events.empty());
  node.on_round(out, 4);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Decided>(out.events[0]).value, 5);
}

TEST(SyncCrashTolerant, OneRoundIsTooFewForOneCrash) {
  const SyncCrashTolerant::Setup one_round = {
      .values = {{{1}, 1}, {{2}, 0}, {{3}, 1}, {{4}, 0}}, .default_value = 9, .rounds = 1};
  const Outcome split = run(4, one_round, {{{1}, 1, {{2}}}});
  EXPECT_EQ(split.decision(2), 9);
  EXPECT_EQ(split.decision(3), 0);
  EXPECT_FALSE(split.holds(agreement));
  SyncCrashTolerant::Setup two_rounds = one_round;
  two_rounds.rounds = 2;
  const Outcome agreed = run(4, two_rounds, {{{1}, 1, {{2}}}});
  EXPECT_TRUE(agreed.holds(agreement));
  EXPECT_EQ(agreed.decision(3), 9);
}

// Every crash of every process in every round with every set of receivers, for all values of 0, 1 and 2.
TEST(SyncCrashTolerant, TwoRoundsAgreeInEveryRunWithOneCrash) {
  constexpr std::uint32_t n = 4;
  std::uint32_t runs = 0;
  for (std::uint32_t values = 0; values < 81; ++values) {
    SyncCrashTolerant::Setup setup = {.default_value = 9, .rounds = 2};
    std::uint32_t rest = values;
    for (std::uint32_t i = 1; i <= n; ++i, rest /= 3) setup.values[{i}] = rest % 3;
    for (std::uint64_t round = 1; round <= 2; ++round) {
      for (std::uint32_t reached = 0; reached < 8; ++reached) {
        Death death = {{1}, round, {}};
        for (std::uint32_t i = 0; i < 3; ++i) {
          if (reached >> i & 1) death.reaches.insert({i + 2});
        }
        const Outcome one = run(n, setup, {death});
        for (const Property property : {termination, agreement, integrity, uniform})
          ASSERT_TRUE(one.holds(property)) << one.monitor.verdicts()[property].why;
        ASSERT_LE(one.report.messages, 2 * n * (n - 1));
        ++runs;
      }
    }
  }
  EXPECT_EQ(runs, 81u * 2 * 8);
}

TEST(SyncCrashTolerant, AChainOfTwoCrashesNeedsAThirdRound) {
  // 1 tells only 2, and 2 passes it on only to 3: after two rounds 3 knows more than 4 and 5.
  const SyncCrashTolerant::Setup setup = {
      .values = {{{1}, 7}, {{2}, 7}, {{3}, 7}, {{4}, 0}, {{5}, 0}}, .default_value = 9, .rounds = 2};
  const std::vector<Death> chain = {{{1}, 1, {{2}}}, {{2}, 2, {{3}}}};
  EXPECT_FALSE(run(5, setup, chain).holds(agreement));
  SyncCrashTolerant::Setup longer = setup;
  longer.rounds = 3;
  EXPECT_TRUE(run(5, longer, chain).holds(agreement));
}

TEST(SyncCrashTolerant, WhereMoreCrashThanSurviveTheDeadOutvoteTheLiving) {
  const SyncCrashTolerant::Setup setup = {
      .values = {{{1}, 5}, {{2}, 8}, {{3}, 8}}, .default_value = 9, .rounds = 3};
  const Outcome outvoted = run(3, setup, {{{2}, 2, {}}, {{3}, 2, {}}});
  EXPECT_EQ(outvoted.decision(1), 8);
  EXPECT_FALSE(outvoted.holds(integrity));
  EXPECT_TRUE(outvoted.holds(agreement));
}

TEST(SyncCrashTolerant, WithoutCrashesEverybodySpeaksTwice) {
  for (const std::uint32_t n : {3u, 5u, 8u}) {
    EXPECT_EQ(run(n, {.rounds = 2}, {}).report.messages, 2 * n * (n - 1));
    EXPECT_EQ(run(n, {.rounds = 5}, {}).report.messages, 2 * n * (n - 1));
    EXPECT_EQ(run(n, {.rounds = 5}, {}).monitor.summary().rounds, 5u);
  }
}

}  // namespace
}  // namespace conclave::consensus
