#include "graph/criteria.hpp"

#include "graph/distance.hpp"

namespace conclave::graph {

Criteria criteria(const Graph& graph, const NodeSet& superpeers) {
  Criteria found = {.superpeers = superpeers.size(), .nodes = graph.nodes().size()};
  for (NodeId superpeer : superpeers) found.peers[superpeer] = 0;
  for (const Attachment& attachment : attach(graph, superpeers)) {
    found.worst_hops = std::max(found.worst_hops, attachment.hops);
    if (attachment.hops > 0 && attachment.to) ++found.peers[*attachment.to];
  }
  found.least_peers = superpeers.empty() ? 0 : UINT32_MAX;
  for (const auto& [superpeer, count] : found.peers) {
    found.most_peers = std::max(found.most_peers, count);
    found.least_peers = std::min(found.least_peers, count);
  }
  return found;
}

bool is_cycle(const Graph& graph) {
  if (graph.nodes().size() < 3 || !connected(graph)) return false;
  return std::ranges::all_of(graph.nodes(), [&](NodeId node) { return graph.neighbours(node).size() == 2; });
}

std::vector<std::uint32_t> gaps(const Graph& cycle, const NodeSet& superpeers) {
  ensure(is_cycle(cycle), "gaps are between superpeers of a cycle");
  std::vector<std::uint32_t> found;
  if (superpeers.empty()) return found;
  const NodeId first = superpeers.min();
  NodeId before = first;
  NodeId here = cycle.nodes().after(first);  // the way the ids ascend, if they do
  if (std::ranges::find(cycle.neighbours(first), here) == cycle.neighbours(first).end())
    here = cycle.neighbours(first).front();
  for (std::uint32_t hops = 1;; ++hops) {
    if (superpeers.contains(here)) {
      found.push_back(hops);
      hops = 0;
    }
    if (here == first) return found;
    const auto next = cycle.neighbours(here);
    before = std::exchange(here, next[0] == before ? next[1] : next[0]);
  }
}

}  // namespace conclave::graph
