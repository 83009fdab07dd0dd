// What an exploration found.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "check/options.hpp"
#include "trace/direction.hpp"

namespace conclave::check {

// A way from the start to a state that should not be; with a cycle, a run that goes round for ever.
struct Finding {
  std::string property = {};  // "EM1"
  std::string why = {};       // in one sentence
  std::uint32_t steps = 0;    // on the way: calls, deliveries, time-outs, faults; no shorter way exists
  trace::Directions way = {};
  trace::Directions cycle = {};
};

struct Report {
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  std::uint32_t depth = 0;         // of the deepest state
  std::uint64_t final_states = 0;  // in which nothing is left to happen
  std::uint64_t bytes = 0;         // held at most
  double seconds = 0;
  bool complete = false;       // every reachable state was seen
  bool partial_order = false;  // reductions that were really used
  bool symmetry = false;
  std::string stopped_by = {};                         // what ended it otherwise: "--max-states 1000000"
  std::vector<std::string> properties = {};            // that were checked
  std::vector<Finding> findings = {};                  // at most one for each property, shortest first
  std::map<std::string, bool> sometimes = {};          // what must be possible, and whether it was seen
  std::map<std::string, std::uint64_t> outcomes = {};  // how runs can end, and in how many final states
  std::map<std::string, std::uint64_t> figures = {};   // what else was found out: "largest ticket"

  const Finding* violation(const std::string& property) const {
    for (const Finding& finding : findings) {
      if (finding.property == property) return &finding;
    }
    return nullptr;
  }
  bool holds() const {
    if (!findings.empty()) return false;
    for (const auto& [what, seen] : sometimes) {
      if (complete && !seen) return false;
    }
    return true;
  }
};

}  // namespace conclave::check
