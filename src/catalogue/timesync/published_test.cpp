// What the papers say about clock synchronisation, measured on simulated clocks whose truth is known.
#include <gtest/gtest.h>

#include "catalogue/entry.hpp"
#include "catalogue/timesync/rows.hpp"
#include "catalogue/timesync/setups.hpp"
#include "protocols/timesync/cristian.hpp"
#include "trace/timesync_monitor.hpp"

namespace conclave::catalogue {
namespace {

struct Outcome {
  trace::TimesyncMonitor::Summary summary = {};
  std::map<NodeId, std::vector<trace::TimesyncMonitor::Sample>> series = {};
  std::string violated = {};  // the first claim that was
};

struct TimedRun {
  const Entry& row;
  sim::Options options = {};
  Setting setting = {};

  TimedRun(const char* name, std::uint32_t nodes) : row(*find(name)) {
    row.usual(options);
    options.nodes = nodes;
    setting.protocol = name;
    setting.members = row.members(nodes);
  }
  Outcome operator()(std::uint64_t seed) {
    options.seed = setting.seed = seed;
    const auto monitor = row.monitor(options, setting);
    const sim::Report report = row.simulate(options, setting, monitor.get());
    const auto& watch = dynamic_cast<const trace::TimesyncMonitor&>(*monitor);
    Outcome outcome = {watch.summary(), watch.series(), report.broken};
    for (const trace::Verdict& verdict : monitor->verdicts()) {
      if (!verdict.holds && outcome.violated.empty())
        outcome.violated = verdict.property + ": " + verdict.why;
    }
    return outcome;
  }
};

sim::Script readings(std::uint32_t nodes, std::uint64_t every, std::uint64_t until) {
  sim::Script script;
  for (std::uint64_t at = every; at <= until; at += every) {
    for (std::uint32_t node = 1; node <= nodes; ++node)
      script.push_back({.what = sim::Action::What::wish, .at = {at}, .node = {node}});
  }
  return script;
}

TEST(Cristian1989, NoReadingIsFurtherOffThanItSays) {
  TimedRun run("cristian", 3);
  run.options.entries = 10;
  run.options.faults = sim::Faults::allowed_by(run.row.assumes);
  double closest = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    const Outcome outcome = run(seed);
    ASSERT_EQ(outcome.violated, "") << "seed " << seed;
    ASSERT_EQ(outcome.summary.readings, 30u) << "seed " << seed;
    closest = std::max(closest, outcome.summary.worst_share);
  }
  EXPECT_GT(closest, 0.9);  // and the bound is not generous: some readings come near it
}

TEST(Cristian1989, TwoMessagesPerSynchronisation) {
  const Outcome outcome = TimedRun("cristian", 5)(1);
  EXPECT_EQ(outcome.summary.messages_per_correction(), 2);
}

TEST(Cristian1989, AskingForMoreAccuracyCostsAttempts) {
  TimedRun run("cristian", 10);
  run.options.entries = 200;
  run.options.think = {sim::Delay::Shape::fixed, 1'000'000, 1'000'000};
  run.setting.parameters = {{"period", "1000000"}, {"attempts", "100000"}};
  const double each = static_cast<double>(timesync_delay.most - timesync_delay.least);
  double last_cost = 1e9;
  for (const int accuracy : {60, 120, 200, 300, 450}) {
    run.setting.parameters["accuracy"] = std::to_string(accuracy);
    const Outcome outcome = run(7);
    ASSERT_EQ(outcome.violated, "");
    // Two delays, each uniform over `each` ticks above the least: the sum is at most `longest`.
    const auto longest =
        static_cast<double>(cristian_setup<timesync::CristianSetup>(run.setting).longest_round_trip);
    const double above = (longest - 2.0 * static_cast<double>(timesync_delay.least)) / each;
    const double quick_enough = above <= 1 ? above * above / 2 : 1 - (2 - above) * (2 - above) / 2;
    const double cost = outcome.summary.messages_per_correction();
    EXPECT_NEAR(cost * quick_enough / 2, 1, 0.1) << "accuracy " << accuracy;
    EXPECT_LT(cost, last_cost);
    last_cost = cost;
    // Rounding, and what a clock drifts until the next synchronisation.
    EXPECT_LE(outcome.summary.worst_error, static_cast<std::uint64_t>(accuracy) + 6);
  }
}

TEST(Cristian1989, SeveralSamplesAreBetterThanOne) {
  TimedRun run("cristian", 10);
  // So often that neither drift nor a correction under way is what counts.
  run.options.think = {sim::Delay::Shape::fixed, 1'000'000, 1'000'000};
  run.setting.parameters = {{"period", "1000000"}, {"slew", "100000"}};
  const double one = run(3).summary.mean_error();
  run.setting.parameters["samples"] = "8";
  // Of one round trip the error is a sixth of the range of delays on average, of the quickest of eight about
  // a ninth.
  EXPECT_LT(run(3).summary.mean_error(), one / 1.25);
}

TEST(Cristian1989, TheFirstApproximationBreaksTheBoundAndSteppingBackBreaksApplications) {
  TimedRun run("cristian", 3);
  run.setting.variant = "first-approximation";
  EXPECT_TRUE(run(1).violated.starts_with("bound"));
  run.setting.variant = "steps-back";
  EXPECT_TRUE(run(1).violated.starts_with("monotone"));
}

TEST(Cristian1989, WithoutItsServerAClientKeepsAnHonestBound) {
  TimedRun run("cristian", 2);
  run.options.script = readings(2, 30'000'000, 1'800'000'000);
  run.options.script->push_back(
      {.what = sim::Action::What::crash, .at = {100'000'000}, .node = {0}, .forever = true});
  const Outcome outcome = run(5);
  EXPECT_EQ(outcome.violated, "");
  EXPECT_EQ(outcome.summary.readings, 120u);
  EXPECT_GT(outcome.summary.worst_bound, 1'700u);  // half an hour at one part in a million
}

TEST(Gusella1989, FifteenMachinesStayWithinTwentyFiveMilliseconds) {
  TimedRun run("berkeley", 15);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = run(seed);
    ASSERT_EQ(outcome.violated, "") << "seed " << seed;
    EXPECT_LT(outcome.summary.spread, 25'000u);
    EXPECT_GT(outcome.summary.spread, 3'000u);  // the clocks do drift
    EXPECT_EQ(outcome.summary.messages_per_round(), 3 * 14);
  }
}

TEST(Gusella1989, AlsoWithLossesCrashesAndNewMasters) {
  TimedRun run("berkeley", 5);
  run.options.faults = sim::Faults::allowed_by(run.row.assumes);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) ASSERT_EQ(run(seed).violated, "") << "seed " << seed;
}

TEST(Gusella1989, WhenTheMasterDiesForGoodAnotherTakesOver) {
  TimedRun run("berkeley", 5);
  run.options.script = readings(5, 12'000'000, 3'600'000'000);
  run.options.script->push_back(
      {.what = sim::Action::What::crash, .at = {700'000'000}, .node = {5}, .forever = true});
  const Outcome outcome = run(2);
  EXPECT_EQ(outcome.violated, "");
  EXPECT_GT(outcome.summary.readings, 1'200u);
  EXPECT_GT(outcome.summary.rounds, 12u);  // an hour has fifteen; one is late, and the dead one's are over
}

TEST(Gusella1989, AccuracyIsLinearInDriftTimesInterval) {
  TimedRun run("berkeley", 15);
  run.setting.parameters = {{"agreement", "1000000"}};
  const auto spread = [&](const char* period) {
    run.setting.parameters["period"] = period;
    return static_cast<double>(run(4).summary.spread);
  };
  const double four_minutes = spread("240000000");
  EXPECT_NEAR(spread("120000000") / four_minutes, 0.5, 0.15);
  EXPECT_NEAR(spread("480000000") / four_minutes, 2.0, 0.4);
}

// Whether the others' clocks are where they would be without the one that jumps.
std::uint64_t moved_by_an_hour_out(const char* variant) {
  constexpr std::uint32_t nodes = 7;
  TimedRun run("berkeley", nodes);
  run.setting.variant = variant;
  run.setting.parameters = {{"agreement", "1000000000000"}};  // the one is out for hours: it must run slower
  run.options.script = readings(nodes, 12'000'000, 1'200'000'000);
  const Outcome undisturbed = run(6);
  run.options.script->push_back(
      {.what = sim::Action::What::jump, .at = {300'000'000}, .node = {3}, .amount = 3'600'000'000});
  const Outcome disturbed = run(6);
  EXPECT_EQ(disturbed.violated, "");
  std::uint64_t most = 0;
  for (const auto& [node, samples] : undisturbed.series) {
    const auto& others = disturbed.series.at(node);
    EXPECT_EQ(samples.size(), others.size());
    for (std::size_t i = 0; node != NodeId{3} && i < samples.size(); ++i) {
      const std::int64_t moved = samples[i].error - others[i].error;
      most = std::max(most, static_cast<std::uint64_t>(moved < 0 ? -moved : moved));
    }
  }
  return most;
}

TEST(Gusella1989, OneClockAnHourOutDoesNotMoveTheMean) {
  EXPECT_LT(moved_by_an_hour_out("canonical"), 10'000u);
  EXPECT_GT(moved_by_an_hour_out("all-count"), 60'000'000u);
}

TEST(Gusella1989, NoClockEverStepsBackUnlessItIsSetBack) {
  TimedRun run("berkeley", 5);
  EXPECT_EQ(run(1).violated, "");
  run.setting.variant = "steps-back";
  EXPECT_TRUE(run(1).violated.starts_with("monotone"));
}

}  // namespace
}  // namespace conclave::catalogue
