#include "sim/world.hpp"

#include <gtest/gtest.h>

#include "protocols/mutex/spec.hpp"

// Small protocols that use what the mutual exclusion algorithms do not: a disk, timers, coins, lossy links.
// They grant every wish at once.

namespace conclave::sim {
namespace {

using mutex::Acquire;
using mutex::Granted;
using mutex::Release;

struct Ledger {  // counts its entries, on disk, and tells the others
  struct Note {
    std::uint64_t entries = 0;
    bool operator==(const Note&) const = default;
  };
  using Spec = mutex::Spec;
  using Message = std::variant<Note>;
  using Timer = NoTimer;
  using Setup = NoSetup;
  using Out = Effects<Ledger>;
  struct Durable {
    std::uint64_t entries = 0;
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t entries = 0;
  std::uint64_t heard = 0;
  bool operator==(const Ledger&) const = default;

  static Ledger start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self)};
  }
  static Ledger recover(NodeId self, const NodeSet& all, const Setup&, const Durable& durable, Out&) {
    return {.self = self, .peers = all.without(self), .entries = durable.entries};
  }
  void on_command(Out& out, const Acquire&) {
    ++entries;
    out.persist({entries});
    out.broadcast(peers, Note{entries});
    out.announce(Granted{{entries}});
  }
  void on_command(Out&, const Release&) {}
  void on_message(Out&, NodeId, const Note&) { ++heard; }
};
static_assert(Protocol<Ledger> && Recovers<Ledger>);

struct Beacon {  // sends to the others on a timer, over reliable links
  struct Light {
    bool operator==(const Light&) const = default;
  };
  using Spec = mutex::Spec;
  using Message = std::variant<Light>;
  enum class Timer { shine };
  using Setup = NoSetup;
  using Out = Effects<Beacon>;
  static constexpr Assumptions assumes = {.links = Links::reliable_fifo};
  static constexpr bool never_rests = true;

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t shone = 0;
  std::map<NodeId, std::uint64_t> seen = {};
  bool operator==(const Beacon&) const = default;

  static Beacon start(NodeId self, const NodeSet& all, const Setup&, Out& out) {
    out.arm(Timer::shine, {{100}, {120}});
    return {.self = self, .peers = all.without(self)};
  }
  void on_command(Out& out, const Acquire&) { out.announce(Granted{}); }
  void on_command(Out&, const Release&) {}
  void on_message(Out&, NodeId from, const Light&) { ++seen[from]; }
  void on_timer(Out& out, Timer) {
    ++shone;
    out.broadcast(peers, Light{});
    out.arm(Timer::shine, {{100}, {120}});
  }
};
static_assert(Protocol<Beacon> && HasTimers<Beacon>);

struct Gambler {  // enters when a coin has fallen
  struct Unused {
    bool operator==(const Unused&) const = default;
  };
  using Spec = mutex::Spec;
  using Message = std::variant<Unused>;
  using Timer = NoTimer;
  using Setup = NoSetup;
  using Out = Effects<Gambler>;
  static constexpr Assumptions assumes = {};

  std::vector<unsigned> faces = {};
  bool operator==(const Gambler&) const = default;

  static Gambler start(NodeId, const NodeSet&, const Setup&, Out&) { return {}; }
  void on_command(Out& out, const Acquire&) { out.choose(6); }
  void on_command(Out&, const Release&) {}
  void on_message(Out&, NodeId, const Unused&) {}
  void on_choice(Out& out, unsigned face) {
    faces.push_back(face);
    out.announce(Granted{});
  }
};
static_assert(Protocol<Gambler> && TossesCoins<Gambler>);

class Steps : public trace::Observer {
 public:
  void see(const trace::Step& step) override { steps.push_back(step); }
  std::vector<trace::Step> steps;
  std::vector<std::uint64_t> times(trace::Kind kind, std::uint32_t node) const {
    std::vector<std::uint64_t> found;
    for (const trace::Step& step : steps) {
      if (step.kind == kind && step.node == NodeId{node}) found.push_back(step.at.count);
    }
    return found;
  }
};

