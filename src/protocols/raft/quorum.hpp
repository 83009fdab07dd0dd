// Majorities: of one set of voters, and of two at once while the members change.
// Any two majorities share a voter, so whatever one has decided the next one hears of.
#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>

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

// How far the log of a server goes, or anything else of which a majority must have enough.
template <class F>
concept TellsIndex = requires(const F& of, NodeId node) {
  { of(node) } -> std::convertible_to<Index>;
};

// … of those who are known; the others have nothing.
struct Matches {
  std::map<NodeId, Index> known = {};
  Index operator()(NodeId node) const {
    const auto found = known.find(node);
    return found == known.end() ? Index{} : found->second;
  }
};

struct Configuration {
  NodeSet voters = {};
  NodeSet outgoing = {};  // the voters before the change under way; empty: there is none
  NodeSet learners = {};  // who gets the log and does not vote
  bool operator==(const Configuration&) const = default;

  bool joint() const { return !outgoing.empty(); }
  bool votes(NodeId node) const { return voters.contains(node) || outgoing.contains(node); }
  bool contains(NodeId node) const { return votes(node) || learners.contains(node); }
  NodeSet all_voters() const { return united(voters, outgoing); }
  NodeSet everybody() const { return united(all_voters(), learners); }

  // Joint consensus (section 6 of the paper): neither the old nor the new majority decides alone.
  bool is_quorum(const NodeSet& nodes) const {
    return holds_majority(voters, nodes) && (!joint() || holds_majority(outgoing, nodes));
  }
  // Lost as soon as those who have not refused could not make a quorum.
  Tally tally(const NodeSet& granted, const NodeSet& refused) const {
    if (is_quorum(granted)) return Tally::won;
    NodeSet possible;
    for (NodeId node : all_voters()) {
      if (!refused.contains(node)) possible.insert(node);
    }
    return is_quorum(possible) ? Tally::open : Tally::lost;
  }
  // The greatest index that a quorum holds, `match` saying how far each server's log is known to agree.
  Index held_by_quorum(const TellsIndex auto& match) const {
    const Index by_voters = held_by_majority(voters, match);
    return joint() ? std::min(by_voters, held_by_majority(outgoing, match)) : by_voters;
  }

  // The change to these voters. Whoever loses its vote keeps it until both majorities have agreed to that.
  Configuration joint_with(const NodeSet& new_voters, const NodeSet& new_learners) const {
    ensure(!joint(), "one change at a time");
    return {.voters = new_voters, .outgoing = voters, .learners = new_learners};
  }
  Configuration final() const { return {.voters = voters, .learners = learners}; }

 private:
  static NodeSet united(NodeSet one, const NodeSet& other) {
    for (NodeId node : other) one.insert(node);
    return one;
  }
  static bool holds_majority(const NodeSet& voters, const NodeSet& nodes) {
    const auto in_favour = std::ranges::count_if(voters, [&](NodeId voter) { return nodes.contains(voter); });
    return static_cast<std::uint32_t>(in_favour) >= majority(voters.size());
  }
  static Index held_by_majority(const NodeSet& voters, const TellsIndex auto& match) {
    ensure(!voters.empty(), "somebody votes");
    boost::container::small_vector<Index, 9> held;
    for (NodeId voter : voters) held.push_back(match(voter));
    const auto place = held.begin() + static_cast<std::ptrdiff_t>(majority(voters.size())) - 1;
    std::ranges::nth_element(held, place, std::greater<>());
    return *place;
  }
};

}  // namespace conclave::raft
