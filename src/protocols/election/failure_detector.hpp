// The failure detector by time-out: ask, and believe that whoever stays silent for too long is down.
// Where the bounds hold it is reliable, for silence is information. In an asynchronous system, or with bounds
// that are set too short, the same code only suspects: whoever uses it must survive that it is wrong.
//
//   T_t, T_m   transmission, the longest a message travels
//   T_p        processing, the longest a process needs to answer
//   T          answer_within()
//   T'         outcome_within()
#pragma once
#include <utility>

#include "core/node_set.hpp"
#include "core/ticks.hpp"

namespace conclave::election {

struct Bounds {
  Ticks transmission = {10};
  Ticks processing = {1};
  bool operator==(const Bounds&) const = default;

  // There and back.
  Ticks answer_within() const { return {2 * transmission.count + processing.count}; }
  // From the answer of a higher process until the highest one is heard: our call has reached that one by then
  // or does within T_t; it waits for T itself; its announcement travels for T_t.
  Ticks outcome_within() const { return {2 * answer_within().count}; }
};

// A timer that fires after exactly that long.
inline TickRange after(Ticks wait) { return {.min = wait, .max = wait}; }

// Whose answers are still missing. The time itself is a timer of whoever asks.
struct FailureDetector {
  NodeSet silent = {};
  bool operator==(const FailureDetector&) const = default;

  void expect(NodeSet asked) { silent = std::move(asked); }
  // False if nothing was expected of that one, or it had answered already.
  bool heard(NodeId from) { return silent.erase(from); }
  // The time is up, or nobody cares any more. Returns those who are down, or slow.
  NodeSet stop() { return std::exchange(silent, {}); }
};

}  // namespace conclave::election
