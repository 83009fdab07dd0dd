#include "trace/overlay_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

// A path 1 - 2 - 3 - 4 - 5.
OverlayMonitor watcher(OverlayMonitor::Claims claims = {}) {
  return OverlayMonitor(
      std::make_shared<const Graph>(NodeSet::range({1}, 5),
                                    std::vector<Graph::Edge>{{{1}, {2}}, {{2}, {3}}, {{3}, {4}}, {{4}, {5}}}),
      std::move(claims));
}

void tell(OverlayMonitor& monitor, std::uint32_t node, std::uint32_t superpeer, std::uint32_t hops) {
  monitor.see({.number = node,
               .node = NodeId{node},
               .events = {{"Joined", fmt::format(R"({{"superpeer":{},"hops":{}}})", superpeer, hops)}}});
}

std::string violated(const OverlayMonitor& monitor) {
  std::string names;
  for (const Verdict& verdict : monitor.verdicts()) {
    if (!verdict.holds) names += verdict.property + ": " + verdict.why + "\n";
  }
  return names;
}

void tell_all(OverlayMonitor& monitor) {
  tell(monitor, 1, 2, 1);
  tell(monitor, 2, 2, 0);
  tell(monitor, 3, 2, 1);
  tell(monitor, 4, 4, 0);
  tell(monitor, 5, 4, 1);
}

TEST(OverlayMonitor, AGoodChoiceKeepsEverything) {
  OverlayMonitor monitor = watcher();
  tell_all(monitor);
  monitor.end({});
  EXPECT_EQ(violated(monitor), "");
  EXPECT_EQ(monitor.summary().superpeers, (NodeSet{{2}, {4}}));
  EXPECT_EQ(monitor.summary().worst_hops, 1u);
  EXPECT_EQ(monitor.summary().most_peers, 2u);
  EXPECT_EQ(monitor.summary().least_peers, 1u);
}

TEST(OverlayMonitor, SomebodyWasForgotten) {
  OverlayMonitor monitor = watcher();
  tell(monitor, 2, 2, 0);
  monitor.end({});
  EXPECT_EQ(violated(monitor), "attached: p1 was not told where it belongs\n");
}

TEST(OverlayMonitor, ASuperpeerThatIsNoneIsNoticed) {
  OverlayMonitor monitor = watcher();
  for (std::uint32_t node : {1u, 2u, 3u, 4u, 5u}) tell(monitor, node, 2, 1);
  monitor.end({});
  EXPECT_EQ(violated(monitor), "attached: p1 belongs to p2, but there is no way of 1 hops\n");
}

TEST(OverlayMonitor, HopsThatAreTooFewOrTooManyAreNoticed) {
  OverlayMonitor few = watcher();
  for (std::uint32_t node : {1u, 2u, 3u, 4u}) tell(few, node, 1, node - 1);
  tell(few, 5, 1, 3);  // it is four hops away
  few.end({});
  EXPECT_EQ(violated(few), "attached: p5 belongs to p1, but there is no way of 3 hops\n");
  OverlayMonitor many = watcher();
  tell(many, 1, 1, 0);
  tell(many, 2, 1, 1);
  tell(many, 3, 1, 2);
  tell(many, 4, 1, 3);
  tell(many, 5, 5, 0);
  many.end({});
  EXPECT_EQ(violated(many), "nearest: p4 is 3 hops from p1, but its neighbour p5 has only 0 hops to p5\n");
}

TEST(OverlayMonitor, TiesGoToTheLeast) {
  OverlayMonitor monitor = watcher();
  tell(monitor, 1, 2, 1);
  tell(monitor, 2, 2, 0);
  tell(monitor, 3, 4, 1);
  tell(monitor, 4, 4, 0);
  tell(monitor, 5, 4, 1);
  monitor.end({});
  EXPECT_EQ(violated(monitor), "nearest: p3 belongs to p4, although p2 is as near\n");
}

TEST(OverlayMonitor, ClaimsAreCompared) {
  OverlayMonitor monitor = watcher({.hops = {{0, "nobody walks"}},
                                    .superpeers = {{1, "one is enough"}},
                                    .exactly = 2,
                                    .peers = {{1, "as set"}}});
  tell_all(monitor);
  monitor.end({});
  EXPECT_EQ(violated(monitor),
            "access: somebody has 1 hops to go, more than 0: nobody walks\n"
            "share: 2 superpeers, more than 1: one is enough\n"
            "load: a superpeer serves 2 peers, more than 1: as set\n");
}

TEST(OverlayMonitor, NobodyIsToldTwice) {
  OverlayMonitor monitor = watcher();
  tell_all(monitor);
  tell(monitor, 3, 4, 1);
  monitor.end({});
  EXPECT_EQ(violated(monitor), "attached: p3 was told twice where it belongs\n");
}

}  // namespace
}  // namespace conclave::trace
