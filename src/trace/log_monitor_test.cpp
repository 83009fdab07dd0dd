#include "trace/log_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Directs the monitor by hand, as a trace would.
class Story {
 public:
  Story() = default;
  explicit Story(LogMonitor::SecondAct second_act) : monitor_(second_act) {}
  void propose(std::uint32_t node, std::uint64_t serial) {
    step(Kind::command, node).input = {"Propose", fmt::format("{{\"serial\":{},\"value\":7}}", serial)};
    tell();
  }
  void commit(std::uint32_t node, std::uint64_t index, std::uint32_t client, std::uint64_t serial) {
    step(Kind::deliver, node)
        .events.push_back({"Committed", fmt::format("{{\"index\":{},\"entry\":{{\"client\":{},\"serial\":{},"
                                                    "\"value\":7}}}}",
                                                    index, client, serial)});
    tell();
  }
  void commit_nothing(std::uint32_t node, std::uint64_t index) {
    step(Kind::deliver, node)
        .events.push_back({"Committed", fmt::format("{{\"index\":{},\"entry\":null}}", index)});
    tell();
  }
  void read(std::uint32_t node) {
    step(Kind::command, node).input = {"Read", "{\"serial\":1}"};
    tell();
  }
  void readable(std::uint32_t node, std::uint64_t index) {
    step(Kind::deliver, node)
        .events.push_back({"Readable", fmt::format("{{\"serial\":1,\"index\":{}}}", index)});
    tell();
  }
  void befall(Kind kind, std::uint32_t node) {
    step(kind, node);
    tell();
  }
  void ask(std::uint32_t node, std::uint64_t serial) {
    step(Kind::command, node).input = {"Read", fmt::format("{{\"serial\":{}}}", serial)};
    tell();
  }
  void answer(std::uint32_t node, std::uint64_t serial, std::uint64_t index) {
    step(Kind::deliver, node)
        .events.push_back({"Readable", fmt::format("{{\"serial\":{},\"index\":{}}}", serial, index)});
    tell();
  }
  void begin(const std::string& world) { monitor_.begin({.world = world}); }
  void lead(std::uint32_t node, std::uint64_t term = 1) {
    step(Kind::deliver, node).events.push_back({"Leading", fmt::format("{{\"term\":{}}}", term)});
    step_.sends.push_back({{1}, 1, {"Heartbeat", {}}});
    tell();
  }
  bool holds(const std::string& property) const {
    LogMonitor copy = monitor_;
    copy.end({});
    for (const Verdict& verdict : copy.verdicts()) {
      if (verdict.property == property) return verdict.holds;
    }
    ADD_FAILURE() << "no property " << property;
    return false;
  }
  const LogMonitor& monitor() const { return monitor_; }

 private:
  Step& step(Kind kind, std::uint32_t node) {
    step_ = {.number = ++number_, .at = {number_ * 10}, .kind = kind, .node = NodeId{node}};
    return step_;
  }
  void tell() { monitor_.see(step_); }

  Step step_;
  LogMonitor monitor_;
  std::uint64_t number_ = 0;
};

TEST(LogMonitor, IsContentWithALogThatAllShare) {
  Story story;
  story.lead(1);
  story.propose(1, 1);
  story.propose(2, 1);
  for (std::uint32_t node : {1u, 2u}) {
    story.commit(node, 1, 2, 1);
    story.commit_nothing(node, 2);
    story.commit(node, 3, 1, 1);
  }
  for (const char* property : {"agreement", "integrity", "order", "termination"})
    EXPECT_TRUE(story.holds(property)) << property;
  const auto& summary = story.monitor().summary();
  EXPECT_EQ(summary.commands, 2u);
  EXPECT_EQ(summary.length, 3u);
  EXPECT_EQ(summary.leaders, std::vector<NodeId>{{1}});
  EXPECT_EQ(summary.delay.count, 2u);
  EXPECT_EQ(story.monitor().facts()[1].text, "0.5");
}

TEST(LogMonitor, SeesTwoCommandsAtOnePlace) {
  Story story;
  story.propose(1, 1);
  story.propose(2, 1);
  story.commit(1, 1, 1, 1);
  story.commit(2, 1, 2, 1);
  EXPECT_FALSE(story.holds("agreement"));
}

