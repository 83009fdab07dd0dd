// What makes a choice of superpeers a good one: how far the others have to go, how evenly the superpeers are
// spread, how many there are, and how many each has to serve. Everybody belongs to the nearest superpeer,
// among equally near ones to the least.
#pragma once
#include <map>

#include "core/graph.hpp"

namespace conclave::graph {

struct Criteria {
  std::uint32_t worst_hops = 0;  // `unreachable` if somebody reaches no superpeer
  std::uint32_t superpeers = 0;
  std::uint32_t nodes = 0;
  std::map<NodeId, std::uint32_t> peers = {};  // that each superpeer serves, itself not counted
  std::uint32_t most_peers = 0;
  std::uint32_t least_peers = 0;
};
Criteria criteria(const Graph& graph, const NodeSet& superpeers);

bool is_cycle(const Graph& graph);
// Along a cycle from the least superpeer on, the way its ids ascend if they do: the hops from each superpeer
// to the next.
std::vector<std::uint32_t> gaps(const Graph& cycle, const NodeSet& superpeers);

}  // namespace conclave::graph
