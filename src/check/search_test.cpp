#include "check/search.hpp"

#include <gtest/gtest.h>

#include "check/drawn.hpp"

namespace conclave::check {
namespace {

// 0 to 1 and 2, both to 3.
std::vector<Drawn::State> diamond() { return {{{{1}, {2, 1}}}, {{{3, 1}}}, {{{3}}}, {}}; }
// 0, 1, 2, … one after the other.
std::vector<Drawn::State> line(std::uint32_t states) {
  std::vector<Drawn::State> all(states);
  for (std::uint32_t i = 0; i + 1 < states; ++i) all[i].edges = {{i + 1}};
  return all;
}
Options plain() { return {.partial_order = false}; }

TEST(Search, MeetsEveryStateOfADiamondOnce) {
  Drawn space(diamond());
  const Report report = search(space, plain());
  EXPECT_EQ(report.states, 4u);
  EXPECT_EQ(report.edges, 4u);
  EXPECT_EQ(report.depth, 2u);
  EXPECT_EQ(report.final_states, 1u);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.outcomes, (std::map<std::string, std::uint64_t>{{"ends in 3", 1}}));
}

TEST(Search, AStateAloneIsASpaceToo) {
  Drawn space(line(1));
  const Report report = search(space, plain());
  EXPECT_EQ(report.states, 1u);
  EXPECT_EQ(report.edges, 0u);
  EXPECT_EQ(report.depth, 0u);
  EXPECT_EQ(report.final_states, 1u);
}

TEST(Search, ComesToAnEndOnCycles) {
  Drawn space({{{{1}}}, {{{0}, {1}}}});
  const Report report = search(space, plain());
  EXPECT_EQ(report.states, 2u);
  EXPECT_EQ(report.edges, 3u);
  EXPECT_EQ(report.depth, 1u);
  EXPECT_EQ(report.final_states, 0u);
  EXPECT_TRUE(report.complete);
}

TEST(Search, TellsTheShortestWayToWhatIsWrong) {
  // 1 leads to 4 by a detour, 2 leads there at once.
  Drawn space({{{{1}, {2}}}, {{{3}}}, {{{4}}}, {{{4}}}, {.wrong = "EM1"}});
  const Report report = search(space, plain());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].property, "EM1");
  EXPECT_EQ(report.findings[0].why, "drawn so");
  EXPECT_EQ(report.findings[0].steps, 2u);
  EXPECT_EQ(through(report.findings[0].way), "2 4");
  EXPECT_EQ(report.findings[0].way.back().at, 2u);
  EXPECT_FALSE(report.holds());
}

TEST(Search, TheFirstStateCanBeWrong) {
  Drawn space({{.edges = {{1}}, .wrong = "EM1"}, {}});
  const Report report = search(space, plain());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].steps, 0u);
  EXPECT_TRUE(report.findings[0].way.empty());
}

TEST(Search, DoesNotLookBeyondWhatIsWrong) {
  Drawn space({{{{1}, {2}}}, {.edges = {{3}}, .wrong = "EM1"}, {}, {}});
  Options options = plain();
  options.stop_at_violation = false;
  const Report report = search(space, options);
  EXPECT_EQ(report.states, 3u);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.findings.size(), 1u);
}

TEST(Search, FindsWhatIsWrongInTheEndOnly) {
  Drawn space({{.edges = {{1}}, .wrong_at_end = "ND"}, {.wrong_at_end = "ND"}});
  const Report report = search(space, plain());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].property, "ND");
  EXPECT_EQ(report.findings[0].steps, 1u);
}

TEST(Search, ARunCutShortByABudgetHasNotEnded) {
  Drawn space({{.edges = {{1}}}, {.wrong_at_end = "ND", .bounded = true, .content = false}});
  const Report report = search(space, plain());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.final_states, 0u);
  EXPECT_EQ(report.figures.at("runs cut short by a budget"), 1u);
}

