// Watches elections: does everybody end with the right leader, and was it left in peace?
//
//   E1         whoever took part ends with no leader or with the live process of the greatest id
//   E2         once somebody has started an election, every live process ends with a leader
//   agreement  no two live processes end with different leaders
//   stability  once all live processes have agreed, nobody turns to another leader while the old one works
//
// A node takes part when it says Participating, or is told of a winner after its start. A leader that it
// announces in its very start is the one elected before the run: known, but no election of this run.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "trace/monitor.hpp"

namespace conclave::trace {

class ElectionMonitor : public Monitor {
 public:
  // Whom E1 asks for.
  enum class Winner {
    greatest_live,  // the live process of the greatest id
    any_live,       // one live process, the same for all: algorithms that keep a working leader
  };

  struct Summary {
    std::uint64_t started = 0;                  // Start commands
    std::uint64_t messages = 0;                 // of the algorithm, in the whole run
    std::map<std::string, std::uint64_t> sent;  // by type
    std::uint64_t leader_changes = 0;           // since all agreed for the first time
    std::uint64_t needless_changes = 0;         // of these, while the old leader worked
    NodeSet participants = {};                  // took part since they last came up
    std::optional<NodeId> leader = {};          // of all live processes, if they agree
    std::optional<Ticks> agreed_at = {};        // the last time that the live processes came to agree
    double per_election() const {
      return started == 0 ? 0.0 : static_cast<double>(messages) / static_cast<double>(started);
    }
  };

  explicit ElectionMonitor(Winner winner = Winner::greatest_live) : winner_(winner) {}

  void begin(const Header& header) override;
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  // E1, E2, agreement, stability: in the order of the list above.
  std::vector<Verdict> verdicts() const override { return {e1_, e2_, agreement_, stability_}; }
  std::vector<Fact> facts() const override;
  const Summary& summary() const { return summary_; }
  bool is_up(NodeId node) const;
  // Whom that process takes for the leader; none while it takes part in an election.
  std::optional<NodeId> elected(NodeId node) const;

 private:
  struct Process {
    bool up = true;
    bool took_part = false;
    std::optional<NodeId> elected = {};
    std::uint64_t step = 0;  // when it last changed its mind
  };

  Process& process(NodeId node);
  void set_elected(Process& process, std::optional<NodeId> leader);
  void crash(NodeId node);
  void recover(NodeId node);
  void hear_of(const Step& step, NodeId leader);
  void note_agreement(const Step& step);
  static void violate(Verdict& verdict, std::uint64_t step, std::string why);

  Winner winner_;
  std::map<NodeId, Process> processes_;
  std::size_t live_ = 0;
  std::map<NodeId, std::size_t> followers_;  // of each leader, among live processes
  bool agreed_once_ = false;
  bool agreed_ = false;             // now
  NodeId newest_ = {};              // the leader last heard of, since all agreed once
  bool newest_has_failed_ = false;  // since then
  Summary summary_;
  Verdict e1_{"E1"}, e2_{"E2"}, agreement_{"agreement"}, stability_{"stability"};
};

}  // namespace conclave::trace
