#include "trace/invitation_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Directs the monitor by hand, as a trace would; one step a tick.
class Story {
 public:
  explicit Story(std::uint32_t nodes, std::uint64_t calm = 0) : monitor_({calm}) {
    monitor_.begin({.nodes = NodeSet::range({1}, nodes)});
  }
  void joins(std::uint32_t node, std::uint64_t number, std::uint32_t founder, std::uint32_t leader = 0) {
    Step next = step(Kind::deliver, node);
    next.events.push_back({"Joined", fmt::format(R"({{"leader":{},"group":{{"number":{},"founder":{}}}}})",
                                                 leader == 0 ? founder : leader, number, founder)});
    monitor_.see(next);
  }
  void leaves(std::uint32_t node) {
    Step next = step(Kind::timer, node);
    next.events.push_back({"Participating", "{}"});
    monitor_.see(next);
  }
  void befalls(Kind kind, std::uint32_t node) { monitor_.see(step(kind, node)); }
  void befalls_links(Kind kind, const char* what = "") {
    monitor_.see({.number = ++number_, .at = {number_}, .kind = kind, .input = {what, {}}});
  }
  InvitationMonitor ended(std::uint64_t later = 0) const {
    InvitationMonitor copy = monitor_;
    copy.end({.at = {number_ + later}});
    return copy;
  }
  // Which of I1, I2, I3 hold.
  std::string held(std::uint64_t later = 0) const {
    std::string names;
    for (const Verdict& verdict : ended(later).verdicts()) {
      if (verdict.holds) names += verdict.property + " ";
    }
    return names;
  }

 private:
  Step step(Kind kind, std::uint32_t node) {
    ++number_;
    return {.number = number_, .at = {number_}, .kind = kind, .node = NodeId{node}};
  }
  InvitationMonitor monitor_;
  std::uint64_t number_ = 0;
};

TEST(InvitationMonitor, OneGroupWithOneLeaderIsAllRight) {
  Story story(2);
  story.joins(2, 1, 2);
  story.joins(1, 1, 2);
  EXPECT_EQ(story.held(), "I1 I2 I3 ");
  EXPECT_EQ(story.ended().leader_of({1}), NodeId{2});
  EXPECT_EQ(story.ended().groups().size(), 1u);
}

TEST(InvitationMonitor, AGroupHasOneLeader) {
  Story story(3);
  story.joins(3, 1, 3);
  story.joins(1, 1, 3);
  story.joins(2, 1, 3, 2);
  EXPECT_EQ(story.held(), "I2 I3 ");
}

TEST(InvitationMonitor, NobodyIsInAGroupThatIsNotFounded) {
  Story story(2);
  story.joins(1, 1, 2);
  story.joins(2, 1, 2);
  EXPECT_EQ(story.ended().verdicts()[0].why, "p1 joined group 1 of p2, which p2 has not founded");
}

TEST(InvitationMonitor, AGroupIsFoundedOnceCrashOrNot) {
  Story story(1);
  story.joins(1, 1, 1);
  story.befalls(Kind::crash, 1);
  story.befalls(Kind::recover, 1);
  story.joins(1, 1, 1);
  EXPECT_EQ(story.held(), "I2 ");
}

TEST(InvitationMonitor, TwoGroupsAtTheEndAreOneTooMany) {
  Story story(2);
  story.joins(1, 1, 1);
  story.joins(2, 1, 2);
  EXPECT_EQ(story.held(), "I1 I3 ");
  story.befalls(Kind::crash, 2);
  EXPECT_EQ(story.held(), "I1 I2 I3 ") << "who is down belongs nowhere";
}

TEST(InvitationMonitor, WhoIsBetweenGroupsAtTheEndHasNone) {
  Story story(1);
  story.joins(1, 1, 1);
  story.leaves(1);
  EXPECT_EQ(story.held(), "I1 I3 ");
}

TEST(InvitationMonitor, MergingIsJudgedOnlyAfterLongEnoughACalm) {
  Story story(2, 100);
  story.joins(1, 1, 1);
  story.joins(2, 1, 2);
  story.befalls_links(Kind::partition);
  EXPECT_EQ(story.held(1000), "I1 I2 I3 ");
  story.befalls_links(Kind::heal);
  EXPECT_EQ(story.held(99), "I1 I2 I3 ");
  EXPECT_EQ(story.held(100), "I1 I3 ");
  story.befalls_links(Kind::lose, "receiver is down");
  EXPECT_EQ(story.held(99), "I1 I3 ");
  story.befalls_links(Kind::lose, "on the way");
  EXPECT_EQ(story.held(99), "I1 I2 I3 ");
  story.befalls(Kind::pause, 1);
  EXPECT_EQ(story.held(1000), "I1 I2 I3 ");
}

TEST(InvitationMonitor, NumbersGrow) {
  Story story(2);
  story.joins(1, 5, 1);
  story.joins(1, 3, 1);
  EXPECT_EQ(story.ended().verdicts()[2].why, "p1 joined group 3 of p1 after group 5 of p1");
}

}  // namespace
}  // namespace conclave::trace
