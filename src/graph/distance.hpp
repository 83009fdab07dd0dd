// How far apart the nodes of a graph are, in hops, and which of them hang together.
#pragma once
#include <optional>
#include <vector>

#include "core/graph.hpp"

namespace conclave::graph {

inline constexpr std::uint32_t unreachable = UINT32_MAX;

// The number of every node's component, in the order of the nodes: 0 for the component of the least node,
// then as they come.
struct Components {
  std::vector<std::uint32_t> of;
  std::vector<std::uint32_t> sizes;  // by number
  std::uint32_t count() const { return static_cast<std::uint32_t>(sizes.size()); }
};
Components components(const Graph& graph);
inline bool connected(const Graph& graph) { return components(graph).count() <= 1; }

// Hops from one node to each, in the order of the nodes.
std::vector<std::uint32_t> distances(const Graph& graph, NodeId from);

// To which of the chosen nodes each node belongs: the nearest, among equally near ones the least.
struct Attachment {
  std::optional<NodeId> to = {};  // none: out of reach of all
  std::uint32_t hops = unreachable;
  bool operator==(const Attachment&) const = default;
};
std::vector<Attachment> attach(const Graph& graph, const NodeSet& chosen);

// The greatest distance from a node to the nearest chosen one.
std::uint32_t radius(const Graph& graph, const NodeSet& chosen);

}  // namespace conclave::graph
