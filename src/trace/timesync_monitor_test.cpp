#include "trace/timesync_monitor.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace conclave::trace {
namespace {

constexpr std::uint32_t server = 0;

Step at(std::uint64_t time, std::uint32_t node) {
  static std::uint64_t number = 0;
  return {.number = ++number, .at = {time}, .kind = Kind::deliver, .node = NodeId{node}};
}
Step reading(std::uint64_t time, std::uint32_t node, std::int64_t shows, std::uint64_t bound) {
  Step step = at(time, node);
  step.events.push_back({"Reading", fmt::format("{{\"time\":{},\"bound\":{}}}", shows, bound)});
  return step;
}
Step adjusted(std::uint64_t time, std::uint32_t node, std::int64_t before, std::int64_t after,
              std::uint32_t source, std::uint64_t round) {
  Step step = at(time, node);
  step.events.push_back(
      {"Adjusted",
       fmt::format("{{\"before\":{},\"after\":{},\"offset\":0,\"bound\":5,\"source\":{},\"round\":{}}}",
                   before, after, source, round)});
  return step;
}
Step message(std::uint32_t from, std::uint32_t to) {
  Step step = at(0, from);
  step.sends.push_back({.to = {to}});
  return step;
}

std::string broken(const TimesyncMonitor& monitor) {
  std::string names;
  for (const Verdict& verdict : monitor.verdicts()) {
    if (!verdict.holds) names += verdict.property + " ";
  }
  return names;
}

TEST(TimesyncMonitor, AReadingMayBeAsFarOffAsItSays) {
  TimesyncMonitor monitor;
  monitor.see(reading(1'000, 1, 1'010, 10));
  monitor.see(reading(2'000, 1, 1'990, 10));
  EXPECT_EQ(broken(monitor), "");
  monitor.see(reading(3'000, 1, 3'011, 10));
  EXPECT_EQ(broken(monitor), "bound ");
  EXPECT_EQ(monitor.summary().worst_error, 11u);
  EXPECT_DOUBLE_EQ(monitor.summary().worst_share, 1.1);
  ASSERT_EQ(monitor.series().at({1}).size(), 3u);
  EXPECT_EQ(monitor.series().at({1})[1].error, -10);
}

TEST(TimesyncMonitor, NoClockShowsLessThanBefore) {
  TimesyncMonitor monitor;
  monitor.see(adjusted(10, 1, 900, 10, server, 1));  // set for the first time: nobody had read it
  monitor.see(reading(20, 1, 20, 5));
  monitor.see(reading(21, 2, 15, 50));  // another clock
  monitor.see(adjusted(30, 1, 30, 30, server, 2));
  EXPECT_EQ(broken(monitor), "");
  monitor.see(adjusted(40, 1, 40, 35, server, 3));
  EXPECT_EQ(broken(monitor), "monotone ");
}

TEST(TimesyncMonitor, WhoComesBackHasANewClock) {
  TimesyncMonitor monitor;
  monitor.see(reading(100, 1, 100, 50));
  Step crash = at(110, 1);
  crash.kind = Kind::crash;
  monitor.see(crash);
  monitor.see(adjusted(120, 1, 0, 90, server, 1));
  EXPECT_EQ(broken(monitor), "");
}

TEST(TimesyncMonitor, ClocksReadAtOneMomentAgree) {
  TimesyncMonitor monitor({100}, {50});
  monitor.see(reading(1'000, 1, 5'000, 500));
  monitor.see(reading(1'050, 2, 5'150, 500));
  EXPECT_EQ(broken(monitor), "");
  EXPECT_EQ(monitor.summary().spread, 100u);
  monitor.see(reading(1'200, 3, 6'000, 500));  // nobody was read lately
  EXPECT_EQ(broken(monitor), "");
  monitor.see(reading(1'201, 1, 5'201, 500));
  EXPECT_EQ(broken(monitor), "mutual ");
}

TEST(TimesyncMonitor, ClocksOfOneRoundAgreeToWithinTheirBounds) {
  TimesyncMonitor monitor({100}, {50});
  monitor.see(adjusted(990, 1, 0, 990, 3, 7));
  monitor.see(adjusted(990, 2, 0, 990, 3, 7));
  monitor.see(reading(1'000, 1, 1'000, 5));
  monitor.see(reading(1'001, 2, 1'011, 5));
  EXPECT_EQ(broken(monitor), "");
  monitor.see(reading(1'002, 2, 1'013, 5));
  EXPECT_EQ(broken(monitor), "mutual ");
}

TEST(TimesyncMonitor, WhoAsksIsTold) {
  TimesyncMonitor monitor;
  Step asks = at(5, 1);
  asks.kind = Kind::command;
  asks.input.type = "Read";
  monitor.see(asks);
  monitor.end({});
  EXPECT_EQ(broken(monitor), "answered ");
}

TEST(TimesyncMonitor, CountsTheMessagesOfWhatCameToAnEnd) {
  TimesyncMonitor monitor;
  monitor.begin({.nodes = NodeSet::range({0}, 3)});
  monitor.see(message(1, server));
  monitor.see(message(2, server));
  monitor.see(message(server, 1));
  monitor.see(adjusted(10, 1, 0, 10, server, 1));
  EXPECT_EQ(monitor.summary().messages, 3u);
  EXPECT_EQ(monitor.summary().messages_per_correction(), 2);
  EXPECT_EQ(monitor.facts().back().name, "messages per synchronisation");
}

}  // namespace
}  // namespace conclave::trace
