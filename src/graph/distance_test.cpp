#include "graph/distance.hpp"

#include <gtest/gtest.h>

#include "graph/generate.hpp"

namespace conclave::graph {
namespace {

TEST(Distance, ComponentsAreCountedAndSized) {
  const Graph graph(NodeSet{{1}, {2}, {3}, {10}, {11}, {20}}, {{{1}, {2}}, {{2}, {3}}, {{10}, {11}}});
  const Components parts = components(graph);
  EXPECT_EQ(parts.of, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(parts.sizes, (std::vector<std::uint32_t>{3, 2, 1}));
  EXPECT_FALSE(connected(graph));
}

TEST(Distance, HopsAreCountedAlongTheShortestWay) {
  const Graph ring = over(NodeSet::range({5}, 6), graph::ring(6));
  EXPECT_EQ(distances(ring, {5}), (std::vector<std::uint32_t>{0, 1, 2, 3, 2, 1}));
}

TEST(Distance, OtherPartsAreUnreachable) {
  const Graph graph(NodeSet{{1}, {2}, {3}}, {{{1}, {2}}});
  EXPECT_EQ(distances(graph, {1}), (std::vector<std::uint32_t>{0, 1, unreachable}));
  EXPECT_EQ(attach(graph, {{1}})[2], Attachment{});
  EXPECT_EQ(radius(graph, {{1}}), unreachable);
}

TEST(Distance, EverybodyBelongsToTheNearestAndOnTiesToTheLeast) {
  const Graph path = over(NodeSet::range({1}, 7), graph::path(7));
  const auto attached = attach(path, {{2}, {6}});
  std::vector<std::uint32_t> to;
  std::vector<std::uint32_t> hops;
  for (const Attachment& attachment : attached) {
    to.push_back(attachment.to->value);
    hops.push_back(attachment.hops);
  }
  EXPECT_EQ(to, (std::vector<std::uint32_t>{2, 2, 2, 2, 6, 6, 6}));
  EXPECT_EQ(hops, (std::vector<std::uint32_t>{1, 0, 1, 2, 1, 0, 1}));
}

// Against the definition, on graphs with many ties.
TEST(Distance, TiesGoToTheLeastWhateverTheOrderOfDiscovery) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Graph graph = over(NodeSet::range({1}, 30), scale_free(30, 2, seed));
    const NodeSet chosen = {{3}, {11}, {17}, {28}};
    std::vector<Attachment> best(30);
    for (NodeId one : chosen) {
      const auto hops = distances(graph, one);
      for (std::uint32_t i = 0; i < 30; ++i) {
        if (hops[i] < best[i].hops) best[i] = {one, hops[i]};
      }
    }
    EXPECT_EQ(attach(graph, chosen), best) << "seed " << seed;
  }
}

}  // namespace
}  // namespace conclave::graph
