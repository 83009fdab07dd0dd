#include "protocols/election/bully_polite.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/election_monitor.hpp"

namespace conclave::election {
namespace {

using Out = Effects<BullyPolite>;
using Timer = BullyPolite::Timer;
using What = sim::Action::What;

const NodeSet five = NodeSet::range({1}, 5);

template <class M>
std::vector<std::uint32_t> receivers(const Out& out) {
  std::vector<std::uint32_t> to;
  for (const auto& send : out.sends) {
    if (std::holds_alternative<M>(send.message)) to.push_back(send.to.value);
  }
  return to;
}
using Ids = std::vector<std::uint32_t>;

TEST(BullyPolite, AsksFromTheGreatestDownwardsUntilSomebodyAnswers) {
  Out out;
  BullyPolite node = BullyPolite::restart({4}, five, {}, out);
  EXPECT_EQ(receivers<BullyPolite::StatusQuery>(out), (Ids{3}));
  out.clear();
  node.on_timer(out, Timer::status);
  EXPECT_EQ(receivers<BullyPolite::StatusQuery>(out), (Ids{2}));
  out.clear();
  node.on_message(out, {2}, BullyPolite::Status{NodeId{5}});
  EXPECT_EQ(node.bully.elected, NodeId{5});
  EXPECT_TRUE(out.sends.empty());
}

TEST(BullyPolite, RunsForElectionIfNobodyAnswers) {
  Out out;
  BullyPolite node = BullyPolite::restart({2}, five, {}, out);
  out.clear();
  node.on_timer(out, Timer::status);
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{3, 4, 5}));
}

TEST(BullyPolite, RunsForElectionIfNobodyLeadsOrItIsTakenForItsFormerSelf) {
  for (const std::optional<NodeId> said : {std::optional<NodeId>{}, std::optional(NodeId{4})}) {
    Out out;
    BullyPolite node = BullyPolite::restart({4}, five, {}, out);
    out.clear();
    node.on_message(out, {3}, BullyPolite::Status{said});
    EXPECT_EQ(receivers<Bully::Election>(out), (Ids{5}));
  }
}

TEST(BullyPolite, AnElectionOrItsOutcomeEndsTheQuestions) {
  Out out;
  BullyPolite node = BullyPolite::restart({4}, five, {}, out);
  out.clear();
  node.on_message(out, {5}, Bully::Coordinator{});
  EXPECT_EQ(node.bully.elected, NodeId{5});
  ASSERT_EQ(out.disarmed.size(), 1u);
  EXPECT_EQ(out.disarmed[0], Timer::status);
  out.clear();
  node.on_message(out, {3}, BullyPolite::Status{NodeId{1}});
  EXPECT_EQ(node.bully.elected, NodeId{5});
}

TEST(BullyPolite, SaysWhomItTakesForTheCoordinator) {
  Out out;
  BullyPolite node = BullyPolite::start({2}, five, {.coordinator = NodeId{4}}, out);
  out.clear();
  node.on_message(out, {5}, BullyPolite::StatusQuery{});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(std::get<BullyPolite::Status>(out.sends[0].message).coordinator, NodeId{4});
}

struct Outcome {
  sim::Report report;
  trace::ElectionMonitor monitor{trace::ElectionMonitor::Winner::any_live};
};

Outcome run(sim::Options options, const BullyPolite::Setup& setup) {
  Outcome result;
  options.ranked = true;
  sim::World<BullyPolite> world(options, setup, &result.monitor);
  world.set_header({});
  result.report = world.run();
  return result;
}

TEST(BullyPolite, TheGreatestThatComesBackLeavesAWorkingCoordinatorInOffice) {
  sim::Options options = {.nodes = 8, .members = NodeSet::range({0}, 8)};
  options.script = sim::Script{{.what = What::crash, .node = {7}}, {.what = What::recover, .node = {7}}};
  options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
  const Outcome result = run(options, {.policy = {.bounds = {{1}, {0}}}, .coordinator = NodeId{6}});
  EXPECT_EQ(result.report.messages, 2u);
  EXPECT_EQ(result.report.sent.at("StatusQuery"), 1u);
  EXPECT_EQ(result.monitor.summary().leader, NodeId{6});
  EXPECT_TRUE(result.monitor.verdicts()[3].holds) << "stability";
}

TEST(BullyPolite, EverybodyEndsWithACoordinatorThoughProcessesCrashAndComeBack) {
  std::uint64_t asked = 0;
  for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 8u}) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      sim::Options options = {.nodes = nodes, .entries = 2, .seed = seed};
      options.think = {sim::Delay::Shape::uniform, 0, 200};
      options.delay.usual = {sim::Delay::Shape::uniform, 1, 10};
      options.faults = sim::Faults::allowed_by(BullyPolite::assumes);
      options.step_limit = 200'000;
      const Outcome result = run(options, {});
      EXPECT_TRUE(result.monitor.verdicts()[1].holds) << nodes << " nodes, seed " << seed;
      EXPECT_TRUE(result.report.quiet) << nodes << " nodes, seed " << seed;
      asked += result.report.sent.at("StatusQuery");
    }
  }
  EXPECT_GT(asked, 40u);
}

}  // namespace
}  // namespace conclave::election
