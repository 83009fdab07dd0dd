// The best choice of superpeers there is, found by trying: for graphs small enough to try.
//
// Smallest dominating sets and p-centres are NP-hard to find (Garey, Johnson 1979, GT2; Kariv, Hakimi, SIAM
// J. Appl. Math. 37, 1979), so beyond a few dozen nodes nobody knows them, and the algorithms approximate.
#pragma once
#include <optional>
#include <vector>

#include "core/graph.hpp"

namespace conclave::graph {

inline constexpr std::uint32_t most_nodes_for_optimum = 24;

// Among the sets of that size that have every node within `reach` hops, the first in lexicographic order.
std::optional<std::vector<NodeId>> first_dominating_set(const Graph& graph, std::uint32_t reach,
                                                        std::uint32_t size);

// The first among the smallest such sets.
std::vector<NodeId> least_dominating_set(const Graph& graph, std::uint32_t reach);

// p nodes whose greatest distance to any node is least; the first set of those. None if p nodes do not reach
// everybody, or if there are fewer.
struct Centres {
  std::vector<NodeId> nodes;
  std::uint32_t radius = 0;
};
std::optional<Centres> best_centres(const Graph& graph, std::uint32_t p);

}  // namespace conclave::graph
