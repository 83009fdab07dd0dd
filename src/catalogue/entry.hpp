// One row of the catalogue: what is known about an algorithm, and how to run it. Type erasure happens
// here, once per run and not once per message.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/assumptions.hpp"
#include "core/node_set.hpp"
#include "sim/options.hpp"
#include "sim/stage.hpp"
#include "trace/step.hpp"

namespace conclave::catalogue {

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
};

// A figure of the literature for one number of nodes, as text and, where it is one number, as that.
struct Figure {
  std::string text;
  double low = -1;  // -1: no bound
  double high = -1;
};

struct Claims {
  Figure messages;               // per entry and exit
  Figure client_delay;           // in message delays, the section being free
  Figure synchronisation_delay;  // in message delays, exit to next entry
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
  std::uint32_t least_nodes = 1;
  std::uint32_t most_nodes = 0;
  Claims (*claims)(std::uint32_t nodes, bool high_load) = nullptr;
  sim::Report (*simulate)(const sim::Options&, const Setting&, trace::Observer*) = nullptr;
  std::unique_ptr<sim::Stage> (*stage)(const Setting&, trace::Observer*) = nullptr;
  NodeSet (*members)(std::uint32_t clients) = nullptr;

  bool claims_property(std::string_view property) const;
  const Variant* variant(std::string_view name) const;
};

const std::vector<Entry>& entries();
const Entry* find(std::string_view name);
// Names that look like what was typed, best first.
std::vector<std::string> similar(std::string_view name);

}  // namespace conclave::catalogue
