#include "graph/generate.hpp"

#include <gtest/gtest.h>

#include "graph/distance.hpp"

namespace conclave::graph {
namespace {

Graph named(const Shape& shape) { return over(NodeSet::range({1}, shape.nodes), shape); }

TEST(Generate, ShapesHaveTheEdgesTheirNamesPromise) {
  EXPECT_EQ(named(path(5)).edges(), 4u);
  EXPECT_EQ(named(ring(5)).edges(), 5u);
  EXPECT_EQ(named(ring(2)).edges(), 1u);
  EXPECT_EQ(named(ring(1)).edges(), 0u);
  EXPECT_EQ(named(star(5)).neighbours({1}).size(), 4u);
  EXPECT_EQ(named(complete(5)).edges(), 10u);
  EXPECT_EQ(named(grid(12, 4)).edges(), 3u * 3 + 2u * 4);
  EXPECT_TRUE(connected(named(grid(11, 4))));
}

TEST(Generate, ARandomGraphHasAboutAsManyEdgesAsItShould) {
  const Shape shape = random(2000, 0.01, 7);
  EXPECT_NEAR(static_cast<double>(named(shape).edges()), 0.01 * 2000 * 1999 / 2, 500);
  EXPECT_EQ(named(shape).edges(), shape.edges.size());
  EXPECT_EQ(random(10, 0, 1).edges.size(), 0u);
  EXPECT_EQ(random(10, 1, 1).edges.size(), 45u);
}

TEST(Generate, AScaleFreeGraphIsConnectedAndHasHubs) {
  const Graph graph = named(scale_free(5000, 2, 3));
  EXPECT_TRUE(connected(graph));
  EXPECT_EQ(graph.edges(), 3u + 2u * 4997);
  std::size_t most = 0;
  for (NodeId node : graph.nodes()) most = std::max(most, graph.neighbours(node).size());
  EXPECT_GT(most, 60u);  // a random graph with as many edges has some twenty at most
}

TEST(Generate, AUnitDiscGraphJoinsExactlyThoseInRange) {
  const auto shape = geometric(300, 10, 5);
  ASSERT_TRUE(shape);
  std::uint64_t longest = 0;
  for (const auto& [a, b] : shape->edges)
    longest = std::max(longest, square_between(shape->places[a], shape->places[b]));
  std::size_t within = 0;
  for (std::uint32_t a = 0; a < 300; ++a) {
    for (std::uint32_t b = 0; b < a; ++b)
      within += square_between(shape->places[a], shape->places[b]) <= longest;
  }
  EXPECT_EQ(within, shape->edges.size());
  EXPECT_TRUE(connected(named(*shape)));
}

TEST(Generate, AUnitDiscGraphHasAboutTheDegreeAskedFor) {
  const auto shape = geometric(3000, 12, 1);
  ASSERT_TRUE(shape);
  const double degree = 2.0 * static_cast<double>(shape->edges.size()) / 3000;
  EXPECT_GT(degree, 10.5);
  EXPECT_LT(degree, 12.2);
}

TEST(Generate, ARangeTooShortToConnectIsSaid) {
  const auto shape = geometric(500, 1, 1);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error(), "500 nodes with 1 neighbours on average do not connect");
}

TEST(Generate, SmallUnitDiscGraphsAreConnected) {
  for (std::uint32_t nodes = 1; nodes <= 30; ++nodes) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto shape = geometric(nodes, 6, seed);
      ASSERT_TRUE(shape) << nodes << " " << seed;
      EXPECT_TRUE(connected(named(*shape)));
    }
  }
}

TEST(Generate, TheSeedDecides) {
  EXPECT_EQ(geometric(100, 8, 1)->edges, geometric(100, 8, 1)->edges);
  EXPECT_NE(geometric(100, 8, 1)->edges, geometric(100, 8, 2)->edges);
  EXPECT_EQ(scale_free(100, 2, 1).edges, scale_free(100, 2, 1).edges);
  EXPECT_NE(scale_free(100, 2, 1).edges, scale_free(100, 2, 2).edges);
}

}  // namespace
}  // namespace conclave::graph
