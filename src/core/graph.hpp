// An undirected graph over processes: who can talk to whom. Protocols that run on one find their neighbours
// in it when they start.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ensure.hpp"
#include "core/node_set.hpp"

namespace conclave {

class Graph {
 public:
  using Edge = std::pair<NodeId, NodeId>;

  // Loops and repeated edges are dropped; every end must be a node.
  Graph(NodeSet nodes, const std::vector<Edge>& edges) : nodes_(std::move(nodes)) {
    std::vector<Edge> both;
    both.reserve(2 * edges.size());
    for (const auto& [a, b] : edges) {
      ensure(nodes_.contains(a) && nodes_.contains(b), "an edge joins two nodes of the graph");
      if (a == b) continue;
      both.emplace_back(a, b);
      both.emplace_back(b, a);
    }
    std::ranges::sort(both);
    const auto repeated = std::ranges::unique(both);
    both.erase(repeated.begin(), repeated.end());
    contiguous_ = nodes_.runs().size() <= 1;
    base_ = nodes_.empty() ? 0 : nodes_.min().value;
    first_.reserve(nodes_.size() + 1);
    neighbours_.reserve(both.size());
    std::size_t next = 0;
    for (NodeId node : nodes_) {
      if (!contiguous_) index_.emplace(node, first_.size());
      first_.push_back(neighbours_.size());
      for (; next < both.size() && both[next].first == node; ++next) neighbours_.push_back(both[next].second);
    }
    first_.push_back(neighbours_.size());
  }

  const NodeSet& nodes() const { return nodes_; }
  std::size_t edges() const { return neighbours_.size() / 2; }
  // In ascending order.
  std::span<const NodeId> neighbours(NodeId node) const {
    const std::size_t i = contiguous_ ? node.value - base_ : index_.at(node);
    return std::span(neighbours_).subspan(first_[i], first_[i + 1] - first_[i]);
  }

 private:
  NodeSet nodes_;
  bool contiguous_ = true;
  std::uint32_t base_ = 0;
  std::map<NodeId, std::size_t> index_;
  std::vector<std::size_t> first_;
  std::vector<NodeId> neighbours_;
};

}  // namespace conclave
