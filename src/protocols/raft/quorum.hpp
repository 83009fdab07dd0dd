// Majorities: of one set of voters, and of two at once while the members change.
// Any two majorities share a voter, so whatever one has decided the next one hears of.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/ensure.hpp"
#include "core/node_set.hpp"
#include "protocols/raft/log.hpp"

namespace conclave::raft {

constexpr std::uint32_t majority(std::uint32_t voters) { return voters / 2 + 1; }

// How many may be down while a majority is left.
constexpr std::uint32_t tolerated_crashes(std::uint32_t voters) {
  return voters == 0 ? 0 : voters - majority(voters);
}

enum class Tally : std::uint8_t { open, won, lost };

struct Configuration {
  NodeSet voters = {};
  NodeSet outgoing = {};  // the voters before the change under way; empty: there is none
  bool operator==(const Configuration&) const = default;

  bool joint() const { return !outgoing.empty(); }
  bool contains(NodeId node) const { return voters.contains(node) || outgoing.contains(node); }

  // Joint consensus (section 6 of the paper): neither the old nor the new majority decides alone.
  bool is_quorum(const NodeSet& nodes) const {
    return holds_majority(voters, nodes) && (!joint() || holds_majority(outgoing, nodes));
  }
  // Lost as soon as those who have not refused could not make a quorum.
  Tally tally(const NodeSet& granted, const NodeSet& refused) const {
    if (is_quorum(granted)) return Tally::won;
    NodeSet possible;
    for (const NodeSet* set : {&voters, &outgoing}) {
      for (NodeId node : *set) {
        if (!refused.contains(node)) possible.insert(node);
      }
    }
    return is_quorum(possible) ? Tally::open : Tally::lost;
  }
  // The greatest index that a quorum holds, `match` saying how far each server's log is known to agree.
  Index held_by_quorum(const std::map<NodeId, Index>& match) const {
    const Index by_voters = held_by_majority(voters, match);
    return joint() ? std::min(by_voters, held_by_majority(outgoing, match)) : by_voters;
  }

 private:
  static bool holds_majority(const NodeSet& voters, const NodeSet& nodes) {
    const auto in_favour = std::ranges::count_if(voters, [&](NodeId voter) { return nodes.contains(voter); });
    return static_cast<std::uint32_t>(in_favour) >= majority(voters.size());
  }
  static Index held_by_majority(const NodeSet& voters, const std::map<NodeId, Index>& match) {
    ensure(!voters.empty(), "somebody votes");
    std::vector<Index> held;
    for (NodeId voter : voters) {
      const auto found = match.find(voter);
      held.push_back(found == match.end() ? Index{} : found->second);
    }
    const auto place = held.begin() + static_cast<std::ptrdiff_t>(majority(voters.size())) - 1;
    std::ranges::nth_element(held, place, std::greater<>());
    return *place;
  }
};

}  // namespace conclave::raft
