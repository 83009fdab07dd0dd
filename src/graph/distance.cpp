#include "graph/distance.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/connected_components.hpp>

namespace conclave::graph {
namespace {

using Adjacency = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
using Vertex = boost::graph_traits<Adjacency>::vertex_descriptor;

// Vertices are numbered as the nodes are ordered, whatever their ids.
class Numbering {
 public:
  explicit Numbering(const NodeSet& nodes) {
    for (const NodeSet::Run& run : nodes.runs()) {
      runs_.push_back({run, next_});
      next_ += run.last - run.first + 1;
    }
  }
  Vertex of(NodeId node) const {
    const auto after = std::ranges::upper_bound(runs_, node.value, {},
                                                [](const Numbered& numbered) { return numbered.run.first; });
    ensure(after != runs_.begin() && node.value <= std::prev(after)->run.last, "the node is in the graph");
    return std::prev(after)->number + (node.value - std::prev(after)->run.first);
  }

 private:
  struct Numbered {
    NodeSet::Run run;
    Vertex number;
  };
  std::vector<Numbered> runs_;
  Vertex next_ = 0;
};

Adjacency adjacency_of(const Graph& graph, const Numbering& number) {
  Adjacency adjacency(graph.nodes().size());
  for (NodeId node : graph.nodes()) {
    for (NodeId neighbour : graph.neighbours(node)) {
      if (node < neighbour) boost::add_edge(number.of(node), number.of(neighbour), adjacency);
    }
  }
  return adjacency;
}

// Every vertex takes the attachment of whoever discovers it, one hop farther.
struct TakeOver : boost::default_bfs_visitor {
  std::vector<Attachment>* attached;
  template <class Edge>
  void tree_edge(Edge edge, const Adjacency& adjacency) const {
    const Attachment& nearer = (*attached)[source(edge, adjacency)];
    (*attached)[target(edge, adjacency)] = {nearer.to, nearer.hops + 1};
  }
};

}  // namespace

Components components(const Graph& graph) {
  const Adjacency adjacency = adjacency_of(graph, Numbering(graph.nodes()));
  Components found;
  found.of.resize(graph.nodes().size());
  const auto by_vertex =
      boost::make_iterator_property_map(found.of.begin(), get(boost::vertex_index, adjacency));
  found.sizes.resize(boost::connected_components(adjacency, by_vertex));
  for (std::uint32_t number : found.of) ++found.sizes[number];
  return found;
}

std::vector<Attachment> attach(const Graph& graph, const NodeSet& chosen) {
  const Numbering number(graph.nodes());
  const Adjacency adjacency = adjacency_of(graph, number);
  std::vector<Attachment> attached(graph.nodes().size());
  std::vector<Vertex> sources;
  for (NodeId node : chosen) {
    sources.push_back(number.of(node));
    attached[sources.back()] = {node, 0};
  }
  // The search starts from all of them at once, in ascending order. What is found at one distance is found
  // in the order of whom it belongs to, so ties go to the least.
  boost::queue<Vertex> queue;
  std::vector<boost::default_color_type> colours(graph.nodes().size());
  TakeOver visitor;
  visitor.attached = &attached;
  boost::breadth_first_search(
      adjacency, sources.begin(), sources.end(), queue, visitor,
      boost::make_iterator_property_map(colours.begin(), get(boost::vertex_index, adjacency)));
  return attached;
}

std::vector<std::uint32_t> distances(const Graph& graph, NodeId from) {
  std::vector<std::uint32_t> hops;
  for (const Attachment& attachment : attach(graph, {from})) hops.push_back(attachment.hops);
  return hops;
}

std::uint32_t radius(const Graph& graph, const NodeSet& chosen) {
  std::uint32_t most = 0;
  for (const Attachment& attachment : attach(graph, chosen)) most = std::max(most, attachment.hops);
  return most;
}

}  // namespace conclave::graph
