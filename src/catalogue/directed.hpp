// Runs an entry of the catalogue as somebody directs it, and says whether it kept what it claims: how a trace
// is replayed, and how a counterexample becomes a trace.
#pragma once
#include <optional>
#include <string>

#include "catalogue/judge.hpp"
#include "trace/direction.hpp"
#include "trace/json.hpp"

namespace conclave::catalogue {

struct Directed {
  Judged judged = {};
  // With the first direction that could not be followed, or the first step that departed from the run it
  // should repeat; names the step. Empty if all went well.
  std::string problem = {};
};

// A run of the world `check`, which ends where the directions do. If more could have happened by then,
// nothing is said of what should happen in the end. `also`, if given, observes too: a writer of traces gets a
// full header, vector clocks and all. The entry must have a stage.
Directed direct(const Entry& entry, const sim::Options& options, const Setting& setting,
                const trace::Directions& directions, trace::Observer* also = nullptr);

// The run once more: every step has to be as the trace shows it.
Directed repeat(const Entry& entry, const sim::Options& options, const Setting& setting,
                const trace::Run& run, trace::Observer* also = nullptr);

}  // namespace conclave::catalogue
