// In which configurations a twin is explored, smallest first.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "catalogue/explore.hpp"
#include "twin.hpp"

namespace conclave::broken {

struct Configuration {
  catalogue::CheckPlan plan = {};
  std::optional<std::uint64_t> most_messages = {};  // that a run that ends may send
  std::string words = {};                           // "N=3 entries=2 crashes=1"
};

// What the twin names, or else a ladder: two, three, four nodes with one, two, three entries, calm, with the
// budgets of the standard configuration, and with a little more where the algorithm allows it.
//
// A twin names words such as `nodes=3 entries=2`: nodes, entries (of all, or as 1,1,0 of each), crashes,
// recoveries, losses, duplications, timeouts, partitions, tells, variant, set:NAME=VALUE (a parameter),
// opening (nodes, as 1,2), fifo (1 or 0), seed, seeds=K (the first K, one after the other), starvation=1, and
// messages<=M.
// Nothing goes wrong that it does not name; all else is as in the standard configuration of the algorithm.
// `nodes` comes first. Throws std::invalid_argument on other words.
std::vector<Configuration> configurations(const Twin& twin);

}  // namespace conclave::broken
