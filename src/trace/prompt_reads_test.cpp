#include "trace/prompt_reads.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Three nodes, of which the first leads and has announced a place, by tick 10. It answers its own questions
// within 20 ticks, and those of others within 50; whoever has no answer asks again after 100.
class Story {
 public:
  Story() {
    reads_.begin({.world = "sim", .nodes = NodeSet::range({1}, 3)});
    lead(5, 1, 1);
    for (std::uint32_t node : {1, 2, 3}) announce(10, node, 1);
  }
  void lead(std::uint64_t at, std::uint32_t node, std::uint64_t term) {
    tell(at, Kind::deliver, node, {}, {"Leading", fmt::format("{{\"term\":{}}}", term)});
  }
  void announce(std::uint64_t at, std::uint32_t node, std::uint64_t place) {
    tell(at, Kind::deliver, node, {}, {"Committed", fmt::format("{{\"index\":{}}}", place)});
  }
  void ask(std::uint64_t at, std::uint32_t node) {
    tell(at, Kind::command, node, {"Read", "{\"serial\":1}"}, {});
  }
  void change_members(std::uint64_t at) { tell(at, Kind::command, 1, {"Reconfigure", "{}"}, {}); }
  void members(std::uint64_t at, const char* now) { tell(at, Kind::deliver, 1, {}, {"Members", now}); }
  void answer(std::uint64_t at, std::uint32_t node) {
    tell(at, Kind::deliver, node, {}, {"Readable", "{\"serial\":1,\"index\":1}"});
  }
  void befall(std::uint64_t at, Kind kind, std::uint32_t node, const char* what = "") {
    tell(at, kind, node, {what, {}}, {});
  }
  bool holds() { return reads_.verdict().holds; }
  bool holds_at_end(std::uint64_t at) {
    reads_.end({at});
    return holds();
  }
  const PromptReads& reads() const { return reads_; }

 private:
  void tell(std::uint64_t at, Kind kind, std::uint32_t node, Item input, Item event) {
    Step step = {
        .number = ++number_, .at = {at}, .kind = kind, .node = NodeId{node}, .input = std::move(input)};
    if (!event.type.empty()) step.events.push_back(std::move(event));
    reads_.see(step);
  }

  PromptReads reads_{{.leader = {20}, .others = {50}, .again = {100}}};
  std::uint64_t number_ = 0;
};

TEST(PromptReads, WhoeverWaitsLongerThanItMayIsFound) {
  Story leader;
  leader.ask(20, 1);
  leader.answer(40, 1);
  EXPECT_TRUE(leader.holds());
  EXPECT_EQ(leader.reads().longest(), Ticks{20});
  leader.ask(50, 1);
  leader.answer(71, 1);
  EXPECT_FALSE(leader.holds());

  Story other;
  other.ask(20, 2);
  other.answer(70, 2);
  EXPECT_TRUE(other.holds());
  other.ask(80, 2);
  EXPECT_FALSE(other.holds_at_end(131));
}

TEST(PromptReads, TimeDoesNotCountWithoutALeader) {
  Story story;
  story.ask(20, 2);
  story.befall(30, Kind::crash, 1);
  story.lead(500, 2, 2);
  story.befall(700, Kind::timer, 2);
  story.announce(700, 2, 2);
  story.answer(719, 2);
  EXPECT_TRUE(story.holds()) << "it has had no majority before";
  story.ask(800, 2);
  story.answer(821, 2);
  EXPECT_FALSE(story.holds());
}

TEST(PromptReads, ALeaderThatComesInBetweenExcusesWhatNobodySaw) {
  Story story;
  story.ask(20, 2);
  story.befall(200, Kind::timer, 3);
  story.lead(210, 3, 2);
  story.announce(220, 3, 2);
  story.announce(220, 2, 2);
  story.answer(260, 2);
  EXPECT_TRUE(story.holds());
}

TEST(PromptReads, TimeDoesNotCountWhileSomethingIsInTheWay) {
  for (const auto& [begin, end, what] :
       {std::tuple(Kind::pause, Kind::resume, ""), std::tuple(Kind::partition, Kind::heal, ""),
        std::tuple(Kind::disk, Kind::disk, "stands still"), std::tuple(Kind::lose, Kind::lose, "on the way"),
        std::tuple(Kind::clock, Kind::clock, "jump -5"), std::tuple(Kind::crash, Kind::recover, "")}) {
    Story story;
    story.ask(20, 2);
    story.befall(30, begin, 3, what);
    story.befall(60, end, 3, end == Kind::disk ? "goes on" : what);
    story.befall(159, Kind::timer, 1);
    story.befall(165, Kind::timer, 1);
    story.answer(210, 2);
    EXPECT_TRUE(story.holds()) << static_cast<int>(begin);
    story.ask(300, 2);
    story.answer(351, 2);
    EXPECT_FALSE(story.holds()) << static_cast<int>(begin);
  }
}

TEST(PromptReads, WhatComesInTheWayWhenTheTimeIsOverIsNoExcuse) {
  Story story;
  story.ask(20, 2);
  story.befall(90, Kind::pause, 3);
  story.befall(95, Kind::resume, 3);
  story.answer(300, 2);
  EXPECT_FALSE(story.holds());
}

TEST(PromptReads, WhoHasNotWhatTheLeaderHadIsOnItsWay) {
  Story story;
  story.announce(15, 1, 2);
  story.ask(20, 2);
  story.announce(200, 2, 2);
  story.answer(240, 2);
  EXPECT_TRUE(story.holds());
}

TEST(PromptReads, OnlyMembersCountAndWhileTheyChangeEverybodyHasToStand) {
  Story story;
  story.befall(20, Kind::crash, 3);
  story.change_members(21);
  story.ask(30, 2);
  story.befall(390, Kind::timer, 1);
  story.befall(400, Kind::recover, 3);
  story.members(410, "{\"voters\":[1,3],\"learners\":[]}");
  EXPECT_TRUE(story.holds_at_end(900));

  Story minority;
  minority.befall(20, Kind::crash, 3);
  minority.ask(130, 2);
  minority.befall(140, Kind::timer, 1);
  EXPECT_FALSE(minority.holds_at_end(200)) << "two of three are a majority";
}

TEST(PromptReads, BetweenProcessesAndByHandNothingIsDemandedOfTime) {
  for (const char* world : {"live", "stage", "checker"}) {
    PromptReads reads{{.leader = {20}, .others = {50}, .again = {100}}};
    reads.begin({.world = world, .nodes = NodeSet::range({1}, 3)});
    EXPECT_FALSE(reads.demands_something()) << world;
  }
}

}  // namespace
}  // namespace conclave::trace
