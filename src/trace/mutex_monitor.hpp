// Watches a run of a mutual exclusion protocol: are the properties kept, and what did each entry cost?
//
//   EM1    at most one process is inside at any time; between real processes, where nobody knows in which
//          order concurrent steps were taken, whoever enters knows that all before it have left
//   EM2    everybody who asked got in, by the end of the run
//   EM3    if one request happened before another, it is granted first (by the vector clocks of the steps)
//   ND     the run does not end with processes waiting and nothing under way
//   FCFS   who is through the doorway before another comes to it enters first
//   fence  every grant carries a greater token than all before
#pragma once
#include <map>
#include <string>
#include <vector>

#include "trace/monitor.hpp"
#include "trace/spread.hpp"

namespace conclave::trace {

class MutexMonitor : public Monitor {
 public:
  struct Summary {
    std::vector<NodeId> entries;                // who entered, in order
    std::uint64_t most_inside = 0;              // at one time
    std::map<std::string, std::uint64_t> sent;  // messages by type
    std::uint64_t messages = 0;                 // their sum
    std::uint64_t messages_before_first_entry = 0;
    std::uint64_t application_messages = 0;
    Spread client_delay;           // request to entry, the section being free and nobody else asking
    Spread response;               // request to entry, always
    Spread synchronisation_delay;  // exit to next entry, somebody waiting
    Ticks first_request = {};
    Ticks last_entry = {};
    double throughput() const;  // entries per tick
  };

  explicit MutexMonitor(bool with_vectors = true) : with_vectors_(with_vectors) {}

  void begin(const Header& header) override { causal_ = header.world == "live"; }
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return with_vectors_; }

  const Summary& summary() const { return summary_; }
  // All six, in the order of the list above.
  std::vector<Verdict> verdicts() const override { return {em1_, em2_, em3_, nd_, fcfs_, fence_}; }
  bool waiting(NodeId node) const { return pending_.contains(node); }
  bool inside(NodeId node) const { return inside_.contains(node); }

 private:
  struct Request {
    std::uint64_t step = 0;
    Ticks at = {};
    std::uint64_t own_count = 0;  // its own entry in its vector: what others must cover to have seen it
    VectorClock vector = {};
    bool section_free = false;
    std::optional<std::uint64_t> queued_step = {};
  };

  void request(const Step& step);
  void enter(const Step& step, const Item& granted);
  void leave(const Step& step);
  static void violate(Verdict& verdict, const Step& step, std::string why);

  bool with_vectors_ = true;
  std::map<NodeId, Request> pending_;
  NodeSet inside_;
  std::optional<Ticks> last_exit_;
  bool causal_ = false;
  std::optional<std::pair<NodeId, std::uint64_t>> last_left_;  // who, and its own entry of its vector
  std::uint64_t last_fence_ = 0;
  bool any_request_ = false;
  Summary summary_;
  Verdict em1_{"EM1"}, em2_{"EM2"}, em3_{"EM3"}, nd_{"ND"}, fcfs_{"FCFS"}, fence_{"fence"};
};

}  // namespace conclave::trace
