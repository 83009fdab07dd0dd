// Elections with exactly chosen starters, for the figures of `conclave compare election`.
#pragma once
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

struct Staged {
  NodeSet members = {};
  std::vector<NodeId> ring = {};
  NodeSet dead = {};                  // from the beginning, and for good
  std::vector<NodeId> starters = {};  // all at time 0, in this order
  std::optional<NodeId> coordinator = {};
  std::string variant = "canonical";
  std::map<std::string, std::string> parameters = {};
  std::uint64_t latency = 1;  // of every message
};

// Runs it to its end; nobody is told of the dead but those who start.
sim::Report run_staged(const Entry& entry, const Staged& staged, trace::Observer* observer = nullptr);
// The messages that went to processes which were up, or were lost at one that gave no sign.
double messages_of(const Entry& entry, const Staged& staged);

}  // namespace conclave::catalogue
