// One run of a scenario, with everything that can be asked about it; and the two ways to make one: directed
// step by step, or simulated in virtual time.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/entry.hpp"
#include "trace/json.hpp"
#include "trace/monitor.hpp"
#include "trace/tee.hpp"

namespace conclave::scenario {

struct Run {
  std::string title = {};
  trace::Run trace = {};
  std::vector<trace::Verdict> verdicts = {};
  std::vector<trace::Fact> facts = {};
  std::size_t rows_to_draw = 200;  // in the terminal: what comes later only repeats what was before
  std::vector<std::string> routine =
      {};  // messages and timers that diagrams leave out if nothing comes of them

  bool holds(std::string_view property) const;  // as the monitor says; of a property that it watches
  std::uint64_t messages() const;               // of the algorithm, those that never arrived among them
  std::uint64_t bounced() const;                // came back: the receiver was down
  std::vector<NodeId> entered() const;          // in the order of the grants
  // Whom everybody that is up takes for its leader then, or in the end; absent: it takes part in an election.
  std::map<NodeId, NodeId> leaders(Ticks until = {UINT64_MAX}) const;
  std::map<NodeId, std::int64_t> decided() const;
  std::vector<trace::Step> to_draw() const;
};

// The row of that name, an algorithm or a limit.
const catalogue::Entry& row(std::string_view name);

// Keeps what a diagram, a trace file and the questions above need.
class Recorder : public trace::Keeper {
 public:
  Recorder() : Keeper(most_steps) {}
  void end(const trace::End& end) override { end_ = end; }
  trace::Run run(const catalogue::Setting& setting) const;

 private:
  static constexpr std::size_t most_steps = 100'000;
  trace::End end_;
};

// A run directed by hand. A direction that cannot be followed is a failure of the scenario.
class Directed {
 public:
  Directed(std::string title, catalogue::Setting setting);
  Directed(const Directed&) = delete;  // the stage reports to its members

  void command(NodeId node, std::string_view type);
  void deliver(NodeId from, NodeId to, std::string_view type);
  void tell(NodeId from, NodeId to);
  void crash(NodeId node);
  void fire(NodeId node);  // the timer that was started first there
  void inject(NodeId from, NodeId to, std::string_view type);
  // Everything under way, in the order of sending.
  void deliver_all();
  const sim::Stage& stage() const { return *stage_; }
  sim::Stage& stage() { return *stage_; }
  Run finish();

 private:
  std::string title_;
  catalogue::Setting setting_;
  std::unique_ptr<trace::Monitor> monitor_;
  Recorder recorder_;
  trace::Tee tee_;
  std::unique_ptr<sim::Stage> stage_;
};

// Everything at the time that the script says, every message after `latency`; nobody is told of crashes.
sim::Options timed(const NodeSet& members, std::uint64_t latency, sim::Script script);
Run simulated(std::string title, const sim::Options& options, const catalogue::Setting& setting);

}  // namespace conclave::scenario
