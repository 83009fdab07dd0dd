// The inputs a world has for protocols that ask for them: rounds, bounces, restarts, clocks, crash notices.
#include <gtest/gtest.h>

#include "protocols/election/spec.hpp"
#include "sim/world.hpp"

namespace conclave::sim {
namespace {

using election::Elected;
using election::Participating;
using election::Start;

struct Flood {  // tells all others its id in the first round, and decides in the third
  struct Hello {
    bool operator==(const Hello&) const = default;
  };
  using Spec = election::Spec;
  using Message = std::variant<Hello>;
  using Timer = NoTimer;
  using Setup = NoSetup;
  using Out = Effects<Flood>;
  static constexpr Assumptions assumes = {.crashes = Crashes::stop, .timing = Timing::synchronous};

  NodeId self = {};
  NodeSet peers = {};
  NodeSet heard = {};
  std::uint32_t round = 0;
  bool operator==(const Flood&) const = default;

  static Flood start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self)};
  }
  void on_command(Out& out, const Start&) { out.announce(Participating{}); }
  void on_round(Out& out, std::uint32_t next) {
    ensure(next == round + 1, "rounds come one after the other");
    round = next;
    if (round == 1) out.broadcast(peers, Hello{});
    if (round == 3) out.announce(Elected{heard.empty() ? self : std::max(self, heard.max())});
  }
  void on_message(Out&, NodeId from, const Hello&) {
    ensure(round == 1, "what was sent in a round arrives in it");
    heard.insert(from);
  }
};
static_assert(Protocol<Flood> && InRounds<Flood>);

struct Caller {  // calls the others one after the other, whoever does not exist is skipped
  struct Call {
    bool operator==(const Call&) const = default;
  };
  using Spec = election::Spec;
  using Message = std::variant<Call>;
  enum class Timer { alarm };
  using Setup = NoSetup;
  using Out = Effects<Caller>;
  static constexpr Assumptions assumes = {.crashes = Crashes::stop};

  NodeId self = {};
  NodeSet peers = {};
  bool again = false;  // it replaced somebody
  NodeSet missing = {};
  Ticks shown = {};
  std::vector<char> order = {};
  bool operator==(const Caller&) const = default;

  static Caller start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self)};
  }
  static Caller restart(NodeId self, const NodeSet& all, const Setup&, Out& out) {
    out.announce(Elected{self});
    return {.self = self, .peers = all.without(self), .again = true};
  }
  void on_clock(Ticks reading) { shown = reading; }
  void on_command(Out& out, const Start&) {
    order.push_back('c');
    out.arm(Timer::alarm, {{10}, {10}});
    out.broadcast(peers, Call{});
    out.announce(Elected{peers.max()});
  }
  void on_timer(Out&, Timer) { order.push_back('t'); }
  void on_message(Out&, NodeId, const Call&) { order.push_back('m'); }
  void on_bounce(Out&, NodeId to, const Message&) { missing.insert(to); }
};
static_assert(Protocol<Caller> && HearsBounces<Caller> && Restarts<Caller> && ReadsClock<Caller>);

Options fixed(std::uint32_t nodes, std::uint64_t delay) {
  Options options = {.nodes = nodes, .entries = 1};
  options.delay.usual = {Delay::Shape::fixed, delay, delay};
  options.think = {Delay::Shape::fixed, 0, 0};
  return options;
}

TEST(Rounds, AllMessagesOfARoundArriveInItHoweverSlow) {
  World<Flood> world(fixed(5, 1'000'000), {}, nullptr);
  const Report report = world.run();
  EXPECT_EQ(report.broken, "");
  EXPECT_EQ(report.rounds, 3u);
  EXPECT_EQ(report.messages, 20u);
  EXPECT_TRUE(report.content);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(world.cluster().client(i).leader, NodeId{5});
}

TEST(Rounds, ADyingProcessReachesOnlySome) {
  Options options = fixed(4, 10);
  options.script = Script{{.what = Action::What::wish, .node = {1}},
                          {.what = Action::What::crash, .node = {4}, .dying = true, .group = {{2}}}};
  World<Flood> world(options, {}, nullptr);
  const Report report = world.run();
  EXPECT_EQ(report.messages, 3u * 3u + 1u);
  EXPECT_EQ(report.lost, 2u + 3u);  // not sent after all; sent to the dead one
  EXPECT_TRUE(world.cluster().node(1).heard.contains({4}));
  EXPECT_FALSE(world.cluster().node(0).heard.contains({4}));
}

