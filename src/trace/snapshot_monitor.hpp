// Watches snapshots being taken of a computation in which money is neither made nor lost.
//
//   cut        the recorded states lie on the frontier of a consistent cut (by the vector clocks of the
//   steps) conserved  balances and money under way in a snapshot add up to what there was at the start
//   complete   every snapshot that was begun was finished by everybody, by the end of the run
#pragma once
#include <map>

#include "core/node_set.hpp"
#include "trace/monitor.hpp"

namespace conclave::trace {

class SnapshotMonitor : public Monitor {
 public:
  SnapshotMonitor(NodeSet members, std::uint64_t money, bool with_vectors)
      : members_(std::move(members)), money_(money), with_vectors_(with_vectors) {}

  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return with_vectors_; }
  std::vector<Verdict> verdicts() const override { return {cut_, conserved_, complete_}; }
  std::vector<Fact> facts() const override;

 private:
  struct Snapshot {
    std::map<NodeId, VectorClock> frontier = {};
    std::uint64_t balances = 0;
    std::uint64_t in_transit = 0;
    std::uint64_t completed = 0;
    std::uint64_t last_step = 0;
  };
  void judge(const std::string& name, const Snapshot& snapshot);

  NodeSet members_;
  std::uint64_t money_;
  bool with_vectors_;
  std::map<std::string, Snapshot> under_way_;  // by the JSON of its id
  std::uint64_t finished_ = 0;
  std::uint64_t with_money_under_way_ = 0;
  std::uint64_t markers_ = 0;
  Verdict cut_{"cut"}, conserved_{"conserved"}, complete_{"complete"};
};

}  // namespace conclave::trace
