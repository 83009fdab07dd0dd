#include "sim/faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace conclave::sim {
namespace {

using What = Action::What;

constexpr Assumptions unordered = {.links = Links::reliable_unordered};
constexpr Assumptions anything_goes = {.links = Links::lossy, .crashes = Crashes::recover};

std::string parsed(std::string_view text, const Assumptions& assumes, bool beyond = false) {
  const auto faults = Faults::parse(text, assumes, beyond);
  return faults ? faults->to_string() : faults.error();
}

TEST(Faults, ParsesWhatItPrints) {
  for (const std::string text : {"none", "pause", "pause,partition,crash,drift,jump,jitter,unsynced,stall",
                                 "loss=0.25", "crash,loss=1e-05,duplicate=1,slow=0.5,reorder=0.125"})
    EXPECT_EQ(parsed(text, anything_goes), text);
  EXPECT_EQ(parsed("loss", anything_goes), "loss=0.05");
  EXPECT_EQ(parsed("", anything_goes), "none");
}

TEST(Faults, AllMeansWhatTheAssumptionsAllow) {
  EXPECT_EQ(parsed("all", unordered), "pause,partition,drift,jump,jitter,slow=0.05,reorder=0.05");
  EXPECT_EQ(parsed("all", {.links = Links::reliable_fifo}), "pause,partition,drift,jump,jitter,slow=0.05");
  EXPECT_EQ(parsed("all", {.crashes = Crashes::stop, .timing = Timing::synchronous}), "crash");
  EXPECT_EQ(parsed("all", unordered, true), Faults::everything().to_string());
  EXPECT_EQ(Faults::allowed_by(anything_goes).to_string(), Faults::everything().to_string());
}

TEST(Faults, RefusesWhatTheAssumptionsRuleOut) {
  for (const std::string name : {"crash", "unsynced", "stall", "loss", "duplicate"}) {
    EXPECT_EQ(parsed(name, unordered), "the algorithm assumes that there is no '" + name +
                                           "'; add --beyond-assumptions to inject it all the same");
    EXPECT_TRUE(Faults::parse(name, unordered, true));
  }
  EXPECT_FALSE(Faults::parse("reorder", {.links = Links::reliable_fifo}, false));
  EXPECT_FALSE(Faults::parse("pause", {.timing = Timing::synchronous}, false));
}

TEST(Faults, NamesAllThatTheAssumptionsRuleOut) {
  EXPECT_EQ(Faults::everything().beyond(unordered),
            (std::vector<std::string>{"crash", "unsynced", "stall", "loss", "duplicate"}));
  EXPECT_TRUE(Faults::everything().beyond(anything_goes).empty());
}

TEST(Faults, RefusesWithASentence) {
  EXPECT_EQ(parsed("fire", anything_goes),
            "unknown fault 'fire'; write none, all, or some of pause, partition, crash, drift, jump, "
            "jitter, unsynced, stall, loss, duplicate, slow, reorder");
  EXPECT_EQ(parsed("pause=0.5", anything_goes), "fault 'pause' takes no rate");
  for (const std::string rate : {"", "0", "-0.5", "1.01", "x", "0.5x", "nan", "inf"})
    EXPECT_EQ(parsed("loss=" + rate, anything_goes),
              "'" + rate + "' is no rate for loss; write a number in (0, 1]");
  EXPECT_FALSE(Faults::parse("pause,,crash", anything_goes, false));
  EXPECT_FALSE(Faults::parse("none,pause", anything_goes, false));
}

TEST(FaultPlan, IsTheSameForTheSameSeed) {
  const NodeSet members = NodeSet::range({1}, 5);
  std::set<std::string> plans;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Script plan = plan_faults(Faults::everything(), members, {1000}, seed);
    EXPECT_EQ(plan, plan_faults(Faults::everything(), members, {1000}, seed));
    plans.insert(to_json(plan));
  }
  EXPECT_EQ(plans.size(), 20u);
}

// What is wrong with the world after each action of a plan; nothing may be at its end.
struct Troubles {
  NodeSet standing = {};
  NodeSet down = {};
  NodeSet stalled = {};
  NodeSet inaccurate = {};
  bool cut = false;

  void see(const Action& action) {
    if (action.what == What::pause) standing.insert(action.node);
    if (action.what == What::resume) standing.erase(action.node);
    if (action.what == What::crash) down.insert(action.node);
    if (action.what == What::recover) down.erase(action.node);
    if (action.what == What::stall) stalled.insert(action.node);
    if (action.what == What::flush) stalled.erase(action.node);
    if (action.what == What::jitter && action.amount > 0) inaccurate.insert(action.node);
    if (action.what == What::jitter && action.amount == 0) inaccurate.erase(action.node);
    if (action.what == What::partition) cut = true;
    if (action.what == What::heal) cut = false;
  }
  bool none() const {
    return standing.empty() && down.empty() && stalled.empty() && inaccurate.empty() && !cut;
  }
};

