// Watches a leader lottery on a chain of blocks.
//
//   confirmed  no leader that was confirmed is reversed
//   agreement  no two processes hold different leaders of a height for confirmed, at the end of the run
//   growth     everybody has seen as many confirmed leaders as it wanted, by the end of the run
#pragma once
#include <map>

#include "core/node_set.hpp"
#include "trace/monitor.hpp"

namespace conclave::trace {

class LotteryMonitor : public Monitor {
 public:
  // An attacker wants no leaders, but its race to end.
  LotteryMonitor(NodeSet miners, std::uint32_t wanted) : miners_(std::move(miners)), wanted_(wanted) {}

  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }
  std::vector<Verdict> verdicts() const override { return {confirmed_, agreement_, growth_}; }
  std::vector<Fact> facts() const override;

  std::uint64_t reversals() const { return reversals_; }

 private:
  NodeSet miners_;
  std::uint32_t wanted_;
  std::map<NodeId, std::map<std::uint64_t, std::uint64_t>> leaders_;  // by process and height
  std::uint64_t reversals_ = 0;
  std::uint64_t blocks_ = 0;
  std::string race_ = {};
  Verdict confirmed_{"confirmed"}, agreement_{"agreement"}, growth_{"growth"};
};

}  // namespace conclave::trace