TEST(Search, ABrokenRuleIsAFinding) {
  Drawn space({{{{1}}}, {{{2}, {0, 0, false, "only the holder releases"}}}, {}});
  const Report report = search(space, plain());
  const Finding* finding = report.violation("own rules");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->why, "only the holder releases");
  EXPECT_EQ(finding->steps, 2u);
  EXPECT_EQ(finding->way.size(), 2u);
}

TEST(Search, OneFindingForEachPropertyTheShortestFirst) {
  Drawn space({{{{1}, {2}}}, {{{3}}}, {.wrong = "EM1"}, {{{4}, {5}}}, {.wrong = "EM1"}, {.wrong = "EM3"}});
  Options options = plain();
  options.stop_at_violation = false;
  const Report report = search(space, options);
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].property, "EM1");
  EXPECT_EQ(report.findings[0].steps, 1u);
  EXPECT_EQ(report.findings[1].property, "EM3");
  EXPECT_EQ(report.findings[1].steps, 3u);
}

TEST(Search, SilenceCannotPass) {
  Drawn space(std::vector<Drawn::State>{{.content = false}});
  const Report report = search(space, plain());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.holds());  // nobody ever has what it wanted
  EXPECT_EQ(report.figures.at("final states with somebody discontent"), 1u);
}

TEST(Search, LimitsEndItCleanlyAndSaySo) {
  Drawn space(line(1000));
  Options options = plain();
  options.max_states = 100;
  Report report = search(space, options);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.stopped_by, "--max-states 100");
  EXPECT_GE(report.states, 100u);
  EXPECT_LT(report.states, 1000u);

  options = plain();
  options.max_depth = 10;
  report = search(space, options);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.stopped_by, "--max-depth 10");
  EXPECT_EQ(report.depth, 10u);
  EXPECT_EQ(report.states, 12u);  // those of the next depth were met, and not looked at

  options = plain();
  options.max_bytes = 1;
  report = search(space, options);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.stopped_by, "--memory 1");
}

TEST(Search, LimitsThatAreNotReachedChangeNothing) {
  Drawn space(line(100));
  Options options = plain();
  options.max_states = 1000;
  options.max_depth = 99;
  options.max_bytes = 1u << 30;
  const Report report = search(space, options);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.stopped_by, "");
  EXPECT_EQ(report.states, 100u);
  EXPECT_EQ(report.depth, 99u);
}

TEST(Search, TellsOfItsProgress) {
  Drawn space(line(50));
  Options options = plain();
  std::vector<Progress> news;
  options.progress = [&](const Progress& progress) { news.push_back(progress); };
  const Report report = search(space, options);
  ASSERT_EQ(news.size(), 50u);
  for (std::size_t i = 1; i < news.size(); ++i) {
    EXPECT_GT(news[i].depth, news[i - 1].depth);
    EXPECT_GE(news[i].states, news[i - 1].states);
  }
  EXPECT_EQ(news.back().states, report.states);
  EXPECT_EQ(news.back().edges, report.edges);
  EXPECT_EQ(news.back().frontier, 1u);
  EXPECT_GT(news.back().bytes, 0u);
}

// Wide enough that every worker has something to do at every depth.
TEST(Search, WorkersAgree) {
  std::vector<Drawn::State> states(20'000);
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    for (const std::uint32_t to : {3 * i + 1, 3 * i + 2, 3 * i + 3, i / 2, (i * 7919) % 20'000}) {
      if (to < states.size()) states[i].edges.push_back({to});
    }
  }
  for (const std::uint32_t wrong : {17'777u, 18'888u, 19'999u}) states[wrong].wrong = "EM1";
  Options options = plain();
  options.stop_at_violation = false;
  Drawn space(states);
  const Report one = search(space, options);
  ASSERT_EQ(one.findings.size(), 1u);
  for (const unsigned workers : {2u, 3u, 7u}) {
    options.workers = workers;
    const Report many = search(space, options);
    EXPECT_EQ(many.states, one.states);
    EXPECT_EQ(many.edges, one.edges);
    EXPECT_EQ(many.depth, one.depth);
    ASSERT_EQ(many.findings.size(), 1u);
    EXPECT_EQ(many.findings[0].way, one.findings[0].way);
  }
}

}  // namespace
}  // namespace conclave::check
