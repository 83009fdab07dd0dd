#include "protocols/election/bully.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "sim/world.hpp"
#include "trace/election_monitor.hpp"
#include "trace/tee.hpp"

namespace conclave::election {
namespace {

using Out = Effects<Bully>;
using Phase = Bully::Phase;
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

std::optional<NodeId> told(const Out& out) {
  for (const auto& event : out.events) {
    if (const auto* elected = std::get_if<Elected>(&event)) return elected->leader;
  }
  return std::nullopt;
}

using Ids = std::vector<std::uint32_t>;

TEST(Bully, ACallerCallsEverybodyAboveIt) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_command(out, Start{});
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{4, 5}));
  EXPECT_EQ(node.phase, Phase::candidate);
  ASSERT_EQ(out.armed.size(), 1u);
  EXPECT_EQ(out.armed[0].after.min, Ticks{21});
}

TEST(Bully, WhoeverIsCalledAnswersAndCallsUnlessItDoesAlready) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_message(out, {1}, Bully::Election{});
  EXPECT_EQ(receivers<Bully::Answer>(out), (Ids{1}));
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{4, 5}));
  out.clear();
  node.on_message(out, {2}, Bully::Election{});
  EXPECT_EQ(receivers<Bully::Answer>(out), (Ids{2}));
  EXPECT_TRUE(receivers<Bully::Election>(out).empty());
}

TEST(Bully, ACallerThatHearsNothingAnnouncesItself) {
  Out out;
  Bully node = Bully::start({4}, five, {}, out);
  node.on_command(out, Start{});
  out.clear();
  node.on_timer(out, Bully::Timer::answer);
  EXPECT_EQ(receivers<Bully::Coordinator>(out), (Ids{1, 2, 3}));
  EXPECT_EQ(told(out), NodeId{4});
}

TEST(Bully, TheGreatestAnnouncesItselfAtOnce) {
  Out out;
  Bully node = Bully::start({5}, five, {}, out);
  node.on_command(out, Start{});
  EXPECT_EQ(receivers<Bully::Coordinator>(out), (Ids{1, 2, 3, 4}));
  EXPECT_FALSE(node.running());
}

TEST(Bully, WhoKnowsThatAllAboveAreDeadAnnouncesItselfAtOnce) {
  Out out;
  Bully node = Bully::start({4}, five, {.known_dead = {NodeId{5}}}, out);
  node.on_command(out, Start{});
  EXPECT_EQ(receivers<Bully::Coordinator>(out), (Ids{1, 2, 3}));
  EXPECT_TRUE(receivers<Bully::Election>(out).empty());
}

TEST(Bully, AnAnswerIsFollowedByASecondWaitAndIfThatIsInVainByANewCall) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_command(out, Start{});
  out.clear();
  node.on_message(out, {4}, Bully::Answer{});
  EXPECT_EQ(node.phase, Phase::waiting);
  ASSERT_EQ(out.armed.size(), 1u);
  EXPECT_EQ(out.armed[0].after.min, Ticks{42});
  out.clear();
  node.on_timer(out, Bully::Timer::outcome);
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{4, 5}));
}

TEST(Bully, AnAnnouncementEndsTheElection) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_command(out, Start{});
  out.clear();
  node.on_message(out, {5}, Bully::Coordinator{});
  EXPECT_EQ(told(out), NodeId{5});
  EXPECT_FALSE(node.running());
  ASSERT_EQ(out.disarmed.size(), 1u);
  EXPECT_EQ(out.disarmed[0], Bully::Timer::answer);
}

TEST(Bully, ACallThatCrossedTheAnnouncementIsAnsweredAndStartsNothing) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_message(out, {5}, Bully::Coordinator{});
  ASSERT_EQ(out.armed.size(), 1u);
  EXPECT_EQ(out.armed[0].timer, Bully::Timer::settled);
  out.clear();
  node.on_message(out, {2}, Bully::Election{});
  EXPECT_EQ(receivers<Bully::Answer>(out), (Ids{2}));
  EXPECT_EQ(out.sends.size(), 1u);
  out.clear();
  node.on_timer(out, Bully::Timer::settled);
  node.on_message(out, {2}, Bully::Election{});
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{4, 5}));
}

TEST(Bully, ButAWishOfItsClientDoes) {
  Out out;
  Bully node = Bully::start({3}, five, {}, out);
  node.on_message(out, {5}, Bully::Coordinator{});
  out.clear();
  node.on_command(out, Start{});
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{4, 5}));
}

