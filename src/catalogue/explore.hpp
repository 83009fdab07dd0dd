// Explores an entry of the catalogue.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

// The standard configuration of an entry: what `conclave check NAME` explores without flags.
struct CheckPlan {
  check::Options options = {};
  Setting setting = {};
};
CheckPlan usual_check(const Entry& entry);
// The same for another number of nodes.
CheckPlan usual_check(const Entry& entry, std::uint32_t nodes);

// What the entry claims in this setting and an exploration can judge.
std::vector<std::string> claimed_and_checkable(const Entry& entry, const Setting& setting);
// Whether grants carry fencing tokens, where that can be chosen.
bool has_tokens(const Entry& entry, const Setting& setting);

// Every reachable state. Without named properties, those.
check::Report explore(const Entry& entry, CheckPlan plan);

}  // namespace conclave::catalogue
