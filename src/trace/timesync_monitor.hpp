// Watches a run of a clock synchronisation protocol. The time of a step is the true time; what a clock shows
// is known whenever its application reads it and whenever it is corrected.
//
//   bound     no reading is further from true time than it says itself
//   monotone  no clock ever shows less than it has shown
//   mutual    clocks that have been set agree: no two are further apart than `agreement`, and two that were
//             corrected in the same round no further than their own bounds together
//   answered  every application that asked was told the time, by the end of the run
//
// Where there is a source of true time `bound` is judged, where there is none `mutual`.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "trace/monitor.hpp"

namespace conclave::trace {

class TimesyncMonitor : public Monitor {
 public:
  // One reading: how far it was from true time, and how far it said it might be.
  struct Sample {
    Ticks at = {};
    std::int64_t error = 0;
    std::uint64_t bound = 0;
  };

  struct Summary {
    std::uint64_t readings = 0;
    std::uint64_t corrections = 0;  // of all clocks together
    std::uint64_t rounds = 0;       // in which a source corrected its own clock too
    std::uint64_t messages = 0;
    // Without those of a synchronisation, or of a round, that did not end.
    std::uint64_t messages_for_corrections = 0;
    std::uint64_t messages_for_rounds = 0;
    std::uint64_t worst_error = 0;
    std::uint64_t sum_of_errors = 0;
    std::uint64_t worst_bound = 0;
    double worst_share = 0;    // of its bound that the error of a reading was
    std::uint64_t spread = 0;  // the furthest that two clocks were apart
    double mean_error() const;
    double messages_per_correction() const;  // with a server: of one client
    double messages_per_round() const;       // without: of all
  };

  // With a source of true time.
  TimesyncMonitor() = default;
  // Without: clocks are compared with each other. Two readings are of one moment if they are not further
  // apart than `moment`.
  TimesyncMonitor(Ticks agreement, Ticks moment) : agreement_(agreement), moment_(moment) {}

  void begin(const Header& header) override {
    server_ = header.nodes.empty() ? NodeId{} : header.nodes.min();
  }
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  const Summary& summary() const { return summary_; }
  // Every reading of every clock, in order of time: what there is to plot.
  const std::map<NodeId, std::vector<Sample>>& series() const { return series_; }
  // bound or mutual, monotone, answered.
  std::vector<Verdict> verdicts() const override;
  std::vector<Fact> facts() const override;
  std::optional<Chart> chart() const override;

 private:
  struct Latest {
    Ticks at = {};
    std::int64_t error = 0;
    std::uint64_t bound = 0;
    std::pair<NodeId, std::uint64_t> round = {};  // whose, and which
  };

  bool against_truth() const { return !agreement_; }
  void read(const Step& step, const Item& reading);
  void adjust(const Step& step, const Item& adjusted);
  void shows(const Step& step, std::int64_t time);
  void compare(const Step& step, const Latest& mine);
  static void violate(Verdict& verdict, const Step& step, std::string why);

  std::optional<Ticks> agreement_;
  Ticks moment_ = {};
  NodeId server_ = {};
  Summary summary_;
  std::map<NodeId, std::vector<Sample>> series_;
  std::map<NodeId, std::int64_t> shown_;                          // the latest that each clock showed
  std::map<NodeId, std::pair<NodeId, std::uint64_t>> corrected_;  // by whom and in which round
  std::map<NodeId, Latest> latest_;
  std::map<NodeId, std::uint64_t> waiting_;          // the step of the question
  std::map<NodeId, std::uint64_t> messages_so_far_;  // of a client since its last correction
  Verdict bound_{"bound"}, monotone_{"monotone"}, mutual_{"mutual"}, answered_{"answered"};
};

}  // namespace conclave::trace
