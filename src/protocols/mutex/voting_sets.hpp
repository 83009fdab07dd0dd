// Whom to ask for a vote: for every member a set that contains it and meets the set of every other.
//
// The best systems have sets of K members with N = K(K-1)+1 and any two sets meeting in exactly one. They
// are the lines of a finite projective plane of order K-1, which exists for K-1 = 1 and every prime power.
// For every other N the members stand in a grid, and a set is a row and a column: K is about 2 sqrt(N).
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/node_set.hpp"

namespace conclave::mutex {

using VotingSets = std::map<NodeId, NodeSet>;

// The voting set of one member; cheap to ask for each in turn.
class VotingSystem {
 public:
  explicit VotingSystem(const NodeSet& all);
  NodeSet of(NodeId member) const;
  bool is_plane() const { return !differences_.empty(); }

 private:
  std::vector<NodeId> members_;
  std::vector<std::uint32_t> differences_;  // of a plane: the line of 0 as offsets modulo N
  std::uint32_t columns_ = 1;               // of the grid
};

VotingSets voting_sets(const NodeSet& all);

// A set D of q+1 residues modulo q^2+q+1 whose differences hit every other residue exactly once (Singer,
// 1938), with 0 in D; empty unless q is a prime power.
std::vector<std::uint32_t> singer_difference_set(std::uint32_t q);

// The order of the plane with `count` points, if count = q^2+q+1 for a prime power q (or q = 1).
std::optional<std::uint32_t> plane_order(std::uint32_t count);

}  // namespace conclave::mutex
