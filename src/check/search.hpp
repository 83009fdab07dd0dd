// Breadth first through a space of states: every state once, the shallowest first, so that the first
// violation found is a shortest one.
//
// The work is split by fingerprints into shards. A block of states is expanded, each worker taking its
// share and sorting the successors by shard; then each worker sorts out what is new in its shards. Nobody
// ever waits for a lock on a table, the tables are visited in batches that the cache can be prepared for,
// and the result does not depend on the number of workers: within a shard successors are looked at in the
// order of the states they come from.
#pragma once
#include "check/space.hpp"

namespace conclave::check {

Report search(Space& space, const Options& options);

}  // namespace conclave::check
