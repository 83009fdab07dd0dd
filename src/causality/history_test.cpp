#include "causality/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "causality/random_diagram.hpp"

namespace conclave::causality {
namespace {

const std::vector<std::string> names = {"a", "b", "c"};

struct Line {
  EventId event;
  std::vector<Known> clock;
};

History read(const std::vector<Line>& lines) {
  History history(3);
  std::uint64_t number = 0;
  for (const Line& line : lines) history.add(line.event, line.clock, ++number);
  history.finish();
  return history;
}

std::string flaw_of(const std::vector<Line>& lines) {
  const History history = read(lines);
  return history.flaw() ? std::to_string(history.flaw()->line) + ": " + in_words(*history.flaw(), names) : "";
}

TEST(History, NamesTheLineWhoseClockIsWrong) {
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{1, 1}, {{0, 1}}}}), "");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{0, 1}, {}}}),
            "2: a.1 is there already: the own entry of a does not grow");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{0, 3}, {}}}), "2: the own entry of a goes from 1 to 3, not by one");
  EXPECT_EQ(flaw_of({{{0, 7}, {}}}), "1: a begins with event 7: its earlier events are missing");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{0, 2}, {}}, {{1, 1}, {{0, 2}}}, {{1, 2}, {{0, 1}}}}),
            "4: the clock of b.2 goes backwards: it knew a.2 before");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{1, 1}, {{0, 1}}}, {{1, 2}, {}}}),
            "3: the clock of b.2 goes backwards: it knew a.1 before");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{1, 1}, {{0, 2}}}}), "2: b.1 knows a.2, which is not in the log");
  EXPECT_EQ(flaw_of({{{0, 1}, {}}, {{1, 1}, {{0, 1}}}, {{2, 1}, {{1, 1}}}}),
            "3: c.1 knows b.1, but not all that b.1 knew");
  EXPECT_EQ(flaw_of({{{0, 1}, {{1, 1}}}, {{1, 1}, {{0, 1}}}}),
            "1: a.1 knows b.1, which cannot have happened before it");
}

TEST(History, OfSeveralFlawsTheFirstLineCounts) {
  const History history = read({{{0, 1}, {{1, 9}}}, {{0, 1}, {}}, {{2, 5}, {}}});
  ASSERT_TRUE(history.flaw());
  EXPECT_EQ(history.flaw()->line, 1u);
  EXPECT_EQ(history.flaws(), 3u);
}

TEST(History, EventsMayComeInAnyOrder) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Diagram diagram = random_diagram(3, 40, seed);
    const auto times = diagram.vector_times();
    std::vector<EventId> order = diagram.in_causal_order();
    if (seed % 2 == 0) std::ranges::sort(order);  // one process after the other
    if (seed % 4 == 1) std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    History history(3);
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<Known> clock;
      for (std::uint32_t p = 0; p < 3; ++p)
        clock.push_back({p, times[order[i].process][order[i].number - 1][p]});
      history.add(order[i], clock, i + 1);
    }
    history.finish();
    ASSERT_FALSE(history.flaw()) << in_words(*history.flaw(), names);
    const History straight = diagram.history();
    EXPECT_EQ(history.concurrent_pairs(), straight.concurrent_pairs());
    EXPECT_EQ(history.messages(), straight.messages());
    EXPECT_EQ(history.longest_chain(), straight.longest_chain());
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(history.clock(order[i]), straight.clock(order[i]));
      EXPECT_EQ(history.line(order[i]), i + 1);
    }
  }
}

TEST(History, CountsPairsWithoutComparingThem) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Diagram diagram = random_diagram(4, 60, seed);
    const History history = diagram.history();
    std::uint64_t concurrent = 0;
    for (const EventId a : diagram.in_causal_order()) {
      for (const EventId b : diagram.in_causal_order()) {
        if (a < b && !diagram.reaches(a, b) && !diagram.reaches(b, a)) ++concurrent;
      }
    }
    EXPECT_EQ(history.concurrent_pairs(), concurrent);
  }
}

// Steps that are all allowed: along a process, or from a sender to who received it.
void expect_a_walk(const History& history, const std::vector<Stretch>& path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_LE(path[i].first, path[i].last);
    if (i == 0) continue;
    const auto senders = history.senders({path[i].process, path[i].first});
    EXPECT_NE(std::ranges::find(senders, EventId{path[i - 1].process, path[i - 1].last}), senders.end());
  }
}

TEST(History, PathsAndChainsAreWalks) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Diagram diagram = random_diagram(4, 50, seed);
    const History history = diagram.history();
    for (const EventId a : diagram.in_causal_order()) {
      for (const EventId b : diagram.in_causal_order()) {
        const auto path = history.path(a, b);
        ASSERT_EQ(path.empty(), !diagram.reaches(a, b));
        if (path.empty()) continue;
        ASSERT_EQ((EventId{path.front().process, path.front().first}), a);
        ASSERT_EQ((EventId{path.back().process, path.back().last}), b);
        expect_a_walk(history, path);
      }
    }
    const auto chain = history.longest_chain_path();
    expect_a_walk(history, chain);
    std::uint32_t length = 0;
    for (const Stretch& stretch : chain) length += stretch.last - stretch.first + 1;
    EXPECT_EQ(length, history.longest_chain());
  }
}

// Long enough for full vectors to be kept between the changes.
TEST(History, AnyTimeOfALongHistoryIsRestored) {
  const Diagram diagram = random_diagram(5, 3000, 7);
  const auto times = diagram.vector_times();
  const History history = diagram.history();
  for (const EventId event : diagram.in_causal_order())
    ASSERT_EQ(history.clock(event), times[event.process][event.number - 1]);
  EXPECT_LT(history.bytes(), 3000u * 60);
}

}  // namespace
}  // namespace conclave::causality
