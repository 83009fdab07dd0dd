// Liveness: whether somebody can wait for ever.
#pragma once
#include "check/space.hpp"

namespace conclave::check {

// Adds to the report, if there is one: a state from which nobody who waits can be served any more ("ND"), or
// a fair cycle in which one process waits for ever ("starvation"). Keeps the whole graph of states, so it is
// for spaces that fit into memory; gives up at `max_states` of the options, or ten million.
void add_starvation(Space& space, const Options& options, Report& report);

}  // namespace conclave::check