Action wish(std::uint64_t at, std::uint32_t node) {
  return {.what = Action::What::wish, .at = {at}, .node = {node}, .amount = 1};
}

Options scripted(std::uint32_t nodes, Script script) {
  Options options = {.nodes = nodes};
  options.delay.usual = {Delay::Shape::fixed, 10, 10};
  options.script = std::move(script);
  return options;
}

TEST(World, WhatIsPersistedIsDurableBeforeWhatIsSentLeaves) {
  Options options = scripted(2, {wish(0, 1)});
  options.sync_ticks = 50;
  Steps steps;
  World<Ledger> world(options, {}, &steps);
  world.run();
  EXPECT_EQ(steps.times(trace::Kind::deliver, 2), std::vector<std::uint64_t>{60});
}

TEST(World, ACrashTakesWhatWasNotSyncedAndWhatWouldHaveLeftAfterIt) {
  Options options = scripted(2, {wish(0, 1),
                                 {.what = Action::What::crash, .at = {20}, .node = {1}, .durable = false},
                                 {.what = Action::What::recover, .at = {30}, .node = {1}}});
  options.sync_ticks = 50;
  World<Ledger> world(options, {}, nullptr);
  world.run();
  EXPECT_EQ(world.cluster().node(0).entries, 0u);
  EXPECT_EQ(world.cluster().node(1).heard, 0u);
}

TEST(World, AnUnsyncedWriteMayAlsoSurviveButItsMessagesDoNotLeave) {
  Options options = scripted(2, {wish(0, 1),
                                 {.what = Action::What::crash, .at = {20}, .node = {1}},
                                 {.what = Action::What::recover, .at = {30}, .node = {1}}});
  options.sync_ticks = 50;
  World<Ledger> world(options, {}, nullptr);
  world.run();
  EXPECT_EQ(world.cluster().node(0).entries, 1u);
  EXPECT_EQ(world.cluster().node(1).heard, 0u);
}

TEST(World, OfSeveralUnsyncedWritesTheFirstMaySurvive) {
  for (const std::int64_t survive : {0, 1, 2, 3, 7}) {
    Options options = scripted(
        2, {wish(0, 1),
            wish(5, 1),
            wish(10, 1),
            {.what = Action::What::crash, .at = {20}, .node = {1}, .amount = survive, .durable = false},
            {.what = Action::What::recover, .at = {30}, .node = {1}}});
    options.sync_ticks = 50;
    Steps steps;
    World<Ledger> world(options, {}, &steps);
    world.run();
    const std::int64_t left = std::min<std::int64_t>(survive, 3);
    EXPECT_EQ(world.cluster().node(0).entries, static_cast<std::uint64_t>(left));
    EXPECT_EQ(world.cluster().node(1).heard, 0u);
    const auto crash = std::ranges::find(steps.steps, trace::Kind::crash, &trace::Step::kind);
    EXPECT_EQ(crash->input.type, writes_lost(static_cast<std::uint64_t>(3 - left)));
  }
}

TEST(World, WhatWaitsForAStalledDiskLeavesWhenItGoesOn) {
  const Script script = {{.what = Action::What::stall, .at = {1}, .node = {1}},
                         wish(10, 1),
                         wish(20, 1),
                         {.what = Action::What::flush, .at = {1000}, .node = {1}}};
  Steps steps;
  World<Ledger> world(scripted(2, script), {}, &steps);
  world.run();
  EXPECT_EQ(steps.times(trace::Kind::disk, 1), (std::vector<std::uint64_t>{1, 1000}));
  EXPECT_EQ(steps.times(trace::Kind::deliver, 2), (std::vector<std::uint64_t>{1010, 1010}));
}

