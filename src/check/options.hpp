// One exploration: which configuration, within which budgets, and how much it may cost.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/node_set.hpp"
#include "core/ticks.hpp"

namespace conclave::check {

// How often each thing may happen in one run that the algorithm does not bring about itself. Everything that
// is allowed is tried at every moment at which it may happen.
struct Budget {
  std::uint8_t crashes = 0;
  std::uint8_t recoveries = 0;
  std::uint8_t losses = 0;
  std::uint8_t duplications = 0;
  std::uint8_t timeouts = 0;    // of an asynchronous algorithm's timers; those of a synchronous one are free
  std::uint8_t partitions = 0;  // each can heal at any later moment
  std::uint8_t tells = 0;       // messages of the application, for algorithms that order by happened-before
  bool operator==(const Budget&) const = default;
};

struct Progress {
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  std::uint32_t depth = 0;
  std::uint64_t frontier = 0;  // states still to be expanded at this depth
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct Options {
  std::uint32_t nodes = 3;                          // clients; an algorithm with a server has one node more
  std::optional<NodeSet> members = {};              // instead of 1 … nodes
  std::uint32_t entries = 1;                        // how often each client acts, at any time
  std::map<NodeId, std::uint32_t> entries_of = {};  // where it differs
  bool for_ever = false;             // clients want again and again, however often they have been served
  std::vector<NodeId> opening = {};  // whose clients speak before anything else happens, in this order
  Budget budget = {};
  std::optional<bool> fifo = {};             // the order of links; absent: as the algorithm assumes
  Ticks unit = {};                           // of a synchronous algorithm: the longest that a message takes
  std::vector<std::string> properties = {};  // to check; empty: all that the judge of the family knows
  bool starvation = false;  // look for a fair cycle in which somebody waits for ever, or a state from which
                            // nobody can be served any more
  bool count_messages = false;  // how many are sent in a run that ends, at least and at most
  // How to search.
  unsigned workers = 1;
  bool exact = false;            // keep whole states, not 128 bits of each
  bool partial_order = true;     // skip orders of independent steps that lead to the same states
  bool symmetry = true;          // take states for equal that differ only in names, where the algorithm does
  std::uint64_t max_states = 0;  // 0: no limit
  std::uint32_t max_depth = 0;
  std::uint64_t max_bytes = 0;
  bool stop_at_violation = true;
  std::function<void(const Progress&)> progress = {};
};

}  // namespace conclave::check
