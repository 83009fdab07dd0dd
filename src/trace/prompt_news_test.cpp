#include "trace/prompt_news.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// Three nodes, of which the first leads; all have announced a place by tick 10. What it announces, the others
// announce within 20 ticks; a message that was lost is made up for within 100.
class Story {
 public:
  Story() {
    news_.begin({.world = "sim", .nodes = NodeSet::range({1}, 3)});
    lead(5, 1, 1);
    for (std::uint32_t node : {1, 2, 3}) announce(10, node, 1);
  }
  void lead(std::uint64_t at, std::uint32_t node, std::uint64_t term) {
    tell(at, Kind::deliver, node, {}, {"Leading", fmt::format("{{\"term\":{}}}", term)});
  }
  void announce(std::uint64_t at, std::uint32_t node, std::uint64_t place) {
    tell(at, Kind::deliver, node, {}, {"Committed", fmt::format("{{\"index\":{}}}", place)});
  }
  void befall(std::uint64_t at, Kind kind, std::uint32_t node, const char* what = "") {
    tell(at, kind, node, {what, {}}, {});
  }
  bool holds() { return news_.verdict().holds; }
  bool holds_at_end(std::uint64_t at) {
    news_.end({at});
    return holds();
  }
  const PromptNews& news() const { return news_; }

 private:
  void tell(std::uint64_t at, Kind kind, std::uint32_t node, Item input, Item event) {
    Step step = {
        .number = ++number_, .at = {at}, .kind = kind, .node = NodeId{node}, .input = std::move(input)};
    if (!event.type.empty()) step.events.push_back(std::move(event));
    news_.see(step);
  }

  PromptNews news_{{.news = {20}, .again = {100}}};
  std::uint64_t number_ = 0;
};

TEST(PromptNews, WhoeverHearsTooLateIsFound) {
  Story story;
  story.announce(100, 1, 2);
  story.announce(110, 2, 2);
  story.announce(120, 3, 2);
  EXPECT_TRUE(story.holds());
  EXPECT_EQ(story.news().judged(), 2u);
  EXPECT_EQ(story.news().longest(), Ticks{20});
  story.announce(200, 1, 3);
  story.announce(205, 2, 3);
  story.announce(221, 3, 3);
  EXPECT_FALSE(story.holds());
  EXPECT_EQ(story.news().verdict().why,
            "p3 had not announced place 3 when the leader had 21 ticks ago; 20 are allowed");
}

TEST(PromptNews, EachPlaceHasItsOwnTime) {
  Story story;
  story.announce(100, 1, 2);
  story.announce(115, 1, 3);
  for (const std::uint32_t node : {2, 3}) story.announce(118, node, 2);
  for (const std::uint32_t node : {2, 3}) story.announce(135, node, 3);
  EXPECT_TRUE(story.holds());
  EXPECT_EQ(story.news().judged(), 4u);
}

TEST(PromptNews, WhoNeverHearsIsFoundInTheEnd) {
  Story story;
  story.announce(100, 1, 2);
  story.announce(110, 2, 2);
  EXPECT_FALSE(story.holds_at_end(121));
  Story shorter;
  shorter.announce(100, 1, 2);
  EXPECT_TRUE(shorter.holds_at_end(120));
}

TEST(PromptNews, NothingIsDemandedWhileSomethingIsInTheWay) {
  for (const auto& [begin, end, what] :
       {std::tuple(Kind::pause, Kind::resume, ""), std::tuple(Kind::partition, Kind::heal, ""),
        std::tuple(Kind::disk, Kind::disk, "stands still"), std::tuple(Kind::lose, Kind::lose, "on the way"),
        std::tuple(Kind::clock, Kind::clock, "jump -5"), std::tuple(Kind::crash, Kind::recover, "")}) {
    Story story;
    story.announce(100, 1, 2);
    story.befall(110, begin, 3, what);
    story.befall(140, end, 3, end == Kind::disk ? "goes on" : what);
    story.announce(200, 1, 3);
    for (const std::uint32_t node : {2, 3}) story.announce(230, node, 3);
    EXPECT_TRUE(story.holds()) << static_cast<int>(begin);
    story.befall(246, Kind::timer, 1);
    story.announce(300, 1, 4);
    story.announce(321, 3, 4);
    EXPECT_FALSE(story.holds()) << static_cast<int>(begin);
  }
}

TEST(PromptNews, WhatComesInTheWayWhenTheTimeIsOverIsNoExcuse) {
  Story story;
  story.announce(100, 1, 2);
  story.befall(121, Kind::pause, 2);
  story.befall(125, Kind::resume, 2);
  story.announce(300, 3, 2);
  EXPECT_FALSE(story.holds());
}

TEST(PromptNews, WhoIsBehindCatchesUpInItsTime) {
  Story story;
  story.befall(20, Kind::crash, 3);
  story.befall(50, Kind::recover, 3);
  story.announce(160, 1, 2);
  story.announce(170, 2, 2);
  story.announce(500, 3, 2);
  EXPECT_TRUE(story.holds());
  story.announce(600, 1, 3);
  story.announce(610, 2, 3);
  EXPECT_FALSE(story.holds_at_end(700)) << "it had caught up";
}

TEST(PromptNews, ALeaderThatComesInBetweenExcusesWhatNobodySaw) {
  Story story;
  story.announce(100, 1, 2);
  story.befall(150, Kind::timer, 3);
  story.lead(160, 3, 2);
  story.announce(180, 3, 3);
  for (const std::uint32_t node : {1, 2}) story.announce(190, node, 3);
  EXPECT_TRUE(story.holds());
  story.announce(200, 3, 4);
  EXPECT_FALSE(story.holds_at_end(221)) << "now it is demanded of the next one";
}

TEST(PromptNews, WhoMayGetASnapshotIsNotHurried) {
  Story story;
  story.announce(100, 1, 2);
  story.befall(105, Kind::command, 1, "Compact");
  story.announce(400, 3, 2);
  EXPECT_TRUE(story.holds_at_end(500));
}

TEST(PromptNews, OnceMembersChangeNothingIsDemanded) {
  Story story;
  story.befall(50, Kind::command, 2, "Reconfigure");
  story.announce(100, 1, 2);
  EXPECT_TRUE(story.holds_at_end(500));
}

TEST(PromptNews, BetweenProcessesAndByHandNothingIsDemandedOfTime) {
  for (const char* world : {"live", "stage", "checker"}) {
    PromptNews news{{.news = {20}, .again = {100}}};
    news.begin({.world = world, .nodes = NodeSet::range({1}, 3)});
    EXPECT_FALSE(news.demands_something()) << world;
  }
}

}  // namespace
}  // namespace conclave::trace
