// Lamport's logical clock: e → f implies C(e) < C(f), never the converse.
//
// Paper     L. Lamport. CACM 21(7), 1978.
// With step 1 and all clocks at 0, C(e) is the length of the longest causal chain that ends in e.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/ensure.hpp"

namespace conclave::causality {

struct ScalarClock {
  std::uint64_t time = 0;
  std::uint64_t step = 1;

  bool operator==(const ScalarClock&) const = default;

  // Before any event of its own; what it returns is attached to a message, once for all receivers.
  std::uint64_t tick() {
    ensure(step > 0, "a clock that does not advance orders nothing");
    return time += step;
  }
  std::uint64_t receive(std::uint64_t stamp) {
    time = std::max(time, stamp);
    return tick();
  }
};

}  // namespace conclave::causality
