// A vector clock for a fixed number of processes: e → f if and only if V(e) < V(f).
//
// Papers    C. Fidge 1988; F. Mattern 1989. That n entries are needed: B. Charron-Bost 1991.
// The clock that grows with the processes seen is core/vector_clock.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/ensure.hpp"

namespace conclave::causality {

struct DenseClock {
  std::vector<std::uint32_t> counts = {};

  DenseClock() = default;
  explicit DenseClock(std::size_t processes) : counts(processes) {}
  explicit DenseClock(std::vector<std::uint32_t> entries) : counts(std::move(entries)) {}

  bool operator==(const DenseClock&) const = default;
  std::size_t size() const { return counts.size(); }
  std::uint32_t operator[](std::size_t process) const { return counts[process]; }

  void tick(std::size_t process, std::uint32_t step = 1) { counts[process] += step; }
  void merge(const DenseClock& other) {
    ensure(counts.size() == other.counts.size(), "clocks of one system have the same processes");
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = std::max(counts[i], other.counts[i]);
  }

  // No entry is greater than the other's.
  bool within(const DenseClock& other) const {
    ensure(counts.size() == other.counts.size(), "clocks of one system have the same processes");
    return std::ranges::equal(counts, other.counts, std::ranges::less_equal{});
  }
  bool before(const DenseClock& other) const { return *this != other && within(other); }
  bool concurrent(const DenseClock& other) const { return !within(other) && !other.within(*this); }

  // How many events causally precede the event of this time, if clocks advance by 1.
  std::uint64_t predecessors() const {
    const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    return sum == 0 ? 0 : sum - 1;
  }
};

// Whether an event of process i and one of process j can lie on the frontier of one consistent cut: neither
// knows of more events of the other's process than the other's own time says.
inline bool share_a_frontier(std::size_t i, const DenseClock& of_i, std::size_t j, const DenseClock& of_j) {
  return of_i[i] >= of_j[i] && of_j[j] >= of_i[j];
}

}  // namespace conclave::causality
