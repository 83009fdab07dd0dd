#include <gtest/gtest.h>

#include "catalogue/judge.hpp"
#include "catalogue/log/store_monitor.hpp"

namespace conclave::catalogue {
namespace {

TEST(RaftRow, EveryCommandAndEveryElectionCostsWhatThePaperSays) {
  const Entry& entry = *find("raft");
  for (std::uint32_t nodes = 2; nodes <= 7; ++nodes) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      for (const Measurement& figure : entry.measure(nodes, seed))
        EXPECT_EQ(figure.measured, figure.claimed.low)
            << figure.what << ", " << nodes << " nodes, seed " << seed;
    }
  }
}

// Each server in turn is down for a while, the leader among them.
TEST(RaftRow, ANewLeaderTakesOverAndTheOldOneCatchesUp) {
  const Entry& entry = *find("raft");
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim::Options options = {.nodes = 3, .seed = seed};
    sim::Script script;
    for (std::uint32_t node = 1; node <= 3; ++node) {
      for (std::uint64_t at : {400, 450, 500, 600, 2500})
        script.push_back({.what = sim::Action::What::wish, .at = {at}, .node = {node}});
      script.push_back({.what = sim::Action::What::crash, .at = {500 * node}, .node = {node}});
      script.push_back({.what = sim::Action::What::recover, .at = {400 + 500 * node}, .node = {node}});
    }
    std::ranges::stable_sort(script, {}, &sim::Action::at);
    options.script = script;
    const Judged judged =
        judge(entry, options, {.protocol = "raft", .members = entry.members(3), .seed = seed});
    EXPECT_FALSE(judged.failure) << "seed " << seed << ": " << judged.failure.value_or("");
    EXPECT_TRUE(judged.report.content) << "seed " << seed;
    const auto leaders = std::ranges::find(judged.facts, "leaders", &trace::Fact::name);
    EXPECT_NE(leaders->json.find(','), std::string::npos) << "seed " << seed << ": one leader all the time";
  }
}

// Leaders crash under readers, and no promise is kept by judging nothing.
TEST(RaftRow, ReadsArePromptWhoeverLeads) {
  const Entry& entry = *find("raft");
  std::uint64_t judged = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim::Options options = {.nodes = 3, .faults = {.crash = true}, .seed = seed};
    entry.usual(options);
    const Setting setting = {.protocol = "raft",
                             .members = entry.members(3),
                             .parameters = {{"reads", "3"}, {"patience", "400"}},
                             .seed = seed};
    const auto monitor = entry.monitor(options, setting);
    entry.simulate(options, setting, monitor.get());
    const auto& reads = dynamic_cast<const StoreMonitor&>(*monitor).log().prompt_reads();
    EXPECT_TRUE(reads.verdict().holds) << "seed " << seed << ": " << reads.verdict().why;
    judged += reads.judged();
  }
  EXPECT_GT(judged, 1000u);
}

struct News {
  std::uint64_t judged = 0;
  Ticks longest = {};
};
News news_of(const sim::Faults& faults) {
  const Entry& entry = *find("raft");
  News news;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim::Options options = {.nodes = 3, .faults = faults, .seed = seed, .fifo = true};
    entry.usual(options);
    const Setting setting = {.protocol = "raft",
                             .members = entry.members(3),
                             .parameters = {{"batch", "64"}, {"patience", "400"}, {"extras", "1"}},
                             .seed = seed};
    const auto monitor = entry.monitor(options, setting);
    entry.simulate(options, setting, monitor.get());
    const auto& seen = dynamic_cast<const StoreMonitor&>(*monitor).log().prompt_news();
    EXPECT_TRUE(seen.verdict().holds) << "seed " << seed << ": " << seen.verdict().why;
    news.judged += seen.judged();
    news.longest = std::max(news.longest, seen.longest());
  }
  return news;
}

TEST(RaftRow, NewsTakesNoLongerThanAMessageWhileNothingFails) {
  const News news = news_of({});
  EXPECT_EQ(news.longest, Ticks{15});
  EXPECT_GT(news.judged, 1000u);
}

TEST(RaftRow, NewsIsPromptAlsoAfterCrashesAndLosses) {
  EXPECT_GT(news_of({.crash = true, .loss = 0.01}).judged, 200u);
}

}  // namespace
}  // namespace conclave::catalogue
