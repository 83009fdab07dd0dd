// The members of greater and of smaller id than one of them.
#pragma once
#include <algorithm>

#include "core/node_set.hpp"

namespace conclave::election {

// Run by run, so that a contiguous membership is cut in one step whatever its size.
inline NodeSet above(const NodeSet& all, NodeId id) {
  NodeSet set;
  for (const NodeSet::Run& run : all.runs()) {
    if (run.last > id.value) set.append({std::max(run.first, id.value + 1), run.last});
  }
  return set;
}

inline NodeSet below(const NodeSet& all, NodeId id) {
  NodeSet set;
  for (const NodeSet::Run& run : all.runs()) {
    if (run.first < id.value) set.append({run.first, std::min(run.last, id.value - 1)});
  }
  return set;
}

}  // namespace conclave::election
