// A vector clock that grows with the processes seen: an entry that is absent is zero.
#pragma once
#include <algorithm>
#include <boost/container/flat_map.hpp>

#include "core/node_id.hpp"
#include "core/walk.hpp"

namespace conclave {

struct VectorClock {
  using Transparent = void;  // printed as {"1": 3, …}
  boost::container::small_flat_map<NodeId, std::uint64_t, 4> counts = {};

  bool operator==(const VectorClock&) const = default;

  std::uint64_t operator[](NodeId node) const {
    const auto found = counts.find(node);
    return found == counts.end() ? 0 : found->second;
  }
  void tick(NodeId node) { ++counts[node]; }
  void merge(const VectorClock& other) {
    for (const auto& [node, count] : other.counts) {
      std::uint64_t& ours = counts[node];
      ours = std::max(ours, count);
    }
  }

  // No entry is greater than the other's.
  bool within(const VectorClock& other) const {
    return std::ranges::all_of(counts, [&](const auto& entry) { return entry.second <= other[entry.first]; });
  }
  // Of two events, the one with this time happened before the one with the other.
  bool before(const VectorClock& other) const { return within(other) && !other.within(*this); }
  bool concurrent(const VectorClock& other) const { return !within(other) && !other.within(*this); }
  // How many events causally precede the event of this time.
  std::uint64_t predecessors() const {
    std::uint64_t sum = 0;
    for (const auto& [node, count] : counts) sum += count;
    return sum == 0 ? 0 : sum - 1;
  }
};

template <class K, class V, std::size_t N>
inline constexpr bool is_map<boost::container::small_flat_map<K, V, N>> = true;

}  // namespace conclave
