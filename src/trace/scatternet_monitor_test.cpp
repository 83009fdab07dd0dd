#include "trace/scatternet_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// In range: 1 - 2 - 3 - 4, and 5 by itself.
ScatternetMonitor watcher() {
  return ScatternetMonitor(std::make_shared<const Graph>(
      NodeSet::range({1}, 5), std::vector<Graph::Edge>{{{1}, {2}}, {{2}, {3}}, {{3}, {4}}}));
}

void tell(ScatternetMonitor& monitor, std::uint32_t node, std::uint32_t leader, std::string_view slaves,
          std::string_view masters) {
  monitor.see({.number = node,
               .node = NodeId{node},
               .events = {{"Placed", fmt::format(R"({{"leader":{},"slaves":[{}],"masters":[{}]}})", leader,
                                                 slaves, masters)}}});
}

std::string violated(const ScatternetMonitor& monitor) {
  std::string names;
  for (const Verdict& verdict : monitor.verdicts()) {
    if (!verdict.holds) names += verdict.property + ": " + verdict.why + "\n";
  }
  return names;
}

// 2 leads 1; 4 leads 3; 3 bridges to 2 as its slave.
ScatternetMonitor formed() {
  ScatternetMonitor monitor = watcher();
  tell(monitor, 1, 2, "", "2");
  tell(monitor, 2, 2, "1,3", "");
  tell(monitor, 3, 4, "", "2,4");
  tell(monitor, 4, 4, "3", "");
  return monitor;
}

TEST(ScatternetMonitor, AScatternetKeepsEverything) {
  ScatternetMonitor monitor = formed();
  tell(monitor, 5, 5, "", "");
  monitor.end({});
  EXPECT_EQ(violated(monitor), "");
  EXPECT_EQ(monitor.summary().leaders, 3u);
  EXPECT_EQ(monitor.summary().piconets, 2u);
  EXPECT_EQ(monitor.summary().bridges, 1u);
  EXPECT_EQ(monitor.summary().links, 3u);
  EXPECT_EQ(monitor.summary().most_slaves, 2u);
}

TEST(ScatternetMonitor, SomebodyWasForgotten) {
  ScatternetMonitor monitor = formed();
  monitor.end({});
  EXPECT_EQ(violated(monitor), "placed: p5 was not told its place\n");
}

TEST(ScatternetMonitor, BothEndsOfALinkMustKnowIt) {
  ScatternetMonitor monitor = watcher();
  tell(monitor, 1, 2, "", "2");
  tell(monitor, 2, 2, "1,3", "");
  tell(monitor, 3, 3, "4", "");
  tell(monitor, 4, 3, "", "3");
  tell(monitor, 5, 5, "", "");
  monitor.end({});
  EXPECT_EQ(violated(monitor), "agreed: p2 takes p3 for its slave, and p3 does not agree\n");
}

TEST(ScatternetMonitor, LinksReachNoFartherThanTheRadio) {
  ScatternetMonitor far = watcher();
  tell(far, 1, 4, "", "4");
  tell(far, 2, 4, "", "4");
  tell(far, 3, 4, "", "4");
  tell(far, 4, 4, "1,2,3", "");
  tell(far, 5, 5, "", "");
  far.end({});
  EXPECT_EQ(violated(far), "agreed: p1 has a link to p4 out of its range\n");
}

TEST(ScatternetMonitor, WithoutABridgeItFallsApart) {
  ScatternetMonitor monitor = watcher();
  tell(monitor, 1, 2, "", "2");
  tell(monitor, 2, 2, "1", "");
  tell(monitor, 3, 4, "", "4");
  tell(monitor, 4, 4, "3", "");
  tell(monitor, 5, 5, "", "");
  monitor.end({});
  EXPECT_EQ(violated(monitor), "connected: p2 and p3 are in range, and no chain of links joins them\n");
}

TEST(ScatternetMonitor, ALeaderLeadsItselfAndItsFollowers) {
  ScatternetMonitor monitor = watcher();
  tell(monitor, 1, 2, "", "2");
  tell(monitor, 2, 3, "1", "3");
  tell(monitor, 3, 3, "2,4", "");
  tell(monitor, 4, 3, "", "3");
  tell(monitor, 5, 5, "", "");
  monitor.end({});
  EXPECT_EQ(violated(monitor), "led: p1 follows p2, which is no leader of it\n");
}

TEST(ScatternetMonitor, SevenSlavesAreEnough) {
  std::vector<Graph::Edge> edges;
  for (std::uint32_t slave = 2; slave <= 9; ++slave) edges.push_back({{1}, {slave}});
  ScatternetMonitor monitor(std::make_shared<const Graph>(NodeSet::range({1}, 9), edges));
  tell(monitor, 1, 1, "2,3,4,5,6,7,8,9", "");
  for (std::uint32_t slave = 2; slave <= 9; ++slave) tell(monitor, slave, 1, "", "1");
  monitor.end({});
  EXPECT_EQ(violated(monitor), "degree: p1 has 8 slaves, more than 7\n");
}

}  // namespace
}  // namespace conclave::trace
