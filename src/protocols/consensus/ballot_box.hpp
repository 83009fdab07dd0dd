// What a process has heard in a vote: one value from each of some processes, and how they are counted.
#pragma once
#include <algorithm>
#include <map>
#include <utility>

#include "core/node_id.hpp"
#include "protocols/consensus/spec.hpp"

namespace conclave::consensus {

using Votes = std::map<NodeId, Value>;

// The value that most have voted for; the default if there is a tie for the first place, or no vote at all.
// Everybody must use the same default, or equal votes give unequal results.
inline Value most_voted(const Votes& votes, Value default_value) {
  std::map<Value, std::size_t> count;
  for (const auto& [voter, value] : votes) ++count[value];
  std::size_t most = 0;
  Value winner = default_value;
  for (const auto& [value, votes_for] : count) {
    if (votes_for == most) winner = default_value;
    if (votes_for > most) winner = value;
    most = std::max(most, votes_for);
  }
  return winner;
}

struct BallotBox {
  Votes known = {};
  Votes fresh = {};  // not yet passed on
  bool operator==(const BallotBox&) const = default;

  void put(NodeId voter, Value value) {
    if (known.emplace(voter, value).second) fresh.emplace(voter, value);
  }
  void put(const Votes& votes) {
    for (const auto& [voter, value] : votes) put(voter, value);
  }
  Votes take_fresh() { return std::exchange(fresh, {}); }
};

}  // namespace conclave::consensus
