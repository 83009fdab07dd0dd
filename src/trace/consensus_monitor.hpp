// Watches a run of a consensus protocol: are the properties kept, and who decided what?
//
//   termination  every correct process has decided by the end of the run
//   agreement    all correct processes decide the same value, and none changes its mind
//   integrity    if all correct processes that proposed anything proposed v, no correct process decides
//                anything but v
//   validity     what a correct process decides was proposed by somebody
//   uniform      agreement also with those who decided and crashed later
//
// Correct is who is no traitor and is not down at the end of the run.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "trace/monitor.hpp"

namespace conclave::trace {

class ConsensusMonitor : public Monitor {
 public:
  struct Decision {
    std::int64_t value = 0;
    Ticks at = {};
    std::uint64_t step = 0;
    std::uint32_t round = 0;  // the last that was over, in a run of rounds
  };

  struct Summary {
    std::map<NodeId, std::int64_t> proposals;
    std::map<NodeId, Decision> decisions;       // the first of each process
    std::map<std::string, std::uint64_t> sent;  // messages by type
    std::uint64_t messages = 0;                 // their sum
    std::uint32_t rounds = 0;                   // until the last decision
    NodeSet undecided;                          // correct processes without a decision, at the end
  };

  // `traitors` are faulty from the beginning, whatever they say.
  explicit ConsensusMonitor(NodeSet traitors = {}) : traitors_(std::move(traitors)) {}

  void begin(const Header& header) override { members_ = header.nodes; }
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  const Summary& summary() const { return summary_; }
  // All five, in the order of the list above; final only after the end.
  std::vector<Verdict> verdicts() const override {
    return {termination_, agreement_, integrity_, validity_, uniform_};
  }
  std::vector<Fact> facts() const override;
  bool correct(NodeId node) const { return !traitors_.contains(node) && !down_.contains(node); }

 private:
  void decide(const Step& step, std::int64_t value);
  void judge_agreement(Verdict& verdict, bool with_crashed) const;
  void judge_integrity();
  void judge_validity();

  NodeSet members_;
  NodeSet traitors_;
  NodeSet down_;
  std::uint32_t round_ = 0;  // that has begun
  Summary summary_;
  Verdict termination_{"termination"}, agreement_{"agreement"}, integrity_{"integrity"},
      validity_{"validity"}, uniform_{"uniform"};
};

}  // namespace conclave::trace
