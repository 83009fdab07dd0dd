#include "graph/optimum.hpp"

#include <gtest/gtest.h>

#include "graph/distance.hpp"
#include "graph/generate.hpp"

namespace conclave::graph {
namespace {

std::vector<std::uint32_t> ids(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> values;
  for (NodeId node : nodes) values.push_back(node.value);
  return values;
}

Graph from_zero(const Shape& shape) { return over(NodeSet::range({0}, shape.nodes), shape); }

TEST(Optimum, RingsAndPathsNeedAThirdOfTheirNodes) {
  for (std::uint32_t n = 3; n <= 24; ++n) {
    EXPECT_EQ(least_dominating_set(from_zero(ring(n)), 1).size(), (n + 2) / 3);
    EXPECT_EQ(least_dominating_set(from_zero(path(n)), 1).size(), (n + 2) / 3);
    EXPECT_EQ(least_dominating_set(from_zero(ring(n)), 2).size(), (n + 4) / 5);
  }
}

TEST(Optimum, TheFirstOfTheSmallestSetsIsFound) {
  EXPECT_EQ(ids(least_dominating_set(from_zero(path(7)), 1)), (std::vector<std::uint32_t>{0, 2, 5}));
  EXPECT_EQ(ids(least_dominating_set(from_zero(ring(12)), 1)), (std::vector<std::uint32_t>{0, 3, 6, 9}));
  EXPECT_EQ(ids(least_dominating_set(from_zero(star(9)), 1)), (std::vector<std::uint32_t>{0}));
}

TEST(Optimum, GridsAsKnown) {
  EXPECT_EQ(least_dominating_set(from_zero(grid(16, 4)), 1).size(), 4u);
  EXPECT_EQ(least_dominating_set(from_zero(grid(20, 5)), 1).size(), 6u);
}

// Every set of that size, by its bits.
TEST(Optimum, NoSetThatIsTriedIsBetter) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = from_zero(*geometric(10, 4, seed));
    const auto centres = best_centres(graph, 3);
    ASSERT_TRUE(centres);
    std::uint32_t least = UINT32_MAX;
    for (unsigned bits = 0; bits < 1u << 10; ++bits) {
      if (std::popcount(bits) != 3) continue;
      NodeSet set;
      for (std::uint32_t i = 0; i < 10; ++i) {
        if (bits >> i & 1) set.insert({i});
      }
      least = std::min(least, radius(graph, set));
    }
    EXPECT_EQ(centres->radius, least) << "seed " << seed;
    NodeSet found;
    for (NodeId node : centres->nodes) found.insert(node);
    EXPECT_EQ(radius(graph, found), least);
  }
}

TEST(Optimum, WhoCannotBeReachedHasNoCentre) {
  const Graph graph(NodeSet{{1}, {2}, {3}}, {});
  EXPECT_FALSE(best_centres(graph, 2));
  EXPECT_EQ(best_centres(graph, 3)->radius, 0u);
  EXPECT_FALSE(best_centres(graph, 4));
  EXPECT_EQ(least_dominating_set(graph, 5).size(), 3u);
}

}  // namespace
}  // namespace conclave::graph
