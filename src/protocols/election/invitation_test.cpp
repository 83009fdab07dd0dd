#include "protocols/election/invitation.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/invitation_monitor.hpp"

namespace conclave::election {
namespace {

using Out = Effects<Invitation>;
using Phase = Invitation::Phase;
using Timer = Invitation::Timer;
using What = sim::Action::What;

const NodeSet five = NodeSet::range({1}, 5);
using Ids = std::vector<std::uint32_t>;

template <class M>
Ids receivers(const Out& out) {
  Ids to;
  for (const auto& send : out.sends) {
    if (std::holds_alternative<M>(send.message)) to.push_back(send.to.value);
  }
  return to;
}

// A leader, alone in its first group.
Invitation alone(std::uint32_t id, Out& out) {
  Invitation node = Invitation::start({id}, five, {}, out);
  node.on_timer(out, Timer::accepts);
  out.clear();
  return node;
}

// The leader of group 2 with two members.
Invitation with_members(std::uint32_t id, Ids members, Out& out) {
  Invitation node = alone(id, out);
  node.on_timer(out, Timer::probe);
  for (const std::uint32_t member : members) node.on_message(out, {member}, Invitation::Coordinating{1});
  node.on_timer(out, Timer::answers);
  if (node.phase == Phase::normal) node.on_timer(out, Timer::merge);
  for (const std::uint32_t member : members) node.on_message(out, {member}, Invitation::Accept{{2, {id}}});
  node.on_timer(out, Timer::accepts);
  out.clear();
  return node;
}

TEST(Invitation, BeginsAloneInAGroupOfItsOwn) {
  Out out;
  Invitation node = Invitation::start({3}, five, {}, out);
  EXPECT_FALSE(node.leading());
  ASSERT_FALSE(out.writes.empty());
  EXPECT_EQ(out.writes.back().highest, 1u);
  out.clear();
  node.on_timer(out, Timer::accepts);
  EXPECT_TRUE(node.leading());
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{3}, {1, {3}}}));
}

TEST(Invitation, TheGreatestLeaderInvitesTheOthersAtOnceAndASmallerOneWaits) {
  Out out;
  Invitation great = alone(5, out);
  great.on_timer(out, Timer::probe);
  EXPECT_EQ(receivers<Invitation::AreYouCoordinator>(out), (Ids{1, 2, 3, 4}));
  great.on_message(out, {2}, Invitation::Coordinating{7});
  out.clear();
  great.on_timer(out, Timer::answers);
  EXPECT_EQ(receivers<Invitation::Invite>(out), (Ids{2}));
  EXPECT_EQ(great.group, (Group{8, {5}})) << "greater than all numbers it has heard of";

  Invitation small = alone(2, out);
  small.on_timer(out, Timer::probe);
  small.on_message(out, {4}, Invitation::Coordinating{1});
  small.on_message(out, {5}, Invitation::Coordinating{1});
  out.clear();
  small.on_timer(out, Timer::answers);
  EXPECT_TRUE(out.sends.empty());
  ASSERT_EQ(out.armed.size(), 1u);
  EXPECT_EQ(out.armed[0].timer, Timer::merge);
  EXPECT_EQ(out.armed[0].after.min, Ticks{4 * 26});
}

TEST(Invitation, AnInvitedLeaderBringsItsMembersAlong) {
  Out out;
  Invitation node = with_members(3, {1, 2}, out);
  EXPECT_EQ(node.members, (NodeSet{NodeId{1}, NodeId{2}}));
  node.on_message(out, {5}, Invitation::Invite{{9, {5}}});
  EXPECT_EQ(receivers<Invitation::Invite>(out), (Ids{1, 2}));
  EXPECT_EQ(receivers<Invitation::Accept>(out), (Ids{5}));
  EXPECT_EQ(node.phase, Phase::joining);
  out.clear();
  node.on_message(out, {5}, Invitation::Ready{{9, {5}}});
  EXPECT_EQ(std::get<Joined>(out.events.at(0)), (Joined{{5}, {9, {5}}}));
}

TEST(Invitation, NobodyJoinsAnOlderGroup) {
  Out out;
  Invitation node = with_members(3, {1, 2}, out);
  node.on_message(out, {5}, Invitation::Invite{{1, {5}}});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_TRUE(node.leading());
}

TEST(Invitation, AMemberThatIsDisownedOrHearsNothingFoundsAGroup) {
  for (const bool answered : {true, false}) {
    Out out;
    Invitation node = alone(2, out);
    node.on_message(out, {5}, Invitation::Invite{{9, {5}}});
    node.on_message(out, {5}, Invitation::Ready{{9, {5}}});
    out.clear();
    node.on_timer(out, Timer::probe);
    EXPECT_EQ(receivers<Invitation::AreYouThere>(out), (Ids{5}));
    if (answered) {
      node.on_message(out, {5}, Invitation::There{{9, {5}}, false});
    } else {
      node.on_timer(out, Timer::answers);
    }
    EXPECT_EQ(node.group, (Group{10, {2}}));
    EXPECT_EQ(node.phase, Phase::forming);
  }
}

TEST(Invitation, ALeaderKnowsItsMembersAndTheGroup) {
  Out out;
  Invitation node = with_members(3, {1, 2}, out);
  const auto says = [&](std::uint32_t from, Group group) {
    out.clear();
    node.on_message(out, {from}, Invitation::AreYouThere{group});
    return std::get<Invitation::There>(out.sends.at(0).message).yes;
  };
  EXPECT_TRUE(says(1, {2, {3}}));
  EXPECT_FALSE(says(4, {2, {3}}));
  EXPECT_FALSE(says(1, {1, {3}}));
}

