#include "trace/consensus_monitor.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

enum Property { termination, agreement, integrity, validity, uniform };

// A run of three, told step by step.
class Story {
 public:
  explicit Story(NodeSet traitors = {}) : monitor_(std::move(traitors)) {
    monitor_.begin({.nodes = {{1}, {2}, {3}}});
  }
  Story& proposes(std::uint32_t node, int value) { return see(Kind::command, node, "Propose", value, false); }
  Story& decides(std::uint32_t node, int value) { return see(Kind::deliver, node, "", value, true); }
  Story& crashes(std::uint32_t node) { return see(Kind::crash, node, "", 0, false); }
  Story& comes_back(std::uint32_t node) { return see(Kind::recover, node, "", 0, false); }
  Story& round(std::uint32_t node, const char* number) { return see(Kind::round, node, number, 0, false); }
  const ConsensusMonitor& end() {
    monitor_.end({});
    return monitor_;
  }

 private:
  Story& see(Kind kind, std::uint32_t node, const char* type, int value, bool decides) {
    const std::string content = "{\"value\":" + std::to_string(value) + "}";
    Step step = {.number = ++steps_, .kind = kind, .node = NodeId{node}, .input = {type, content}};
    if (decides) step.events.push_back({"Decided", content});
    monitor_.see(step);
    return *this;
  }
  ConsensusMonitor monitor_;
  std::uint64_t steps_ = 0;
};

std::vector<bool> holds(const ConsensusMonitor& monitor) {
  std::vector<bool> all;
  for (const Verdict& verdict : monitor.verdicts()) all.push_back(verdict.holds);
  return all;
}

TEST(ConsensusMonitor, HasNothingToSayAgainstAGoodRun) {
  Story story;
  story.proposes(1, 5).proposes(2, -5).proposes(3, 5).decides(1, -5).decides(2, -5).decides(3, -5);
  EXPECT_EQ(holds(story.end()), (std::vector<bool>{true, true, true, true, true}));
}

TEST(ConsensusMonitor, SeesWhoNeverDecides) {
  Story story;
  const ConsensusMonitor& monitor = story.proposes(1, 5).decides(1, 5).decides(3, 5).end();
  EXPECT_FALSE(monitor.verdicts()[termination].holds);
  EXPECT_EQ(monitor.verdicts()[termination].why, "p2 never decided");
  EXPECT_EQ(monitor.summary().undecided, NodeSet{{2}});
}

TEST(ConsensusMonitor, SeesTwoDecisions) {
  Story story;
  const ConsensusMonitor& monitor =
      story.proposes(1, 5).proposes(2, 6).decides(1, 5).decides(2, 6).decides(3, 5).end();
  EXPECT_FALSE(monitor.verdicts()[agreement].holds);
  EXPECT_EQ(monitor.verdicts()[agreement].why, "p1 decided 5 and p2 decided 6");
  EXPECT_EQ(monitor.verdicts()[agreement].step, 4u);
}

TEST(ConsensusMonitor, SeesOneProcessChangeItsMind) {
  Story story;
  const ConsensusMonitor& monitor =
      story.proposes(1, 5).proposes(2, 6).decides(1, 5).decides(2, 5).decides(3, 5).decides(3, 6).end();
  EXPECT_EQ(monitor.verdicts()[agreement].why, "p3 decided 5, then 6");
}

TEST(ConsensusMonitor, AsksNothingOfTheCrashedButRemembersWhatTheyDecided) {
  Story story;
  const ConsensusMonitor& monitor =
      story.proposes(1, 5).proposes(2, 6).decides(1, 6).crashes(1).decides(2, 5).decides(3, 5).end();
  EXPECT_TRUE(monitor.verdicts()[termination].holds);
  EXPECT_TRUE(monitor.verdicts()[agreement].holds);
  EXPECT_FALSE(monitor.verdicts()[uniform].holds);
}

TEST(ConsensusMonitor, ExpectsADecisionOfWhoCameBack) {
  Story story;
  story.proposes(1, 5).crashes(2).comes_back(2).decides(1, 5).decides(3, 5);
  EXPECT_FALSE(story.end().verdicts()[termination].holds);
}

TEST(ConsensusMonitor, SeesAUnanimousValuePassedOver) {
  Story story;
  story.proposes(1, 5).proposes(2, 5).proposes(3, 8).crashes(3).decides(1, 8).decides(2, 8);
  const ConsensusMonitor& monitor = story.end();
  EXPECT_FALSE(monitor.verdicts()[integrity].holds);
  EXPECT_TRUE(monitor.verdicts()[validity].holds);
}

TEST(ConsensusMonitor, SeesAValueThatNobodyProposed) {
  Story story;
  story.proposes(1, 5).proposes(2, 6).proposes(3, 7).decides(1, 0).decides(2, 0).decides(3, 0);
  const ConsensusMonitor& monitor = story.end();
  EXPECT_FALSE(monitor.verdicts()[validity].holds);
  EXPECT_TRUE(monitor.verdicts()[integrity].holds);
}

TEST(ConsensusMonitor, DoesNotListenToTraitors) {
  Story story({{2}});
  story.proposes(1, 5).proposes(2, 6).decides(1, 5).decides(2, 7).decides(2, 8).decides(3, 5);
  EXPECT_EQ(holds(story.end()), (std::vector<bool>{true, true, true, true, true}));
}

TEST(ConsensusMonitor, CountsTheRoundsThatWereOverWhenTheLastDecided) {
  Story story;
  story.proposes(1, 5).round(1, "1").round(1, "2").decides(1, 5).round(2, "3").decides(2, 5).decides(3, 5);
  const ConsensusMonitor& monitor = story.end();
  EXPECT_EQ(monitor.summary().decisions.at({1}).round, 1u);
  EXPECT_EQ(monitor.summary().rounds, 2u);
  EXPECT_EQ(monitor.facts().back().text, "2");
}

}  // namespace
}  // namespace conclave::trace
