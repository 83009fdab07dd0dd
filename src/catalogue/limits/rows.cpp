#include "catalogue/limits/rows.hpp"

#include <algorithm>

#include "catalogue/families.hpp"

namespace conclave::catalogue {

// What cannot be done, for the list: how it shows is a scenario.
std::vector<Entry> limits_rows() {
  return {
      {.name = "two-generals",
       .family = "limits",
       .title = "Two generals: agreement over a link that loses messages",
       .paper = "Akkoyunlu, Ekanadham and Huber, SOSP 1975; Gray 1978",
       .year = 1975,
       .source = "src/protocols/limits/two_generals.hpp",
       .worlds = {"scenario"},
       .cost = "impossible",
       .properties = {},
       .remark = "agreement: whatever the number of messages, losing the last one divides the two. conclave "
                 "scenario two-generals shows it",
       .variants = {{"canonical", "a handshake of any length"}}},
      {.name = "async-consensus-impossibility",
       .family = "limits",
       .title = "Consensus without bounds on delays, one crash",
       .paper = "Fischer, Lynch and Paterson, JACM 32(2), 1985",
       .year = 1985,
       .source = "src/protocols/limits/wait_for.hpp",
       .worlds = {"scenario"},
       .cost = "impossible",
       .properties = {},
       .remark = "termination or agreement: no deterministic rule has both. conclave scenario "
                 "async-consensus-impossibility shows three that fail",
       .variants = {{"canonical", "waiting for all, for all but one, and a duel"}}}};
}

const std::vector<Entry>& limit_entries() {
  static const std::vector<Entry> all = {two_generals(), wait_for()};
  return all;
}

const Entry* find_limit(std::string_view name) {
  const auto found = std::ranges::find(limit_entries(), name, &Entry::name);
  return found == limit_entries().end() ? nullptr : &*found;
}

}  // namespace conclave::catalogue
