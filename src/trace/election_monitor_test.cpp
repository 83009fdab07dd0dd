#include "trace/election_monitor.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Directs the monitor by hand, as a trace would.
class Story {
 public:
  explicit Story(std::uint32_t nodes, ElectionMonitor::Winner winner = ElectionMonitor::Winner::greatest_live)
      : monitor_(winner) {
    monitor_.begin({.nodes = NodeSet::range({1}, nodes)});
  }
  void knows(std::uint32_t node, std::uint32_t leader) { elect(Kind::start, node, leader); }
  void start(std::uint32_t node) {
    Step next = {.number = ++number_, .kind = Kind::command, .node = NodeId{node}, .input = {"Start", {}}};
    next.events.push_back({"Participating", "{}"});
    monitor_.see(next);
  }
  void hears(std::uint32_t node, std::uint32_t leader) { elect(Kind::deliver, node, leader); }
  void all_hear(std::uint32_t nodes, std::uint32_t leader) {
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      if (monitor_.is_up({node})) hears(node, leader);
    }
  }
  void crash(std::uint32_t node) {
    monitor_.see({.number = ++number_, .kind = Kind::crash, .node = NodeId{node}});
  }
  void recover(std::uint32_t node) {
    monitor_.see({.number = ++number_, .kind = Kind::recover, .node = NodeId{node}});
  }
  void send(std::uint32_t node, const char* type) {
    Step next = {.number = ++number_, .kind = Kind::deliver, .node = NodeId{node}};
    next.sends.push_back({{1}, 1, {type, {}}});
    monitor_.see(next);
  }
  ElectionMonitor ended() const {
    ElectionMonitor copy = monitor_;
    copy.end({.quiet = true});
    return copy;
  }
  bool holds(const std::string& property) const {
    for (const Verdict& verdict : ended().verdicts()) {
      if (verdict.property == property) return verdict.holds;
    }
    ADD_FAILURE() << "no property " << property;
    return false;
  }

 private:
  void elect(Kind kind, std::uint32_t node, std::uint32_t leader) {
    Step next = {.number = ++number_, .at = {number_ * 10}, .kind = kind, .node = NodeId{node}};
    next.events.push_back({"Elected", "{\"leader\":" + std::to_string(leader) + "}"});
    monitor_.see(next);
  }
  ElectionMonitor monitor_;
  std::uint64_t number_ = 0;
};

TEST(ElectionMonitor, IsContentWithAnElectionOfTheGreatest) {
  Story story(3);
  story.start(1);
  story.send(1, "Election");
  story.all_hear(3, 3);
  for (const Verdict& verdict : story.ended().verdicts()) EXPECT_TRUE(verdict.holds) << verdict.property;
  const auto summary = story.ended().summary();
  EXPECT_EQ(summary.leader, NodeId{3});
  EXPECT_EQ(summary.started, 1u);
  EXPECT_EQ(summary.messages, 1u);
  EXPECT_EQ(summary.participants.size(), 3u);
  EXPECT_EQ(summary.leader_changes, 0u);
}

TEST(ElectionMonitor, SeesAWrongWinner) {
  Story story(3);
  story.start(1);
  story.all_hear(3, 2);
  EXPECT_FALSE(story.holds("E1"));
  EXPECT_TRUE(story.holds("agreement"));
}

TEST(ElectionMonitor, TheWinnerIsTheGreatestOfThoseThatLive) {
  Story story(3);
  story.start(1);
  story.crash(3);
  story.all_hear(3, 2);
  EXPECT_TRUE(story.holds("E1"));
  EXPECT_TRUE(story.holds("E2"));
}

TEST(ElectionMonitor, SeesWhoEndsWithoutALeader) {
  Story story(3);
  story.start(1);
  story.hears(2, 3);
  story.hears(3, 3);
  EXPECT_FALSE(story.holds("E2"));
  EXPECT_TRUE(story.holds("E1"));
}

TEST(ElectionMonitor, WithoutAnyElectionNobodyNeedsALeader) { EXPECT_TRUE(Story(3).holds("E2")); }

TEST(ElectionMonitor, WhoTakesNoPartMayKeepThePreviousWinner) {
  Story story(3);
  for (std::uint32_t node : {1u, 2u, 3u}) story.knows(node, 3);
  story.crash(3);
  EXPECT_TRUE(story.holds("E1"));
  EXPECT_TRUE(story.holds("E2"));
  EXPECT_EQ(story.ended().summary().participants.size(), 0u);
}

TEST(ElectionMonitor, SeesTwoLeaders) {
  Story story(4);
  story.start(1);
  story.hears(1, 3);
  for (std::uint32_t node : {2u, 3u, 4u}) story.hears(node, 4);
  EXPECT_FALSE(story.holds("agreement"));
  EXPECT_FALSE(story.holds("E1"));
}

TEST(ElectionMonitor, SeesAWorkingLeaderDeposed) {
  Story story(3);
  story.crash(3);
  story.start(1);
  story.all_hear(3, 2);
  story.recover(3);
  story.all_hear(3, 3);
  EXPECT_FALSE(story.holds("stability"));
  EXPECT_EQ(story.ended().summary().leader_changes, 1u);
  EXPECT_TRUE(story.holds("E1"));
}

TEST(ElectionMonitor, AChangeAfterTheLeaderDiedIsNeeded) {
  Story story(3);
  story.start(1);
  story.all_hear(3, 3);
  story.crash(3);
  story.start(1);
  story.all_hear(3, 2);
  EXPECT_TRUE(story.holds("stability"));
  EXPECT_EQ(story.ended().summary().leader_changes, 1u);
  EXPECT_EQ(story.ended().summary().needless_changes, 0u);
}

TEST(ElectionMonitor, ALeaderElectedBeforeTheRunIsDeposedLikeAnyOther) {
  Story story(3);
  for (std::uint32_t node : {1u, 2u, 3u}) story.knows(node, 2);
  story.all_hear(3, 3);
  EXPECT_FALSE(story.holds("stability"));
}

TEST(ElectionMonitor, APoliteAlgorithmMayKeepALowerLeader) {
  Story story(3, ElectionMonitor::Winner::any_live);
  story.start(1);
  story.all_hear(3, 2);
  EXPECT_TRUE(story.holds("E1"));
  story.crash(2);
  EXPECT_FALSE(story.holds("E1"));
}

TEST(ElectionMonitor, APoliteAlgorithmMustAgreeAllTheSame) {
  Story story(3, ElectionMonitor::Winner::any_live);
  story.start(1);
  story.all_hear(3, 2);
  story.hears(3, 3);
  EXPECT_FALSE(story.holds("E1"));
}

TEST(ElectionMonitor, WhoComesBackHasForgottenItsLeader) {
  Story story(2);
  story.start(1);
  story.all_hear(2, 2);
  story.crash(1);
  story.recover(1);
  EXPECT_FALSE(story.holds("E2"));
  story.hears(1, 2);
  EXPECT_TRUE(story.holds("E2"));
}

}  // namespace
}  // namespace conclave::trace
