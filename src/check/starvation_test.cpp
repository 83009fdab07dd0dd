#include "check/starvation.hpp"

#include <gtest/gtest.h>

#include "check/drawn.hpp"

namespace conclave::check {
namespace {

Report look(std::vector<Drawn::State> states, std::uint32_t nodes = 2, Options options = {}) {
  Drawn space(std::move(states), nodes);
  Report report = {.complete = true};
  add_starvation(space, options, report);
  return report;
}

// Node 0 waits in 1 and 2, between which node 1 goes round, and gets in by a step of its own to 3.
std::vector<Drawn::State> overtaken(bool can_always_go, bool going_is_optional = false) {
  std::vector<Drawn::State> states = {{{{1}}},
                                      {.edges = {{2, 1}}, .waiting = 1},
                                      {.edges = {{1, 1}}, .waiting = 1, .holding = 2},
                                      {.holding = 1}};
  states[1].edges.push_back({3, 0, going_is_optional});
  if (can_always_go) states[2].edges.push_back({3, 0, going_is_optional});
  return states;
}

TEST(Starvation, NoneWhereEverybodyIsServed) {
  EXPECT_TRUE(
      look({{{{1}}}, {.edges = {{2}}, .waiting = 1}, {.edges = {{0}}, .holding = 1}}).findings.empty());
}

TEST(Starvation, FindsATrap) {
  // From 2 nobody gets in any more, from 1 somebody still can.
  const Report report = look({{{{1}}},
                              {.edges = {{2, 1}, {3}}, .waiting = 1},
                              {.edges = {{4, 1}}, .waiting = 3},
                              {.holding = 1},
                              {.waiting = 3}});
  const Finding* finding = report.violation("ND");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->steps, 2u);
  EXPECT_EQ(through(finding->way), "1 2");
  EXPECT_TRUE(finding->cycle.empty());
}

TEST(Starvation, FindsAFairCycle) {
  // In 2 it cannot go: waiting for the right moment for ever neglects nobody.
  const Report report = look(overtaken(false));
  const Finding* finding = report.violation("starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->why, "p1 waits for ever although everybody who can goes on");
  EXPECT_EQ(through(finding->way), "1");
  EXPECT_EQ(through(finding->cycle), "2 1");
}

TEST(Starvation, AnUnfairCycleIsNone) { EXPECT_TRUE(look(overtaken(true)).findings.empty()); }

TEST(Starvation, NobodyIsObligedToTakeOptionalSteps) {
  const Report report = look(overtaken(true, true));
  EXPECT_NE(report.violation("starvation"), nullptr);
}

TEST(Starvation, GoingRoundOnTheSpotIsACycle) {
  const Report report =
      look({{{{1}}}, {.edges = {{1, 1}, {2, 0, true}}, .waiting = 1}, {.edges = {{0}}, .holding = 1}});
  const Finding* finding = report.violation("starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(through(finding->cycle), "1");
}

TEST(Starvation, TheCycleGivesEverybodyATurn) {
  // Nodes 1 and 2 turn on their own; a fair cycle must take both, so it is longer than either.
  std::vector<Drawn::State> states = {{{{1}}},
                                      {.edges = {{2, 1}, {3, 2}}, .waiting = 1},
                                      {.edges = {{1, 1}, {1, 2}}, .waiting = 1, .holding = 2},
                                      {.edges = {{1, 2}, {1, 1}}, .waiting = 1, .holding = 4}};
  const Report report = look(states, 3);
  const Finding* finding = report.violation("starvation");
  ASSERT_NE(finding, nullptr);
  NodeSet movers;
  for (const auto& direction : finding->cycle) movers.insert(direction.node);
  EXPECT_EQ(movers, (NodeSet{{2}, {3}}));
  EXPECT_EQ(finding->cycle.back().content, "1");  // back to where the way ended
}

TEST(Starvation, SaysWhenTheGraphDoesNotFit) {
  const Report report = look(overtaken(false), 2, {.max_states = 2});
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.complete);
  EXPECT_NE(report.stopped_by.find("starvation was not looked for"), std::string::npos);
}

}  // namespace
}  // namespace conclave::check