TEST(LogMonitor, SeesACommandWhereAnotherSawNothing) {
  Story story;
  story.propose(1, 1);
  story.commit_nothing(2, 1);
  story.commit(1, 1, 1, 1);
  EXPECT_FALSE(story.holds("agreement"));
}

TEST(LogMonitor, SeesWhatNobodyProposed) {
  Story story;
  story.commit(1, 1, 2, 1);
  EXPECT_FALSE(story.holds("integrity"));
}

TEST(LogMonitor, SeesACommandAtTwoPlaces) {
  Story story;
  story.propose(1, 1);
  story.commit(1, 1, 1, 1);
  story.commit(1, 2, 1, 1);
  EXPECT_FALSE(story.holds("integrity"));
  EXPECT_TRUE(story.holds("agreement"));
}

TEST(LogMonitor, SeesAGap) {
  Story story;
  story.commit_nothing(1, 1);
  story.commit_nothing(1, 3);
  EXPECT_FALSE(story.holds("order"));
}

TEST(LogMonitor, OnlyWhoCrashedMayBeginAgain) {
  Story story;
  story.commit_nothing(1, 1);
  story.commit_nothing(1, 2);
  story.befall(Kind::crash, 1);
  story.befall(Kind::recover, 1);
  story.commit_nothing(1, 1);
  story.commit_nothing(1, 2);
  EXPECT_TRUE(story.holds("order"));
  story.commit_nothing(1, 1);
  EXPECT_FALSE(story.holds("order"));
}

TEST(LogMonitor, WhoStaysUpMustSeeItsCommand) {
  Story story;
  story.propose(1, 1);
  story.commit(2, 1, 1, 1);
  EXPECT_FALSE(story.holds("termination"));
  story.befall(Kind::crash, 1);
  EXPECT_TRUE(story.holds("termination"));
}

TEST(LogMonitor, WhoStaysUpAndAsksToReadMayReadInTheEnd) {
  Story story;
  story.read(1);
  EXPECT_FALSE(story.holds("termination"));
  story.readable(1, 0);
  EXPECT_TRUE(story.holds("termination"));
  story.read(2);
  story.befall(Kind::crash, 2);
  EXPECT_TRUE(story.holds("termination"));
}

TEST(LogMonitor, ATermHasOneLeader) {
  Story story;
  story.lead(1, 1);
  story.lead(2, 2);
  story.lead(2, 2);  // it came back, and leads once more
  EXPECT_TRUE(story.holds("election safety"));
  story.lead(3, 2);
  EXPECT_FALSE(story.holds("election safety"));
}

// Steps are 10 ticks apart; the faults end with the third.
TEST(LogMonitor, OnceTheFaultsAreOverTheLogGrowsInTime) {
  for (const std::uint64_t within : {0, 20, 30}) {
    Story story({.begins = {30}, .progress_within = {within}});
    story.propose(1, 1);
    for (int i = 0; i < 5; ++i) story.befall(Kind::timer, 2);
    story.commit(1, 1, 1, 1);  // at 70, and it has waited in the second act since 40
    EXPECT_EQ(story.holds("termination"), within != 20) << within;
    EXPECT_EQ(story.monitor().summary().idle, Ticks{30});
  }
  Story idle({.begins = {30}, .progress_within = {20}});
  for (int i = 0; i < 9; ++i) idle.befall(Kind::timer, 2);
  idle.propose(1, 1);
  idle.commit(1, 1, 1, 1);
  EXPECT_TRUE(idle.holds("termination"));
}

TEST(LogMonitor, JudgesEachReadByItsOwnQuestion) {
  Story story;
  story.ask(1, 1);
  story.propose(2, 1);
  story.commit(2, 1, 2, 1);
  story.ask(1, 2);
  story.answer(1, 1, 0);
  EXPECT_TRUE(story.holds("fresh reads")) << "the first was asked before there was anything";
  story.answer(1, 2, 0);
  EXPECT_FALSE(story.holds("fresh reads"));
}

TEST(LogMonitor, DemandsNothingOfTimeBetweenRealProcesses) {
  for (const std::string world : {"sim", "live"}) {
    Story story;
    story.begin(world);
    story.propose(1, 1);
    EXPECT_EQ(story.holds("termination"), world == "live") << "it was stopped, and not at its end";
  }
}

}  // namespace
}  // namespace conclave::trace
