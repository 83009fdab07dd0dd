// Watches how a scatternet is formed: is it one?
//
//   placed     everybody was told its place
//   agreed     both ends of every link tell the same of it, and they are in each other's range
//   led        everybody's leader is its own leader, and is the node itself or one of its masters
//   degree     no master has more than seven slaves
//   connected  whoever is connected by radio is connected by the scatternet
#pragma once
#include <map>
#include <memory>

#include "core/graph.hpp"
#include "trace/monitor.hpp"

namespace conclave::trace {

class ScatternetMonitor : public Monitor {
 public:
  static constexpr std::uint32_t most_slaves = 7;  // that are active in a piconet

  struct Node {
    NodeId leader = {};
    NodeSet slaves = {};
    NodeSet masters = {};
    std::uint64_t step = 0;  // in which it was told
  };
  struct Summary {
    std::uint32_t leaders = 0;   // nodes that lead themselves
    std::uint32_t piconets = 0;  // nodes with slaves
    std::uint32_t bridges = 0;   // nodes in more than one piconet
    std::uint32_t links = 0;
    std::uint32_t most_slaves = 0;
    std::uint32_t most_piconets = 0;  // of one node
  };

  explicit ScatternetMonitor(std::shared_ptr<const Graph> radio) : radio_(std::move(radio)) {}

  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  const Summary& summary() const { return summary_; }
  const std::map<NodeId, Node>& nodes() const { return nodes_; }
  std::vector<Verdict> verdicts() const override { return {placed_, agreed_, led_, degree_, connected_}; }
  std::vector<Fact> facts() const override;

 private:
  void check(NodeId node, const Node& told);
  void check_connected();

  std::shared_ptr<const Graph> radio_;
  std::map<NodeId, Node> nodes_;
  Summary summary_;
  Verdict placed_{"placed"}, agreed_{"agreed"}, led_{"led"}, degree_{"degree"}, connected_{"connected"};
};

}  // namespace conclave::trace
