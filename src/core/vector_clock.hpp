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
};

template <class K, class V, std::size_t N>
inline constexpr bool is_map<boost::container::small_flat_map<K, V, N>> = true;

}  // namespace conclave
