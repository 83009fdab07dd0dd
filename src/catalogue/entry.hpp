// One row of the catalogue: what is known about an algorithm, and how to run it. Type erasure happens
// here, once per run and not once per message.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/report.hpp"
#include "core/assumptions.hpp"
#include "core/graph.hpp"
#include "core/node_set.hpp"
#include "sim/options.hpp"
#include "sim/stage.hpp"
#include "trace/monitor.hpp"

namespace conclave::live {
struct Casting;
struct Played;
struct Engine;
}  // namespace conclave::live

namespace conclave::catalogue {

// Above this many nodes the vector clocks would cost more than the run.
inline constexpr std::uint32_t most_nodes_for_vectors = 256;

struct Variant {
  std::string_view name;
  std::string_view what;
  bool deviation = false;  // breaks the algorithm on purpose; for vectors and for showing what goes wrong
};

// What a run may set beside the variant. Each algorithm takes what concerns it.
struct Setting {
  std::string protocol = {};
  std::string variant = "canonical";
  NodeSet members = {};
  std::map<NodeId, NodeSet> voting_sets = {};
  std::vector<NodeId> ring = {};
  bool token_under_way = false;
  std::map<NodeId, std::uint64_t> clocks = {};
  std::map<NodeId, std::int64_t> values = {};          // proposals; absent: drawn from the seed
  std::shared_ptr<const Graph> graph = {};             // who is whose neighbour; none: everybody is
  std::optional<NodeId> coordinator = {};              // elected before the run
  std::map<std::string, std::string> parameters = {};  // by name, where they differ from the usual
  std::uint64_t seed = 1;                              // for parameters that are drawn
  std::string shown = {};                              // all of them, as JSON, as a trace shows them
};

// What a user may set beside the number of nodes: `conclave sim NAME --set f=2`.
struct Parameter {
  std::string_view name;
  std::string_view what;
  std::string_view usual;  // as text
  std::int64_t least = 0;  // of a number
  std::int64_t most = -1;  // below `least`: not a number, any text
};

// A figure of the literature for one number of nodes, as text and, where it is one number, as that.
struct Figure {
  std::string text;
  double low = -1;  // -1: no bound
  double high = -1;
};

// One number, a range, a lower bound only, or none.
Figure exactly(double value);
Figure within(double low, double high);
Figure at_least(double low, std::string text);
Figure unclaimed();

struct Claims {
  Figure messages;               // per entry and exit
  Figure client_delay;           // in message delays, the section being free
  Figure synchronisation_delay;  // in message delays, exit to next entry
};

// One figure of an algorithm, measured next to what is claimed: a line of `conclave compare FAMILY`.
struct Measurement {
  std::string what;  // "messages, lowest starts"
  double measured = 0;
  Figure claimed = {};
  double tolerance = 0.01;  // relative to the claim, for figures that are averages
};

struct Entry {
  std::string_view name;
  std::string_view family;
  std::string_view title;
  std::string_view paper;
  int year = 0;
  std::string_view source;  // file
  std::vector<std::string_view> worlds;
  Assumptions assumes;
  std::string_view cost;                     // claimed, as a formula
  std::vector<std::string_view> properties;  // that it claims to keep
  std::string_view remark;                   // on what it does not keep
  std::string_view why_it_differs;           // from its claims, where measurements do
  std::vector<Variant> variants;
  std::vector<Parameter> parameters = {};
  std::uint32_t least_nodes = 1;
  std::uint32_t most_nodes = 0;
  Claims (*claims)(std::uint32_t nodes, bool high_load) = nullptr;
  sim::Report (*simulate)(const sim::Options&, const Setting&, trace::Observer*) = nullptr;
  std::unique_ptr<sim::Stage> (*stage)(const Setting&, trace::Observer*) = nullptr;
  NodeSet (*members)(std::uint32_t clients) = nullptr;
  // Plays one process among real ones (live/play.hpp); none where an algorithm needs more than those have.
  live::Played (*play)(const live::Casting&, const Setting&, trace::Observer&) = nullptr;
  // Judges runs of the entry; none for tools.
  std::unique_ptr<trace::Monitor> (*monitor)(const sim::Options&, const Setting&) = nullptr;
  // What this algorithm's runs set unless the user says otherwise.
  void (*usual)(sim::Options&) = nullptr;
  // What is wrong with these parameters, if something is: a graph that is not connected, f too large.
  std::optional<std::string> (*refuse)(const sim::Options&, const Setting&) = nullptr;
  // Explores every interleaving of a small configuration; none where that is not meant.
  check::Report (*check)(const check::Options&, const Setting&) = nullptr;
  std::vector<std::string> checkable = {};  // properties that explorations can judge
  bool long_check = false;                  // its standard configuration takes more than a few seconds
  // What explorations of this algorithm set unless the user says otherwise: its standard configuration.
  void (*usual_check)(check::Options&, Setting&) = nullptr;
  // Runs it between real members (live/process.hpp), behind the front desk; none where that is not meant.
  live::Engine (*engine)(const Setting&) = nullptr;
  // The figures of `compare`, for families without loads.
  std::vector<Measurement> (*measure)(std::uint32_t nodes, std::uint64_t seed) = nullptr;

  // The value of a parameter: as set, or the usual one.
  std::string text(const Setting& setting, std::string_view parameter) const;
  std::int64_t number(const Setting& setting, std::string_view parameter) const;
  bool claims_property(std::string_view property) const;
  const Variant* variant(std::string_view name) const;
};

const std::vector<Entry>& entries();
const Entry* find(std::string_view name);
// Names that look like what was typed, best first.
std::vector<std::string> similar(std::string_view name);

}  // namespace conclave::catalogue