TEST(Rounds, StopAtTheirLimitIfSomebodyIsNeverContent) {
  Options options = fixed(2, 10);
  options.round_limit = 2;
  World<Flood> world(options, {}, nullptr);
  EXPECT_EQ(world.run().rounds, 2u);
}

TEST(Bounces, TellTheSenderThatItsReceiverIsDown) {
  Options options = fixed(3, 10);
  options.detector = false;
  options.script = Script{{.what = Action::What::crash, .node = {3}, .forever = true},
                          {.what = Action::What::wish, .at = {5}, .node = {1}}};
  World<Caller> world(options, {}, nullptr);
  const Report report = world.run();
  EXPECT_EQ(report.bounced, 1u);
  EXPECT_EQ(world.cluster().node(0).missing, NodeSet{{3}});
  EXPECT_EQ(report.end.count, 25u);
}

TEST(Restarts, AreNotFirstStarts) {
  Options options = fixed(2, 10);
  options.script = Script{{.what = Action::What::crash, .node = {2}},
                          {.what = Action::What::recover, .at = {5}, .node = {2}, .durable = false}};
  World<Caller> world(options, {}, nullptr);
  world.run();
  EXPECT_FALSE(world.cluster().node(0).again);
  EXPECT_TRUE(world.cluster().node(1).again);
}

TEST(Detector, TellsClientsSoThatTheyReactToTheDeathOfTheirLeader) {
  Options options = fixed(3, 1);
  options.script = Script{{.what = Action::What::wish, .node = {1}},
                          {.what = Action::What::crash, .at = {50}, .node = {3}, .forever = true}};
  options.step_limit = 1000;
  World<Caller> world(options, {}, nullptr);
  world.run();
  // Once by its own wish, once more because its leader died; then it is told that the dead one leads again.
  EXPECT_GE(world.cluster().client(0).requests, 2u);
  EXPECT_EQ(world.cluster().client(1).requests, 0u);
}

TEST(Ranks, AtEqualTimesCrashesThenDeliveriesThenTimersThenTheRest) {
  Options options = fixed(3, 10);
  options.ranked = true;
  options.detector = false;
  options.script = Script{{.what = Action::What::wish, .node = {1}},
                          {.what = Action::What::wish, .node = {2}},
                          {.what = Action::What::wish, .at = {10}, .node = {2}},
                          {.what = Action::What::crash, .at = {10}, .node = {3}, .forever = true}};
  World<Caller> world(options, {}, nullptr);
  const Report report = world.run();
  // The one at 10 meets a delivery and a timer of the same tick.
  const std::vector<char> expected = {'c', 'm', 't', 'c', 't'};
  EXPECT_EQ(world.cluster().node(1).order, expected);
  EXPECT_EQ(report.bounced, 3u);
}

TEST(Clocks, ShowWhatTheirRateAndOffsetSay) {
  LocalClock clock = {.shown = 100, .since = 0, .ppb = 1'000'000};
  EXPECT_EQ(clock.reading({1'000'000}).count, 1'001'100u);
  clock.set_rate({1'000'000}, -1'000'000);
  EXPECT_EQ(clock.reading({2'000'000}).count, 2'000'100u);
  Options options = fixed(4, 10);
  options.clocks = {.offset_most = {1000}, .drift_ppb_most = 50'000};
  World<Caller> world(options, {}, nullptr);
  world.run();
  NodeSet different;
  for (std::uint32_t i = 0; i < 4; ++i)
    different.insert({static_cast<std::uint32_t>(world.cluster().node(i).shown.count)});
  EXPECT_GT(different.size(), 1u);
}

TEST(Starters, AreAsManyAsAsked) {
  Options options = fixed(20, 10);
  options.starters = 3;
  World<Caller> world(options, {}, nullptr);
  world.run();
  std::uint32_t started = 0;
  for (std::uint32_t i = 0; i < 20; ++i) started += world.cluster().client(i).requests;
  EXPECT_EQ(started, 3u);
}

TEST(Delays, MayDependOnTheTypeOfTheMessage) {
  Options options = fixed(2, 10);
  options.delay.per_message[{"Call", {1}, {2}}] = {Delay::Shape::fixed, 77, 77};
  options.script = Script{{.what = Action::What::wish, .node = {1}}};
  World<Caller> world(options, {}, nullptr);
  EXPECT_EQ(world.run().end.count, 77u);
}

}  // namespace
}  // namespace conclave::sim