TEST(Bully, ACoordinatorThatHasJustAnnouncedItselfTellsOnlyWhoCallsAgain) {
  Out out;
  Bully node = Bully::start({5}, five, {}, out);
  node.on_command(out, Start{});
  out.clear();
  node.on_message(out, {2}, Bully::Election{});
  EXPECT_EQ(receivers<Bully::Answer>(out), (Ids{2}));
  EXPECT_EQ(receivers<Bully::Coordinator>(out), (Ids{2}));
}

TEST(Bully, SentToAllAnAnnouncementOfASmallerOneIsContested) {
  Out out;
  Bully node = Bully::start({3}, five, {.policy = {.sends_to_all = true}}, out);
  node.on_message(out, {2}, Bully::Coordinator{});
  EXPECT_EQ(receivers<Bully::Election>(out), (Ids{1, 2, 4, 5}));
  EXPECT_FALSE(told(out));
}

TEST(Bully, SentToAllACallOfAGreaterOneIsIgnored) {
  Out out;
  Bully node = Bully::start({3}, five, {.policy = {.sends_to_all = true}}, out);
  node.on_message(out, {4}, Bully::Election{});
  EXPECT_TRUE(out.sends.empty());
}

TEST(Bully, DelayedTheSmallerWaitTwoTForEachOneAboveThem) {
  for (const std::uint32_t id : {1u, 3u, 4u}) {
    Out out;
    Bully node = Bully::start({id}, five, {.policy = {.delays_start = true}}, out);
    node.on_message(out, {0}, Bully::Election{});
    EXPECT_EQ(receivers<Bully::Answer>(out), (Ids{0}));
    ASSERT_EQ(out.armed.size(), 1u);
    EXPECT_EQ(out.armed[0].after.min, Ticks{(5 - id) * 42});
    out.clear();
    node.on_message(out, {5}, Bully::Coordinator{});
    ASSERT_EQ(out.disarmed.size(), 1u);
    EXPECT_EQ(out.disarmed[0], Bully::Timer::start);
  }
}

TEST(Bully, AProcessThatComesBackRunsForElection) {
  Out out;
  const Bully node = Bully::restart({5}, five, {.coordinator = NodeId{4}}, out);
  EXPECT_EQ(node.elected, NodeId{5});
  EXPECT_EQ(receivers<Bully::Coordinator>(out), (Ids{1, 2, 3, 4}));
}

// Runs.

class Sends : public trace::Observer {
 public:
  using Row = std::tuple<std::uint64_t, std::string, std::uint32_t, std::uint32_t>;
  void see(const trace::Step& step) override {
    for (const trace::Sent& sent : step.sends)
      rows.push_back({step.at.count, sent.what.type, step.node->value, sent.to.value});
  }
  std::vector<Row> rows;
};

struct Outcome {
  sim::Report report;
  trace::ElectionMonitor monitor;
  std::vector<Sends::Row> sends;
};

Outcome run(sim::Options options, const Bully::Setup& setup) {
  Outcome result;
  Sends sends;
  trace::Tee both({&result.monitor, &sends});
  options.ranked = true;
  sim::World<Bully> world(options, setup, &both);
  world.set_header({});
  result.report = world.run();
  result.sends = std::move(sends.rows);
  return result;
}

// Ids 0 … n-1, the greatest is dead, messages take one tick, T = 2.
Outcome run_without_greatest(std::uint32_t n, const NodeSet& starters, Bully::Policy policy = {}) {
  policy.bounds = {{1}, {0}};
  sim::Options options = {.nodes = n, .members = NodeSet::range({0}, n)};
  options.script = sim::Script{{.what = What::crash, .node = {n - 1}, .forever = true}};
  for (NodeId node : starters) options.script->push_back({.what = What::wish, .node = node});
  options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
  options.detector = false;
  return run(options, {.policy = policy, .coordinator = NodeId{n - 1}});
}

sim::Options random_run(std::uint32_t nodes, std::uint64_t seed, std::uint64_t longest) {
  sim::Options options = {.nodes = nodes, .entries = 2, .seed = seed};
  options.think = {sim::Delay::Shape::uniform, 0, 200};
  options.delay.usual = {sim::Delay::Shape::uniform, 1, longest};
  options.faults = sim::Faults::allowed_by(Bully::assumes);
  options.step_limit = 200'000;
  return options;
}

bool holds(const trace::Monitor& monitor, std::string_view property) {
  for (const trace::Verdict& verdict : monitor.verdicts()) {
    if (verdict.property == property) return verdict.holds;
  }
  return false;
}