TEST(World, AStallEndsWithTheFaultsOrWithACrash) {
  Steps steps;
  World<Ledger> patient(scripted(2, {{.what = Action::What::stall, .at = {1}, .node = {1}},
                                     wish(10, 1),
                                     {.what = Action::What::heal, .at = {100}}}),
                        {}, &steps);
  patient.run();
  EXPECT_EQ(steps.times(trace::Kind::deliver, 2), (std::vector<std::uint64_t>{111}));

  Steps after;
  World<Ledger> restarted(
      scripted(2, {{.what = Action::What::stall, .at = {1}, .node = {1}},
                   wish(10, 1),
                   {.what = Action::What::crash, .at = {100}, .node = {1}, .durable = false},
                   {.what = Action::What::recover, .at = {200}, .node = {1}, .durable = false},
                   wish(300, 1),
                   {.what = Action::What::flush, .at = {1000}, .node = {1}}}),
      {}, &after);
  restarted.run();
  EXPECT_EQ(after.times(trace::Kind::deliver, 2), (std::vector<std::uint64_t>{315}));
}

TEST(World, InaccurateTimersAreEarlyOrLateUntilThatEnds) {
  Options options = scripted(1, {{.what = Action::What::jitter, .at = {0}, .node = {1}, .amount = 50},
                                 {.what = Action::What::jitter, .at = {20'000}, .node = {1}, .amount = 0},
                                 wish(1'000'000, 1)});
  options.step_limit = 400;
  Steps steps;
  World<Beacon> world(options, {}, &steps);
  world.run();
  std::uint64_t last = 0;
  bool early = false;
  bool late = false;
  for (const std::uint64_t at : steps.times(trace::Kind::timer, 1)) {
    const std::uint64_t gap = at - std::exchange(last, at);
    const std::uint64_t least = at > 20'200 ? 100 : 50;
    EXPECT_GE(gap, least);
    EXPECT_LE(gap, at > 20'200 ? 120u : 180u);
    early |= gap < 90;
    late |= gap > 130;
  }
  EXPECT_TRUE(early && late);
  EXPECT_GT(last, 30'000u);
}

TEST(World, ANodeRecoversWithOrWithoutWhatItPersisted) {
  for (const bool durable : {true, false}) {
    World<Ledger> world(
        scripted(2, {wish(0, 1),
                     {.what = Action::What::crash, .at = {20}, .node = {1}},
                     {.what = Action::What::recover, .at = {30}, .node = {1}, .durable = durable}}),
        {}, nullptr);
    world.run();
    EXPECT_EQ(world.cluster().node(0).entries, durable ? 1u : 0u);
    EXPECT_EQ(world.cluster().node(1).heard, 1u);
  }
}

TEST(World, ANodeThatIsDownForeverStaysDown) {
  Steps steps;
  World<Ledger> world(
      scripted(2, {{.what = Action::What::crash, .at = {5}, .node = {2}, .forever = true}, wish(20, 1)}), {},
      &steps);
  const Report report = world.run();
  EXPECT_TRUE(steps.times(trace::Kind::recover, 2).empty());
  EXPECT_EQ(report.lost, 1u);
  EXPECT_TRUE(report.content);  // of those who stand
}

TEST(World, LosesAndDoublesTheMessagesThatTheScriptNames) {
  World<Ledger> world(scripted(3, {wish(0, 1),
                                   {.what = Action::What::lose, .node = {1}, .nth = 1},
                                   {.what = Action::What::duplicate, .node = {1}, .amount = 5, .nth = 2}}),
                      {}, nullptr);
  const Report report = world.run();
  EXPECT_EQ(world.cluster().node(1).heard, 0u);
  EXPECT_EQ(world.cluster().node(2).heard, 2u);
  EXPECT_EQ(report.lost, 1u);
  EXPECT_EQ(report.duplicated, 1u);
}

TEST(World, RatesDecideHowManyMessagesAreLost) {
  Options options = {.nodes = 2, .entries = 1000, .faults = {.loss = 0.25}};
  options.think = {Delay::Shape::fixed, 10, 10};
  World<Ledger> world(options, {}, nullptr);
  const Report report = world.run();
  EXPECT_NEAR(static_cast<double>(report.lost), 500, 60);
  EXPECT_TRUE(report.content);
}

TEST(World, OverLossyLinksACutLosesMessagesAndOverReliableOnesItHoldsThemBack) {
  const Script cut = {{.what = Action::What::partition, .at = {1}, .group = {NodeId{1}}},
                      wish(5, 1),
                      {.what = Action::What::heal, .at = {500}},
                      wish(1000, 1)};
  World<Ledger> lossy(scripted(2, cut), {}, nullptr);
  lossy.run();
  EXPECT_EQ(lossy.cluster().node(1).heard, 1u);  // only what was sent after the cut healed

  Options options = scripted(2, cut);
  Steps steps;
  World<Beacon> reliable(options, {}, &steps);
  const Report report = reliable.run();
  EXPECT_GE(report.held_back, 6u);
  const auto arrivals = steps.times(trace::Kind::deliver, 2);
  ASSERT_FALSE(arrivals.empty());
  EXPECT_GE(arrivals.front(), 510u);
}

TEST(World, AOneWayCutStopsOneDirectionOnlyAndABridgeReachesBothSides) {
  const auto seen = [](Action cut) {
    cut.what = Action::What::partition;
    cut.at = {1};
    Options options = scripted(3, {cut, wish(100'000, 1)});
    options.step_limit = 100;
    World<Beacon> world(options, {}, nullptr);
    world.run();
    std::vector<NodeSet> from(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      for (const auto& [node, count] : world.cluster().node(i).seen) from[i].insert(node);
    }
    return from;
  };
  const auto one_way = seen({.cut = Action::Cut::one_way, .group = {NodeId{1}}});
  EXPECT_EQ(one_way[0], (NodeSet{NodeId{2}, NodeId{3}}));
  EXPECT_EQ(one_way[1], (NodeSet{NodeId{3}}));
  const auto bridge = seen({.node = {2}, .cut = Action::Cut::bridge, .group = {NodeId{1}}});
  EXPECT_EQ(bridge[0], (NodeSet{NodeId{2}}));
  EXPECT_EQ(bridge[1], (NodeSet{NodeId{1}, NodeId{3}}));
  EXPECT_EQ(bridge[2], (NodeSet{NodeId{2}}));
}

TEST(World, TimersFireWithinTheirRange) {
  Options options = scripted(1, {wish(1'000'000, 1)});
  options.step_limit = 1000;
  Steps steps;
  World<Beacon> world(options, {}, &steps);
  world.run();
  std::uint64_t last = 0;
  NodeSet gaps;
  for (const std::uint64_t at : steps.times(trace::Kind::timer, 1)) {
    EXPECT_GE(at - last, 100u);
    EXPECT_LE(at - last, 120u);
    gaps.insert({static_cast<std::uint32_t>(at - last)});
    last = at;
  }
  EXPECT_GT(gaps.size(), 15u);  // drawn, not fixed
}

TEST(World, AFastClockFiresTimersEarlierAndAJumpFiresThemAtOnce) {
  Options options = scripted(1, {{.what = Action::What::drift, .at = {1}, .node = {1}, .amount = 1'000'000},
                                 {.what = Action::What::jump, .at = {10}, .node = {1}, .amount = 500},
                                 wish(1'000'000, 1)});
  options.step_limit = 100;
  Steps steps;
  World<Beacon> world(options, {}, &steps);
  world.run();
  const auto fired = steps.times(trace::Kind::timer, 1);
  ASSERT_GT(fired.size(), 10u);
  EXPECT_EQ(fired[0], 10u);
  for (std::size_t i = 1; i < fired.size(); ++i) {
    EXPECT_GE(fired[i] - fired[i - 1], 50u);  // twice as fast
    EXPECT_LE(fired[i] - fired[i - 1], 60u);
  }
}

TEST(World, APausedNodeCatchesUpInOrder) {
  Options options = scripted(2, {{.what = Action::What::pause, .at = {1}, .node = {2}},
                                 {.what = Action::What::resume, .at = {1000}, .node = {2}},
                                 wish(2000, 1)});
  Steps steps;
  World<Beacon> world(options, {}, &steps);
  world.run();
  const auto arrivals = steps.times(trace::Kind::deliver, 2);
  ASSERT_GT(arrivals.size(), 7u);
  EXPECT_EQ(arrivals[0], 1000u);
  std::uint64_t last_message = 0;
  for (const trace::Step& step : steps.steps) {
    if (step.kind != trace::Kind::deliver || step.node != NodeId{2}) continue;
    EXPECT_GT(*step.message, last_message);
    last_message = *step.message;
  }
}

TEST(World, CoinsFallOnEveryFace) {
  Options options = {.nodes = 1, .entries = 100};
  World<Gambler> world(options, {}, nullptr);
  world.run();
  std::vector<unsigned> counts(6);
  for (const unsigned face : world.cluster().node(0).faces) ++counts.at(face);
  for (const unsigned count : counts) EXPECT_GT(count, 5u);
}

TEST(World, LinksOfATableHaveTheirOwnDelays) {
  Options options = scripted(3, {wish(0, 1)});
  options.delay.per_link[{NodeId{1}, NodeId{3}}] = {Delay::Shape::fixed, 70, 70};
  Steps steps;
  World<Ledger> world(options, {}, &steps);
  world.run();
  EXPECT_EQ(steps.times(trace::Kind::deliver, 2), std::vector<std::uint64_t>{10});
  EXPECT_EQ(steps.times(trace::Kind::deliver, 3), std::vector<std::uint64_t>{70});
}

// How many messages arrive although one that was sent later by the same node has arrived before.
template <class P>
std::size_t overtaken(std::optional<bool> fifo) {
  Options options = {.nodes = 2, .entries = 400};
  options.delay.usual = {Delay::Shape::uniform, 1, 1000};
  options.fifo = fifo;
  options.run_on = true;
  options.step_limit = 5000;
  Steps steps;
  World<P> world(options, {}, &steps);
  world.run();
  std::map<NodeId, std::uint64_t> last;
  std::size_t arrivals = 0;
  std::size_t late = 0;
  for (const trace::Step& step : steps.steps) {
    if (step.kind != trace::Kind::deliver) continue;
    late += *step.message < last[*step.from];
    last[*step.from] = std::max(last[*step.from], *step.message);
    ++arrivals;
  }
  EXPECT_GT(arrivals, 500u);
  return late;
}

TEST(World, FifoLinksKeepTheirOrderUnderRandomDelays) {
  EXPECT_EQ(overtaken<Beacon>({}), 0u);
  EXPECT_GT(overtaken<Ledger>({}), 100u);
}

TEST(World, LinksMayKeepTheirOrderOrNotWhateverTheAlgorithmAssumes) {
  EXPECT_EQ(overtaken<Ledger>(true), 0u);
  EXPECT_GT(overtaken<Beacon>(false), 100u);
}

TEST(World, ARunFromASeedIsReplayedByItsScript) {
  Options options = {.nodes = 3, .entries = 4, .faults = Faults::everything(), .seed = 5, .record = true};
  World<Ledger> original(options, {}, nullptr);
  const Report report = original.run();
  ASSERT_GT(report.done.size(), 12u);
  Options again = options;
  again.faults = {};  // the script says how slow the disk is
  again.script = report.done;
  World<Ledger> replay(again, {}, nullptr);
  const Report replayed = replay.run();
  EXPECT_EQ(replayed.sent, report.sent);
  EXPECT_EQ(replayed.lost, report.lost);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(replay.cluster().node(i), original.cluster().node(i));
}

}  // namespace
}  // namespace conclave::sim
