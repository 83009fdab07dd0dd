// How a quantity spread over a run: how often it was measured, its mean, its least and its greatest value.
#pragma once
#include <algorithm>
#include <cstdint>

namespace conclave::trace {

struct Spread {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;

  void add(std::uint64_t value) {
    ++count;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  double mean() const { return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count); }
};

}  // namespace conclave::trace