TEST(Bully, SixProcessesOfEightElectTheSeventhInThreeTicks) {
  const Outcome result = run_without_greatest(8, {NodeId{4}});
  const std::vector<Sends::Row> expected = {
      {0, "Election", 4, 5},    {0, "Election", 4, 6},    {0, "Election", 4, 7},    {1, "Answer", 5, 4},
      {1, "Election", 5, 6},    {1, "Election", 5, 7},    {1, "Answer", 6, 4},      {1, "Election", 6, 7},
      {2, "Answer", 6, 5},      {3, "Coordinator", 6, 0}, {3, "Coordinator", 6, 1}, {3, "Coordinator", 6, 2},
      {3, "Coordinator", 6, 3}, {3, "Coordinator", 6, 4}, {3, "Coordinator", 6, 5}};
  EXPECT_EQ(result.sends, expected);
  EXPECT_EQ(result.report.lost, 3u);
  EXPECT_EQ(result.monitor.summary().leader, NodeId{6});
}

TEST(Bully, TheNumberOfMessagesIsThatOfTheFormula) {
  for (const std::uint32_t n : {2u, 3u, 4u, 5u, 8u, 10u, 33u}) {
    for (std::uint32_t k = 0; k + 1 < n; ++k) {
      const std::uint64_t p = n - 1 - k;
      const Outcome plain = run_without_greatest(n, {NodeId{k}});
      EXPECT_EQ(plain.report.sent.at("Election"), p * (p + 1) / 2);
      EXPECT_EQ(plain.report.sent.at("Answer"), p * (p - 1) / 2);
      EXPECT_EQ(plain.report.sent.at("Coordinator"), n - 2);
      EXPECT_EQ(plain.report.messages, p * p + n - 2);

      const Outcome to_all = run_without_greatest(n, {NodeId{k}}, {.sends_to_all = true});
      EXPECT_EQ(to_all.report.messages, p * (n - 1) + p * (p - 1) / 2 + (n - 1));

      const Outcome delayed = run_without_greatest(n, {NodeId{k}}, {.delays_start = true});
      EXPECT_EQ(delayed.report.messages, p == 1 ? n - 1 : 2 * p + n - 2);

      for (const Outcome* result : {&plain, &to_all, &delayed}) {
        EXPECT_EQ(result->monitor.summary().leader, NodeId{n - 2});
        EXPECT_TRUE(result->report.content);
        EXPECT_TRUE(result->report.quiet);
      }
    }
    EXPECT_EQ(run_without_greatest(n, NodeSet::range({0}, n - 1)).report.messages, n * n - n - 1);
  }
}

TEST(Bully, ReplacedByItsLikeACrashedProcessCanMakeTwoCoordinators) {
  sim::Options options = {.nodes = 4};
  options.script = sim::Script{{.what = What::crash, .node = {4}},
                               {.what = What::wish, .node = {3}},
                               {.what = What::recover, .at = {6}, .node = {4}}};
  options.detector = false;
  const auto takes = [](std::uint64_t ticks) { return sim::Delay{sim::Delay::Shape::fixed, ticks, ticks}; };
  options.delay.usual = takes(4);
  for (const auto& [from, to, ticks] :
       {std::tuple{4u, 1u, 1u}, {4u, 2u, 4u}, {4u, 3u, 4u}, {3u, 1u, 2u}, {3u, 2u, 1u}})
    options.delay.per_message[{"Coordinator", NodeId{from}, NodeId{to}}] = takes(ticks);
  const Outcome result = run(options, {.policy = {.bounds = {{4}, {0}}}});
  EXPECT_EQ(result.monitor.elected({1}), NodeId{3});
  EXPECT_EQ(result.monitor.elected({2}), NodeId{4});
  EXPECT_EQ(result.monitor.elected({3}), NodeId{4});
  EXPECT_EQ(result.monitor.elected({4}), NodeId{4});
  EXPECT_FALSE(holds(result.monitor, "E1"));
  EXPECT_TRUE(holds(result.monitor, "E2"));
  EXPECT_EQ(result.report.sent.at("Election"), 1u);
  EXPECT_EQ(result.report.sent.at("Coordinator"), 5u);
}

TEST(Bully, ReplacementsDuringAnElectionMakeTwoCoordinatorsWithinAFewSeeds) {
  int two = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::Options options = random_run(4, seed, 10);
    options.faults = {};
    options.script = sim::Script{{.what = What::crash, .node = {4}},
                                 {.what = What::wish, .node = {3}},
                                 {.what = What::recover, .at = {1 + seed % 21}, .node = {4}}};
    options.detector = false;
    const Outcome result = run(options, {});
    EXPECT_TRUE(holds(result.monitor, "E2"));
    two += !holds(result.monitor, "E1");
  }
  EXPECT_GT(two, 0);
}

