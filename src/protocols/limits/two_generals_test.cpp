#include "protocols/limits/two_generals.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::limits {
namespace {

static_assert(Protocol<TwoGenerals>);

// What the two decide, with the nth message of one of them lost.
trace::ConsensusMonitor run(std::uint32_t messages, std::optional<sim::Action> loss) {
  trace::ConsensusMonitor monitor;
  sim::Options options = {.nodes = 2};
  options.script = sim::Script{{.what = sim::Action::What::wish, .node = {1}}};
  if (loss) options.script->push_back(*loss);
  sim::World<TwoGenerals> world(options, {.first = {1}, .messages = messages}, &monitor);
  world.set_header({.world = "sim"});
  EXPECT_EQ(world.run().broken, "");
  return monitor;
}

sim::Action lose(NodeId sender, std::uint64_t nth) {
  return {.what = sim::Action::What::lose, .node = sender, .nth = nth};
}

TEST(TwoGenerals, BothAttackIfNothingIsLost) {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    const auto decisions = run(k, {}).summary().decisions;
    EXPECT_EQ(decisions.at({1}).value, attack) << k;
    EXPECT_EQ(decisions.at({2}).value, attack) << k;
  }
}

TEST(TwoGenerals, ExactlyTheSenderOfTheLastMessageAttacksIfThatIsLost) {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    const NodeId sender = {k % 2 == 1 ? 1u : 2u};
    const NodeId receiver = {k % 2 == 1 ? 2u : 1u};
    const auto monitor = run(k, lose(sender, (k + 1) / 2));
    EXPECT_EQ(monitor.summary().decisions.at(sender).value, attack) << k;
    EXPECT_EQ(monitor.summary().decisions.at(receiver).value, retreat) << k;
    EXPECT_FALSE(monitor.verdicts()[1].holds) << k;
  }
}

TEST(TwoGenerals, LosingAnEarlierMessageEndsTheHandshakeThere) {
  // The sender of the second has heard the first, but waits for the third; the first general never hears
  // the second: both retreat.
  const auto monitor = run(3, lose({2}, 1));
  EXPECT_EQ(monitor.summary().messages, 2u);
  EXPECT_EQ(monitor.summary().decisions.at({1}).value, retreat);
  EXPECT_EQ(monitor.summary().decisions.at({2}).value, retreat);
  EXPECT_TRUE(monitor.verdicts()[1].holds);
}

}  // namespace
}  // namespace conclave::limits
