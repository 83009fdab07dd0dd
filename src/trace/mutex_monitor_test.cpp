#include "trace/mutex_monitor.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Directs the monitor by hand, as a trace would.
class Story {
 public:
  void ask(std::uint32_t node, VectorClock vector = {}) { step(Kind::command, node, "Acquire", vector); }
  void enter(std::uint32_t node, std::uint64_t fence, VectorClock vector = {}) {
    Step next = {.number = ++number_, .at = {number_ * 10}, .kind = Kind::deliver, .node = NodeId{node}};
    next.vector = std::move(vector);
    next.events.push_back({"Granted", "{\"fence\":" + std::to_string(fence) + "}"});
    monitor_.see(next);
  }
  void through_doorway(std::uint32_t node) {
    Step next = {.number = ++number_, .kind = Kind::deliver, .node = NodeId{node}};
    next.events.push_back({"Queued", "{}"});
    monitor_.see(next);
  }
  void leave(std::uint32_t node, VectorClock vector = {}) { step(Kind::command, node, "Release", vector); }
  void is_live() { monitor_.begin({.world = "live"}); }
  void crash(std::uint32_t node) { step(Kind::crash, node, "", {}); }
  void send(std::uint32_t node, const char* type) {
    Step next = {.number = ++number_, .kind = Kind::deliver, .node = NodeId{node}};
    next.sends.push_back({{1}, 1, {type, {}}});
    monitor_.see(next);
  }
  bool holds(const std::string& property, bool quiet = true) {
    MutexMonitor copy = monitor_;
    copy.end({.quiet = quiet});
    for (const Verdict& verdict : copy.verdicts()) {
      if (verdict.property == property) return verdict.holds;
    }
    ADD_FAILURE() << "no property " << property;
    return false;
  }
  const MutexMonitor::Summary& summary() const { return monitor_.summary(); }

 private:
  void step(Kind kind, std::uint32_t node, const char* type, const VectorClock& vector) {
    monitor_.see({.number = ++number_,
                  .at = {number_ * 10},
                  .kind = kind,
                  .node = NodeId{node},
                  .vector = vector,
                  .input = {type, {}}});
  }
  MutexMonitor monitor_;
  std::uint64_t number_ = 0;
};

VectorClock clock(std::uint64_t p1, std::uint64_t p2) {
  VectorClock vector;
  if (p1) vector.counts[NodeId{1}] = p1;
  if (p2) vector.counts[NodeId{2}] = p2;
  return vector;
}

TEST(MutexMonitor, SeesTwoInside) {
  Story story;
  story.ask(1);
  story.ask(2);
  story.enter(1, 1);
  EXPECT_TRUE(story.holds("EM1"));
  story.enter(2, 2);
  EXPECT_FALSE(story.holds("EM1"));
  EXPECT_EQ(story.summary().most_inside, 2u);
}

// Concurrent steps of real processes can be put in either order: one of them would show both inside.
TEST(MutexMonitor, WantsRealProcessesToKnowThatTheSectionIsFree) {
  for (const bool knows : {true, false}) {
    Story story;
    story.is_live();
    story.ask(1, clock(1, 0));
    story.ask(2, clock(0, 1));
    story.enter(1, 1, clock(2, 0));
    story.leave(1, clock(3, 0));
    story.enter(2, 2, clock(knows ? 3 : 2, 2));
    EXPECT_EQ(story.holds("EM1"), knows);
  }
}

TEST(MutexMonitor, SeesWhoNeverGotIn) {
  Story story;
  story.ask(1);
  EXPECT_FALSE(story.holds("EM2"));
  EXPECT_FALSE(story.holds("ND"));
  EXPECT_TRUE(story.holds("ND", false)) << "something is still under way";
  story.enter(1, 1);
  EXPECT_TRUE(story.holds("EM2"));
}

TEST(MutexMonitor, WaitingForSomebodyInsideIsNoDeadlock) {
  Story story;
  story.ask(1);
  story.enter(1, 1);
  story.ask(2);
  EXPECT_FALSE(story.holds("EM2"));
  EXPECT_TRUE(story.holds("ND"));
}

TEST(MutexMonitor, ACrashedProcessWaitsForNothingAndIsNowhere) {
  Story story;
  story.ask(1);
  story.ask(2);
  story.enter(1, 1);
  story.crash(1);
  story.enter(2, 2);
  EXPECT_TRUE(story.holds("EM1"));
  EXPECT_TRUE(story.holds("EM2"));
}

TEST(MutexMonitor, SeesAGrantAgainstHappenedBefore) {
  Story story;
  story.ask(1, clock(1, 0));
  story.ask(2, clock(1, 1));  // knows of p1's request
  story.enter(2, 1);
  EXPECT_FALSE(story.holds("EM3"));
}

TEST(MutexMonitor, ConcurrentRequestsMayBeGrantedEitherWay) {
  Story story;
  story.ask(1, clock(1, 0));
  story.ask(2, clock(0, 1));
  story.enter(2, 1);
  EXPECT_TRUE(story.holds("EM3"));
}

TEST(MutexMonitor, SeesAFenceThatDoesNotGrow) {
  Story story;
  story.ask(1);
  story.enter(1, 7);
  story.leave(1);
  EXPECT_TRUE(story.holds("fence"));
  story.ask(2);
  story.enter(2, 7);
  EXPECT_FALSE(story.holds("fence"));
}

TEST(MutexMonitor, SeesWhoOvertakesSomebodyThroughTheDoorway) {
  Story story;
  story.ask(1);
  story.through_doorway(1);
  story.ask(2);
  story.enter(2, 1);
  EXPECT_FALSE(story.holds("FCFS"));
}

TEST(MutexMonitor, CountsMessagesAndDelays) {
  Story story;
  story.ask(1);  // at 10
  story.send(1, "Request");
  story.send(2, "Reply");
  story.enter(1, 1);  // at 40
  story.ask(2);       // at 50, somebody is inside
  story.leave(1);     // at 60
  story.send(1, "Reply");
  story.enter(2, 2);  // at 80
  EXPECT_EQ(story.summary().sent.at("Reply"), 2u);
  EXPECT_EQ(story.summary().messages, 3u);
  EXPECT_EQ(story.summary().messages_before_first_entry, 2u);
  EXPECT_EQ(story.summary().client_delay.count, 1u);
  EXPECT_EQ(story.summary().client_delay.sum, 30u);
  EXPECT_EQ(story.summary().synchronisation_delay.sum, 20u);
  EXPECT_DOUBLE_EQ(story.summary().throughput(), 2.0 / 70);
}

}  // namespace
}  // namespace conclave::trace