TEST(FaultPlan, EverythingIsMendedWithinTheWindow) {
  for (const std::uint64_t window : {4ul, 5ul, 10ul, 1000ul}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const Script plan = plan_faults(Faults::everything(), NodeSet::range({1}, 3), {window}, seed);
      Troubles troubles;
      for (const Action& action : plan) {
        EXPECT_LT(action.at.count, window);
        troubles.see(action);
      }
      EXPECT_TRUE(troubles.none()) << "window " << window << ", seed " << seed;
      EXPECT_TRUE(std::ranges::is_sorted(plan, {}, &Action::at));
    }
  }
}

TEST(FaultPlan, HasEveryKindOfFaultInSomeSeed) {
  std::set<What> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const Action& action : plan_faults(Faults::everything(), NodeSet::range({1}, 3), {100}, seed))
      seen.insert(action.what);
  }
  EXPECT_EQ(seen, (std::set{What::crash, What::recover, What::pause, What::resume, What::partition,
                            What::heal, What::drift, What::jump, What::jitter, What::stall, What::flush}));
}

TEST(FaultPlan, AClockMayShowAnythingWhenItsNodeComesBack) {
  int anew = 0, still = 0, ahead = 0, nothing = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Script plan = plan_faults({.crash = true, .jump = true}, NodeSet::range({1}, 5), {1000}, seed);
    for (auto back = plan.begin(); back != plan.end(); ++back) {
      if (back->what != What::recover) continue;
      const auto concerns = [&](What what) {
        return [&, what](const Action& one) { return one.what == what && one.node == back->node; };
      };
      const auto before = std::ranges::subrange(plan.begin(), back);
      if (std::ranges::count_if(plan, concerns(What::crash)) != 1) continue;
      const auto down = std::ranges::find_if(before, concerns(What::crash));
      const auto jump = std::ranges::find_if(down, back, concerns(What::jump));
      if (jump == back || jump->at + Ticks{1} != back->at) {
        ++nothing;
        continue;
      }
      anew += jump->amount == -static_cast<std::int64_t>(jump->at.count);
      still += jump->amount == -static_cast<std::int64_t>((jump->at - down->at).count);
      ahead += jump->amount > 0;
    }
    for (const Action& action : plan_faults({.crash = true}, NodeSet::range({1}, 5), {1000}, seed))
      EXPECT_NE(action.what, What::jump);
  }
  EXPECT_GT(anew, 10);
  EXPECT_GT(still, 10);
  EXPECT_GT(ahead, 10);
  EXPECT_GT(nothing, 10);
}

TEST(FaultPlan, ACrashTearsTheLogInEveryWay) {
  std::set<std::int64_t> surviving;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Faults faults = {.crash = true, .unsynced = true};
    for (const Action& action : plan_faults(faults, NodeSet::range({1}, 3), {100}, seed)) {
      if (action.what == What::crash) surviving.insert(action.amount);
    }
    for (const Action& action : plan_faults({.crash = true}, NodeSet::range({1}, 3), {100}, seed))
      EXPECT_EQ(action.amount, 0);
  }
  EXPECT_EQ(surviving, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
}

// A seed whose failure somebody knows has the same faults as before, and others beside them.
TEST(FaultPlan, TroublesOfDisksAndTimersLeaveTheOthersAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Faults faults = Faults::everything();
    Script all = plan_faults(faults, NodeSet::range({1}, 5), {1000}, seed);
    std::erase_if(all, [](const Action& action) {
      return action.what == What::jitter || action.what == What::stall || action.what == What::flush;
    });
    faults.jitter = faults.stall = false;
    EXPECT_EQ(all, plan_faults(faults, NodeSet::range({1}, 5), {1000}, seed));
  }
}

TEST(FaultPlan, HoldsOnlyWhatWasAskedFor) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const Action& action : plan_faults({.pause = true}, NodeSet::range({1}, 3), {100}, seed))
      EXPECT_TRUE(action.what == What::pause || action.what == What::resume);
  }
  EXPECT_TRUE(plan_faults({}, NodeSet::range({1}, 3), {100}, 1).empty());
  EXPECT_TRUE(plan_faults(Faults::everything(), NodeSet::range({1}, 3), {3}, 1).empty());
}

TEST(FaultPlan, CutsSomeMembersOffFromOthers) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const Action& action : plan_faults({.partition = true}, NodeSet::range({1}, 2), {100}, seed)) {
      EXPECT_EQ(action.group.size(), action.what == What::partition ? 1u : 0u);
    }
    EXPECT_TRUE(plan_faults({.partition = true}, {{1}}, {100}, seed).empty());
  }
}

TEST(FaultPlan, IsAScriptThatParsesToTheSame) {
  const NodeSet members = NodeSet::range({1}, 4);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Script plan = plan_faults(Faults::everything(), members, {1000}, seed);
    const auto parsed_plan = parse_script(to_json(plan), members);
    ASSERT_TRUE(parsed_plan) << parsed_plan.error();
    EXPECT_EQ(to_json(*parsed_plan), to_json(plan));
  }
}

}  // namespace
}  // namespace conclave::sim
