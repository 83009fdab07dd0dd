#include "graph/criteria.hpp"

#include <gtest/gtest.h>

#include "graph/distance.hpp"
#include "graph/generate.hpp"

namespace conclave::graph {
namespace {

TEST(Criteria, OfAnEvenChoiceOnARing) {
  const Graph ring = over(NodeSet::range({0}, 12), graph::ring(12));
  const Criteria found = criteria(ring, {{1}, {5}, {9}});
  EXPECT_EQ(found.worst_hops, 2u);
  EXPECT_EQ(found.superpeers, 3u);
  // Those halfway belong to the lesser one: 3 to 1, 7 to 5, and 11 to 1.
  EXPECT_EQ(found.peers, (std::map<NodeId, std::uint32_t>{{{1}, 4}, {{5}, 3}, {{9}, 2}}));
  EXPECT_EQ(gaps(ring, {{1}, {5}, {9}}), (std::vector<std::uint32_t>{4, 4, 4}));
}

TEST(Criteria, GapsOfAnUnevenChoice) {
  const Graph ring = over(NodeSet::range({0}, 10), graph::ring(10));
  EXPECT_EQ(gaps(ring, {{2}, {3}, {9}}), (std::vector<std::uint32_t>{1, 6, 3}));
  EXPECT_EQ(gaps(ring, {{4}}), (std::vector<std::uint32_t>{10}));
  EXPECT_EQ(gaps(ring, {}), (std::vector<std::uint32_t>{}));
}

TEST(Criteria, OnlyACycleIsOne) {
  EXPECT_TRUE(is_cycle(over(NodeSet::range({0}, 5), ring(5))));
  EXPECT_FALSE(is_cycle(over(NodeSet::range({0}, 5), path(5))));
  EXPECT_FALSE(is_cycle(Graph(NodeSet::range({0}, 6),
                              {{{0}, {1}}, {{1}, {2}}, {{2}, {0}}, {{3}, {4}}, {{4}, {5}}, {{5}, {3}}})));
}

TEST(Criteria, WhoReachesNobodyIsCountedForNobody) {
  const Graph graph(NodeSet{{1}, {2}, {3}}, {{{1}, {2}}});
  const Criteria found = criteria(graph, {{1}});
  EXPECT_EQ(found.worst_hops, unreachable);
  EXPECT_EQ(found.most_peers, 1u);
}

}  // namespace
}  // namespace conclave::graph
