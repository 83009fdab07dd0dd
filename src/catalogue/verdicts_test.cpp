// What the checker says of the algorithms: what is known to hold holds, and what is known to go wrong goes
// wrong, in as few steps as possible.
#include <gtest/gtest.h>

#include <cstdlib>

#include "catalogue/directed.hpp"
#include "catalogue/explore.hpp"

namespace conclave::catalogue {
namespace {

using check::Finding;
using check::Report;

bool has_an_hour() { return std::getenv("CONCLAVE_LONG") != nullptr; }

CheckPlan plan_of(const char* name, std::vector<std::string> properties = {}) {
  CheckPlan plan = usual_check(*find(name));
  plan.options.properties = std::move(properties);
  return plan;
}
// Only these act, once.
void let_act(CheckPlan& plan, std::initializer_list<std::uint32_t> who) {
  plan.options.entries = 0;
  plan.options.entries_of.clear();
  for (const std::uint32_t id : who) plan.options.entries_of[{id}] = 1;
}
Report run(const CheckPlan& plan) { return explore(*find(plan.setting.protocol), plan); }

// The steps of the shortest way to lose a property; 0: it is kept.
std::uint32_t lost_after(const Report& report, const char* property) {
  const Finding* finding = report.violation(property);
  return finding ? finding->steps : 0;
}

TEST(Verdicts, MaekawaDeadlocksAfterSixSteps) {
  // Three ask, each gets its own vote, and each of the other votes is asked for by the next.
  const Report report = run(plan_of("maekawa", {"EM1", "ND"}));
  EXPECT_EQ(lost_after(report, "ND"), 6u);
  EXPECT_EQ(lost_after(report, "EM1"), 0u);
}
TEST(Verdicts, MaekawaWithoutTheOwnVoteLetsTwoInAfterSixSteps) {
  CheckPlan plan = plan_of("maekawa", {"EM1"});
  plan.setting.variant = "no-self-vote";
  EXPECT_EQ(lost_after(run(plan), "EM1"), 6u);
}
TEST(Verdicts, MaekawaDeadlocksAmongSevenToo) {
  CheckPlan plan = usual_check(*find("maekawa"), 7);
  plan.options.properties = {"EM1", "ND"};
  let_act(plan, {1, 2, 3, 4});
  const Report report = run(plan);
  EXPECT_EQ(lost_after(report, "ND"), 15u);
  EXPECT_EQ(report.violation("EM1"), nullptr);
}
TEST(Verdicts, TheCureHoldsAmongSeven) {
  CheckPlan plan = usual_check(*find("maekawa-deadlock-free"), 7);
  let_act(plan, {1, 2, 3});
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.states, 18'576u);
}
TEST(Verdicts, TheCureHoldsAmongSevenOfWhomFourAsk) {
  if (!has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  CheckPlan plan = usual_check(*find("maekawa-deadlock-free"), 7);
  let_act(plan, {1, 2, 3, 4});
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.states, 1'875'110u);
}

TEST(Verdicts, ACentralServerDoesNotOrderByHappenedBefore) {
  CheckPlan plan = plan_of("central-server", {"EM1", "EM3"});
  plan.options.entries = 1;
  plan.options.budget.tells = 1;
  // One asks and tells another, who asks; the second request overtakes the first.
  EXPECT_EQ(lost_after(run(plan), "EM3"), 6u);
  plan.options.budget.tells = 0;
  EXPECT_TRUE(run(plan).holds());  // nobody learns of another's request, so none happened before
}
TEST(Verdicts, RicartAgrawalaOrdersByHappenedBefore) {
  CheckPlan plan = plan_of("ricart-agrawala", {"EM1", "EM3"});
  plan.options.nodes = 2;
  plan.setting.members = find("ricart-agrawala")->members(2);
  plan.options.entries = 2;
  plan.options.budget.tells = 2;
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}
TEST(Verdicts, LamportNeedsOrderedLinks) {
  CheckPlan plan = plan_of("lamport", {"EM1"});
  plan.options.fifo = false;
  EXPECT_EQ(lost_after(run(plan), "EM1"), 10u);
}
TEST(Verdicts, ASnapshotNeedsOrderedLinks) {
  CheckPlan plan = plan_of("global-snapshot");
  plan.options.fifo = false;
  EXPECT_EQ(lost_after(run(plan), "conserved"), 8u);
}

TEST(Verdicts, DijkstrasAlgorithmStarves) {
  CheckPlan plan = plan_of("dijkstra", {"EM1"});
  plan.setting.parameters["tokens"] = "0";
  plan.options.for_ever = true;
  plan.options.starvation = true;
  const Report report = run(plan);
  const Finding* finding = report.violation("starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_FALSE(finding->cycle.empty());
  EXPECT_EQ(report.violation("ND"), nullptr);  // the others are served all the time
}
TEST(Verdicts, TheBakeryDoesNotStarve) {
  CheckPlan plan = plan_of("bakery", {"EM1"});
  plan.setting.parameters["tokens"] = "0";
  plan.options.entries = 2;
  plan.options.starvation = true;
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}
TEST(Verdicts, TheBakeryNeedsToWaitForWhoIsChoosing) {
  CheckPlan plan = plan_of("bakery", {"EM1"});
  plan.setting.variant = "no-choosing";
  EXPECT_EQ(lost_after(run(plan), "EM1"), 20u);
}
TEST(Verdicts, TheBakeryHoldsOnSafeRegisters) {
  CheckPlan plan = plan_of("bakery", {"EM1"});
  plan.setting.variant = "safe";
  plan.setting.parameters["tokens"] = "0";
  plan.options.starvation = false;
  const Report report = run(plan);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.states, 80'014u);
}

TEST(Verdicts, OneRoundPerCrashIsNotEnough) {
  CheckPlan plan = plan_of("sync-crash-tolerant");
  EXPECT_TRUE(run(plan).holds());
  plan.setting.variant = "too-few-rounds";
  EXPECT_EQ(lost_after(run(plan), "agreement"), 11u);
}
TEST(Verdicts, WithoutRelayNewsDoesNotReachTheEndOfALine) {
  CheckPlan plan = plan_of("sync-flooding");
  plan.setting.variant = "no-relay";
  plan.setting.parameters["graph"] = "line";
  const Report report = run(plan);
  EXPECT_FALSE(report.holds());
  EXPECT_FALSE(report.sometimes.at("everybody has what it wanted"));
}
TEST(Verdicts, UnsignedOrdersCanBeForged) {
  CheckPlan plan = usual_check(*find("byzantine-signed"), 4);
  plan.setting.parameters = {{"f", "1"}, {"traitors", "2"}, {"strategy", "forge"}};
  EXPECT_TRUE(run(plan).holds());
  plan.setting.variant = "unsigned";
  EXPECT_EQ(lost_after(run(plan), "agreement"), 21u);
}

// All three start, nobody fails.
CheckPlan bully_of_three() {
  CheckPlan plan = plan_of("bully", {"E1", "E2", "agreement"});
  plan.options.budget.crashes = 0;
  return plan;
}
TEST(Verdicts, BullySurvivesTwoCrashes) {
  CheckPlan plan = plan_of("bully");
  let_act(plan, {1});
  plan.options.budget.crashes = 2;
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}
TEST(Verdicts, BullyNeedsItsSecondWait) {
  CheckPlan plan = plan_of("bully");
  let_act(plan, {1});
  plan.options.budget.crashes = 2;
  plan.setting.variant = "no-second-wait";
  EXPECT_EQ(lost_after(run(plan), "E2"), 7u);
}
TEST(Verdicts, BullyNeedsItsBoundsToHold) {
  CheckPlan plan = bully_of_three();
  EXPECT_TRUE(run(plan).holds());
  plan.options.unit = {30};  // an answer takes longer than it is waited for
  EXPECT_EQ(lost_after(run(plan), "E1"), 20u);
}
TEST(Verdicts, BullyHasALeaderOnEitherSideOfAPartition) {
  CheckPlan plan = bully_of_three();
  let_act(plan, {1});
  plan.options.budget.partitions = 1;
  EXPECT_EQ(lost_after(run(plan), "E1"), 23u);
}
TEST(Verdicts, AListThatOnlyItsStarterTakesOffTheRingGoesRoundForEver) {
  CheckPlan plan = plan_of("ring-list");
  let_act(plan, {1});
  plan.options.starvation = true;
  EXPECT_TRUE(run(plan).holds());
  plan.setting.variant = "starter-closes";
  const Report report = run(plan);
  const Finding* finding = report.violation("starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_FALSE(finding->cycle.empty());
}

CheckPlan two_propose(const char* variant) {
  CheckPlan plan = plan_of("paxos", {"agreement", "uniform"});
  let_act(plan, {1, 2});
  plan.options.budget = {};
  plan.setting.variant = variant;
  return plan;
}
TEST(Verdicts, PaxosAgrees) {
  const Report report = run(two_propose("canonical"));
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}
TEST(Verdicts, PaxosThatForgetsDisagrees) {
  CheckPlan plan = two_propose("amnesia");
  plan.options.budget = {.crashes = 1, .recoveries = 1};
  EXPECT_EQ(lost_after(run(plan), "agreement"), 12u);
}
TEST(Verdicts, MultiPaxosAgreesOnTwoCommands) {
  if (!has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  CheckPlan plan = plan_of("multi-paxos");
  let_act(plan, {1, 2});
  plan.options.budget = {.timeouts = 1};
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.states, 4'955'635u);
}
TEST(Verdicts, RaftAgreesThroughACrash) {
  CheckPlan plan = plan_of("raft");
  let_act(plan, {1});
  plan.options.budget = {.crashes = 1, .recoveries = 1, .timeouts = 1};
  const Report report = run(plan);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}

// A way that the checker tells can be gone: the stage, which knows nothing of the checker, follows it.
TEST(Verdicts, EveryWayCanBeGoneAgain) {
  for (const auto& [name, property] : {std::pair("maekawa", "ND"), std::pair("central-server", "EM3")}) {
    CheckPlan plan = plan_of(name, {property});
    plan.options.entries = 1;
    plan.options.budget.tells = 1;
    const Report report = run(plan);
    ASSERT_NE(report.violation(property), nullptr) << name;
    EXPECT_EQ(
        direct(*find(name), {.nodes = plan.options.nodes}, plan.setting, report.violation(property)->way)
            .problem,
        "")
        << name;
  }
}

}  // namespace
}  // namespace conclave::catalogue