TEST(Invitation, AfterACrashANumberIsNotUsedAgain) {
  Out out;
  const Invitation node = Invitation::recover({3}, five, {}, {.highest = 6}, out);
  EXPECT_EQ(node.group, (Group{7, {3}}));
}

// Runs.

constexpr std::uint64_t long_enough = 6000;

struct Outcome {
  sim::Report report;
  trace::InvitationMonitor monitor{{long_enough}};
};

sim::Options usual(std::uint32_t nodes, std::uint64_t seed) {
  sim::Options options = {.nodes = nodes, .entries = 0, .seed = seed};
  options.think = {sim::Delay::Shape::uniform, 0, 2000};
  options.delay.usual = {sim::Delay::Shape::uniform, 1, 8};
  options.detector = false;
  options.until = {long_enough + 100};
  return options;
}

Outcome run(const sim::Options& options) {
  Outcome outcome;
  sim::World<Invitation> world(options, {}, &outcome.monitor);
  world.set_header({});
  outcome.report = world.run();
  return outcome;
}

void expect_kept(const Outcome& outcome) {
  EXPECT_EQ(outcome.report.broken, "");
  for (const trace::Verdict& verdict : outcome.monitor.verdicts())
    EXPECT_TRUE(verdict.holds) << verdict.property << ": " << verdict.why;
}

NodeSet some(std::initializer_list<NodeId> ids) { return ids; }

TEST(Invitation, ProcessesThatStartAloneEndInOneGroup) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 8u, 20u}) {
    const Outcome outcome = run(usual(nodes, nodes));
    expect_kept(outcome);
    ASSERT_EQ(outcome.monitor.groups().size(), 1u);
    EXPECT_EQ(outcome.monitor.groups().begin()->second.size(), nodes);
  }
}

TEST(Invitation, WhereLinksAreCutEveryPartHasALeaderAndWhenTheyMendThePartsMerge) {
  sim::Options options = usual(5, 1);
  options.script = sim::Script{
      {.what = What::partition, .at = {3000}, .group = some({NodeId{1}, NodeId{2}})},
      {.what = What::wish, .at = {9000}, .node = {1}},  // the cut lasts until here
  };
  options.until = {1};
  const Outcome cut = run(options);
  const auto groups = cut.monitor.groups();
  ASSERT_EQ(groups.size(), 2u);
  for (const auto& [group, members] : groups) {
    EXPECT_TRUE(members == some({NodeId{1}, NodeId{2}}) ||
                members == some({NodeId{3}, NodeId{4}, NodeId{5}}));
    for (NodeId member : members) EXPECT_EQ(cut.monitor.leader_of(member), group.second);
    EXPECT_TRUE(members.contains(group.second));
  }

  options.script->back() = {.what = What::heal, .at = {9000}};
  options.until = {long_enough + 100};
  const Outcome mended = run(options);
  expect_kept(mended);
  EXPECT_EQ(mended.monitor.groups().size(), 1u);
}

TEST(Invitation, WhenTheLeaderDiesTheOthersFormANewGroup) {
  sim::Options options = usual(5, 2);
  options.script = sim::Script{{.what = What::crash, .at = {3000}, .node = {5}, .forever = true}};
  const Outcome outcome = run(options);
  expect_kept(outcome);
  ASSERT_EQ(outcome.monitor.groups().size(), 1u);
  EXPECT_EQ(outcome.monitor.groups().begin()->second, NodeSet::range({1}, 4));
}

TEST(Invitation, ALeaderThatIsOnlySlowLosesItsGroupAndFindsItAgain) {
  sim::Options options = usual(5, 3);
  options.script = sim::Script{{.what = What::pause, .at = {3000}, .node = {5}},
                               {.what = What::resume, .at = {6000}, .node = {5}}};
  const Outcome outcome = run(options);
  expect_kept(outcome);
  EXPECT_EQ(outcome.monitor.groups().size(), 1u);
  EXPECT_GT(outcome.monitor.groups().begin()->first.first, 2u);
}

TEST(Invitation, TwoGroupsMergeWithThreeMessagesForEveryProcessButOne) {
  const auto formed = [](const sim::Report& report) {
    return report.sent.at("Invite") + report.sent.at("Accept") + report.sent.at("Ready");
  };
  sim::Options options = usual(6, 4);
  options.script = sim::Script{{.what = What::partition, .group = NodeSet::range({1}, 3)},
                               {.what = What::wish, .at = {5000}, .node = {1}}};  // the cut lasts until here
  options.until = {1};
  const Outcome cut = run(options);
  ASSERT_EQ(cut.monitor.groups().size(), 2u);
  options.script->back() = {.what = What::heal, .at = {5000}};
  options.until = {5000};
  const Outcome mended = run(options);
  ASSERT_EQ(mended.monitor.groups().size(), 1u);
  EXPECT_EQ(formed(mended.report) - formed(cut.report), 3u * 5);
}

TEST(Invitation, KeepsItsPromisesWhateverHappens) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 8u}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      sim::Options options = usual(nodes, seed);
      options.faults = sim::Faults::allowed_by(Invitation::assumes);
      options.faults.stall = false;  // clients are told before the disk has it
      const Outcome outcome = run(options);
      expect_kept(outcome);
      if (HasFailure()) FAIL() << nodes << " nodes, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace conclave::election
