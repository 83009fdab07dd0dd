// Cuts: how far each process has come. A cut is consistent if it contains, with each event, all that happened
// before it; the global state at such a cut is one that an observer may have seen.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "causality/diagram.hpp"
#include "causality/history.hpp"

namespace conclave::causality {

using Cut = std::vector<std::uint32_t>;  // by process, how many of its events are inside

// By the definition: no message is received inside and sent outside. Those that are.
std::vector<Message> offending_messages(const Diagram& diagram, const Cut& cut);

// By vector times, pair by pair on the frontier. Both ways give the same answer.
bool consistent(const History& history, const Cut& cut);

// Who inside the cut is the first of its process to know too much of another: `knows` is inside and knows
// `of`, which is outside. One for each pair of processes that contradict each other.
struct Contradiction {
  EventId knows = {};
  EventId of = {};
  bool direct = false;  // a message from `of` to `knows`; else the news came through a third process
  bool operator==(const Contradiction&) const = default;
};
std::vector<Contradiction> contradictions(const History& history, const Cut& cut);

// The consistent cuts are closed under union and intersection, so both of these exist and are unique.
Cut least_consistent_containing(const History& history, const Cut& cut);
Cut greatest_consistent_inside(const History& history, const Cut& cut);

}  // namespace conclave::causality