// 2 calls 3 and 4; 3 and 4 answer, and 4 dies before it announces itself, 3 with it.
Outcome run_answerers_die(Bully::Deviation deviation) {
  sim::Options options = {.nodes = 5};
  options.script = sim::Script{{.what = What::crash, .node = {5}, .forever = true},
                               {.what = What::wish, .node = {2}},
                               {.what = What::crash, .at = {2}, .node = {4}, .forever = true},
                               {.what = What::crash, .at = {2}, .node = {3}, .forever = true}};
  options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
  options.detector = false;
  return run(options, {.policy = {.bounds = {{1}, {0}}, .deviation = deviation}});
}

TEST(Bully, WhenWhoeverAnsweredDiesTheSecondWaitSavesTheElection) {
  const Outcome result = run_answerers_die(Bully::Deviation::none);
  EXPECT_TRUE(holds(result.monitor, "E1"));
  EXPECT_TRUE(holds(result.monitor, "E2"));
  EXPECT_EQ(result.monitor.elected({1}), NodeId{2});
}

TEST(Bully, WithoutTheSecondWaitItIsLost) {
  const Outcome result = run_answerers_die(Bully::Deviation::no_second_wait);
  EXPECT_FALSE(holds(result.monitor, "E2"));
  EXPECT_TRUE(result.report.quiet);
}

TEST(Bully, StartingEachTimeOneIsCalledCostsMoreAndAnnouncesTwice) {
  const Bully::Policy to_all = {.sends_to_all = true};
  const Outcome good = run_without_greatest(8, {NodeId{4}}, to_all);
  EXPECT_EQ(good.report.sent.at("Election"), 21u);
  EXPECT_EQ(good.report.sent.at("Coordinator"), 7u);
  EXPECT_EQ(good.report.messages, 31u);
  const Outcome bad = run_without_greatest(
      8, {NodeId{4}}, {.sends_to_all = true, .deviation = Bully::Deviation::always_start});
  EXPECT_EQ(bad.report.sent.at("Election"), 28u);
  EXPECT_EQ(bad.report.sent.at("Coordinator"), 14u);
  EXPECT_EQ(bad.monitor.summary().leader, NodeId{6});
}

// All are alive, and the least one calls.
std::uint64_t messages_with_all_alive(std::uint32_t nodes, Bully::Deviation deviation) {
  sim::Options options = {.nodes = nodes, .step_limit = 100'000};
  options.script = sim::Script{{.what = What::wish, .node = {1}}};
  options.delay.usual = {sim::Delay::Shape::uniform, 1, 10};
  const Outcome result = run(options, {.policy = {.deviation = deviation}});
  EXPECT_EQ(result.monitor.elected({1}), NodeId{nodes});
  return result.report.messages;
}

TEST(Bully, WithoutThePauseCallsAndAnnouncementsThatCrossMakeAStorm) {
  for (const std::uint32_t nodes : {5u, 15u, 30u})
    EXPECT_LE(messages_with_all_alive(nodes, Bully::Deviation::none), 3 * nodes * nodes / 2);
  EXPECT_GT(messages_with_all_alive(15, Bully::Deviation::no_pause), 15u * 15 * 15);
}

TEST(Bully, TheGreatestThatComesBackDeposesAWorkingCoordinator) {
  sim::Options options = {.nodes = 8, .members = NodeSet::range({0}, 8)};
  options.script = sim::Script{{.what = What::crash, .node = {7}}, {.what = What::recover, .node = {7}}};
  options.detector = false;
  options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
  const Outcome result = run(options, {.policy = {.bounds = {{1}, {0}}}, .coordinator = NodeId{6}});
  EXPECT_EQ(result.report.messages, 7u);
  EXPECT_EQ(result.report.sent.at("Coordinator"), 7u);
  EXPECT_EQ(result.monitor.summary().leader, NodeId{7});
  EXPECT_FALSE(holds(result.monitor, "stability"));
}

TEST(Bully, KeepsItsPromisesWhateverCrashesIfTheBoundsHold) {
  for (const Bully::Policy& policy : {Bully::Policy{}, {.sends_to_all = true}, {.delays_start = true}}) {
    for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 8u}) {
      for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        const Outcome result = run(random_run(nodes, seed, 10), {.policy = policy});
        EXPECT_TRUE(holds(result.monitor, "E1")) << nodes << " nodes, seed " << seed;
        EXPECT_TRUE(holds(result.monitor, "E2")) << nodes << " nodes, seed " << seed;
        EXPECT_TRUE(result.report.quiet) << nodes << " nodes, seed " << seed;
      }
    }
  }
}

TEST(Bully, WithBoundsThatDoNotHoldItElectsTheWrongOne) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    wrong += !holds(run(random_run(5, seed, 60), {}).monitor, "E1");
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace conclave::election
