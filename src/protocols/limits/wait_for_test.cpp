#include "protocols/limits/wait_for.hpp"

#include <gtest/gtest.h>

#include "sim/stage_of.hpp"
#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::limits {
namespace {

static_assert(Protocol<WaitFor>);

const NodeSet members = {{1}, {2}, {3}};
const consensus::Votes values = {{{1}, 0}, {{2}, 1}, {{3}, 1}};

TEST(WaitFor, AllBlocksWhenOneCrashes) {
  trace::ConsensusMonitor monitor;
  sim::StageOf<WaitFor> stage(members, {.values = values, .votes = 3}, &monitor);
  stage.crash({3});
  EXPECT_EQ(stage.command({1}, "Propose"), "");
  EXPECT_EQ(stage.command({2}, "Propose"), "");
  while (stage.deliver_oldest()) {
  }
  stage.end();
  EXPECT_TRUE(monitor.summary().decisions.empty());
  EXPECT_FALSE(monitor.verdicts()[0].holds);
}

TEST(WaitFor, AllButOneDisagreesThoughNobodyFails) {
  trace::ConsensusMonitor monitor;
  sim::StageOf<WaitFor> stage(members, {.values = values, .votes = 2}, &monitor);
  for (NodeId node : members) EXPECT_EQ(stage.command(node, "Propose"), "");
  EXPECT_EQ(stage.deliver({2}, {1}, "Vote", true), "");
  EXPECT_EQ(stage.deliver({3}, {2}, "Vote", true), "");
  while (stage.deliver_oldest()) {
  }
  stage.end();
  EXPECT_EQ(monitor.summary().decisions.at({1}).value, 0);  // a tie
  EXPECT_EQ(monitor.summary().decisions.at({2}).value, 1);
  EXPECT_FALSE(monitor.verdicts()[1].holds);
}

TEST(WaitFor, SeedsFindTheDisagreementToo) {
  std::uint32_t disagreements = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    trace::ConsensusMonitor monitor;
    sim::World<WaitFor> world({.nodes = 3, .entries = 1, .seed = seed}, {.values = values, .votes = 2},
                              &monitor);
    world.run();
    if (!monitor.verdicts()[1].holds) ++disagreements;
  }
  EXPECT_GT(disagreements, 10u);
}

TEST(WaitFor, AllAgreesWhenNobodyFails) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    trace::ConsensusMonitor monitor;
    sim::World<WaitFor> world({.nodes = 3, .entries = 1, .seed = seed}, {.values = values, .votes = 3},
                              &monitor);
    world.set_header({.world = "sim"});
    world.run();
    for (const trace::Verdict& verdict : monitor.verdicts()) EXPECT_TRUE(verdict.holds) << verdict.why;
  }
}

}  // namespace
}  // namespace conclave::limits
