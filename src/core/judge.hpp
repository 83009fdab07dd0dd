// The contract between a family's properties and the checker.
//
// A judge is one more pure value beside the processes: it is told what clients ask, what they are told, and
// who fails, and says as soon as something is wrong. It remembers no more than the properties in question
// need, because what it remembers multiplies the states.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave {

struct Wrong {
  std::string property = {};  // "EM1"
  std::string why = {};       // in one sentence
  bool operator==(const Wrong&) const = default;
};

// An algorithm that knows what must hold of all its processes together, in every state.
template <class P>
concept HasInvariants = requires(std::span<const P* const> nodes) {
  { P::invariants(nodes) } -> std::same_as<std::vector<Wrong>>;
};

// One process and its client in the end, when nothing is left to happen.
template <class Client>
struct Last {
  NodeId node;
  bool up = true;
  const Client* client = nullptr;
};

// How many requests each node's client had made, as far as a command's causal past goes: past[i] of the i-th
// member.
using Past = std::vector<std::uint32_t>;

template <class J>
concept FamilyJudge = std::copyable<J> && std::equality_comparable<J> && std::is_aggregate_v<J> &&
    requires(J& judge, const J& c, NodeId node, const typename J::Command& command, const Past& past,
             const typename J::Event& event, const NodeSet& all, const std::vector<std::string>& properties,
             std::span<const Last<typename J::Client>> clients) {
  // That checks these properties and no others; all of them if none is named.
  { J::start(all, properties) } -> std::same_as<J>;
  // All it knows.
  { J::properties() } -> std::same_as<std::vector<std::string>>;
  // Whether any of these properties asks what happened before what; else pasts are empty.
  { J::needs_past(properties) } -> std::same_as<bool>;
  // Whether this command counts in the pasts of the commands that come after it.
  { J::is_request(command) } -> std::same_as<bool>;
  judge.on_command(node, command, past);
  judge.on_event(node, event);
  judge.on_crash(node);
  judge.on_recover(node);
  // What has just gone wrong. A judge that has complained may be told no more.
  { c.wrong() } -> std::same_as<std::vector<Wrong>>;
  // What is wrong if the run ends here.
  { c.at_end(clients) } -> std::same_as<std::vector<Wrong>>;
  // What must be possible in some run, as bits of `sometimes()`: those that this very state shows.
  { c.seen() } -> std::same_as<std::uint32_t>;
  { J::sometimes() } -> std::same_as<std::vector<std::string_view>>;
};

// Whether a judge that was asked for these properties checks that one.
inline bool asks_for(const std::vector<std::string>& properties, std::string_view name) {
  return properties.empty() || std::ranges::find(properties, name) != properties.end();
}

// The first of these that the judge has never heard of.
template <FamilyJudge J>
std::optional<std::string> unknown_property(const std::vector<std::string>& properties) {
  const std::vector<std::string> known = J::properties();
  for (const std::string& name : properties) {
    if (std::ranges::find(known, name) == known.end()) return name;
  }
  return std::nullopt;
}

// How judges name processes in what they say: "p0", "p0 and p2", "p0, p1 and p2".
inline std::string in_words(NodeId node) { return "p" + std::to_string(node.value); }
inline std::string in_words(const NodeSet& nodes) {
  std::string words;
  std::size_t left = nodes.size();
  for (NodeId node : nodes) {
    if (!words.empty()) words += left == 1 ? " and " : ", ";
    words += in_words(node);
    --left;
  }
  return words;
}

}  // namespace conclave
