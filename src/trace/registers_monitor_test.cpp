#include "trace/registers_monitor.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

Step asks(std::uint32_t node) {
  return {.kind = Kind::command, .node = NodeId{node}, .input = {"Acquire", "{}"}};
}
Step leaves(std::uint32_t node) {
  return {.kind = Kind::command, .node = NodeId{node}, .input = {"Release", "{}"}};
}
Step enters(std::uint32_t node, std::uint64_t fence) {
  return {.kind = Kind::access,
          .node = NodeId{node},
          .input = {"read", R"({"register":"c[1]","value":1})"},
          .events = {{"Granted", "{\"fence\":" + std::to_string(fence) + "}"}}};
}
Step writes(std::uint32_t node, const char* content) {
  return {.kind = Kind::access, .node = NodeId{node}, .input = {"write", content}};
}

TEST(RegistersMonitor, CountsHowOftenOneIsOvertaken) {
  RegistersMonitor monitor(false);
  for (const Step& step : {asks(1), asks(2), enters(2, 1), leaves(2), asks(2), enters(2, 2), leaves(2),
                           enters(1, 3), leaves(1), asks(1), asks(2), enters(1, 4)})
    monitor.see(step);
  EXPECT_EQ(monitor.most_overtaken(), 2u);
  EXPECT_EQ(monitor.facts().at(3).text, "p1 waited while others entered 2 times");
}

TEST(RegistersMonitor, RemembersTheHighestTicket) {
  RegistersMonitor monitor(false);
  monitor.see(writes(1, R"({"register":"num[1]","value":3})"));
  monitor.see(writes(2, R"({"register":"num[2]","value":11})"));
  monitor.see(writes(2, R"({"register":"num[2]","value":0})"));
  monitor.see(writes(2, R"({"register":"entries","value":40})"));
  EXPECT_EQ(monitor.highest("num"), 11u);
  EXPECT_EQ(monitor.highest("entries"), 40u);
  EXPECT_EQ(monitor.highest("k"), 0u);
  EXPECT_EQ(monitor.facts().back().text, "highest ticket 11");
}

TEST(RegistersMonitor, JudgesWhatEveryLockOwes) {
  RegistersMonitor monitor(false);
  for (const Step& step : {asks(1), asks(2), enters(1, 1), enters(2, 2)}) monitor.see(step);
  EXPECT_FALSE(monitor.verdicts().front().holds);
}

}  // namespace
}  // namespace conclave::trace
