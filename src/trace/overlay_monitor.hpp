// Watches a run of a superpeer selection: does everybody belong to a superpeer, and how good is the choice?
//
//   attached  everybody was told of a superpeer that is one, and there is a way to it of as many hops as told
//   nearest   no superpeer is nearer, and of equally near ones it is the least
//   access    nobody has farther to go than claimed
//   share     there are as many superpeers as claimed, or no more than that
//   load      no superpeer serves more than claimed
//
// Distances are not measured but checked where they were told: whoever is h > 0 hops away has a neighbour at
// h-1 with the same superpeer, and no two neighbours are more than one hop apart. Together that is the truth.
#pragma once
#include <map>
#include <memory>

#include "core/graph.hpp"
#include "trace/monitor.hpp"

namespace conclave::trace {

class OverlayMonitor : public Monitor {
 public:
  struct Bound {
    std::uint32_t most = 0;
    std::string why;  // "twice the least possible"
  };
  // What is not claimed holds.
  struct Claims {
    std::optional<Bound> hops = {};
    std::optional<Bound> superpeers = {};
    std::optional<std::uint32_t> exactly = {};  // so many superpeers
    std::optional<Bound> peers = {};            // that a superpeer serves, itself not counted
  };
  struct Place {
    NodeId superpeer = {};
    std::uint32_t hops = 0;
    std::uint64_t step = 0;  // in which it was told
  };
  struct Summary {
    NodeSet superpeers;
    std::uint32_t worst_hops = 0;
    double mean_hops = 0;
    std::map<NodeId, std::uint32_t> peers;  // that each superpeer serves
    std::uint32_t most_peers = 0;
    std::uint32_t least_peers = 0;
    std::uint64_t messages = 0;
  };

  OverlayMonitor(std::shared_ptr<const Graph> graph, Claims claims)
      : graph_(std::move(graph)), claims_(std::move(claims)) {}

  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  const Summary& summary() const { return summary_; }
  const std::map<NodeId, Place>& places() const { return places_; }
  std::vector<Verdict> verdicts() const override { return {attached_, nearest_, access_, share_, load_}; }
  std::vector<Fact> facts() const override;

 private:
  void sum_up();
  void check(NodeId node, const Place& place);
  void compare_with_claims();

  std::shared_ptr<const Graph> graph_;
  Claims claims_;
  std::map<NodeId, Place> places_;
  Summary summary_;
  Verdict attached_{"attached"}, nearest_{"nearest"}, access_{"access"}, share_{"share"}, load_{"load"};
};

}  // namespace conclave::trace
