// What traitors say. They act together: each knows the keys of all of them, and none but theirs.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/consensus/order.hpp"

namespace conclave::consensus {

enum class Strategy : std::uint8_t {
  silent,      // says nothing at all
  equivocate,  // the source tells one half this, the other half that
  forge,       // a lieutenant says that the source said something else
  late,        // the source tells one victim something else, at the last moment that can count, and another
               // victim one round after that
  erratic,     // now this, now that, signed by some of them, forged or not said
};

// Everything that a traitor needs to know.
struct Treason {
  Strategy strategy = Strategy::silent;
  NodeSet traitors = {};
  NodeId source = {};
  NodeSet members = {};
  std::uint32_t rounds = 0;
  Value one = 0;
  Value other = 1;
  Keys keys = {};
  bool in_writing = true;   // false: orders are by word of mouth
  std::uint64_t whims = 0;  // of the erratic
  bool operator==(const Treason&) const = default;
};

// Some number that depends on nothing but these two: the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA
// 2014).
constexpr std::uint64_t whim(std::uint64_t whims, std::uint64_t about) {
  std::uint64_t x = whims + about * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

using Lies = std::vector<std::pair<NodeId, Order>>;

// What one traitor sends at the beginning of a round, and to whom.
Lies lies(const Treason& treason, NodeId self, std::uint32_t round);

}  // namespace conclave::consensus
