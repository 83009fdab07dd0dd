// Time as the worlds count it. A protocol never reads a clock; it only asks to be woken after a range of
// ticks, and the world decides when: the simulator and the live node draw, the checker tries all.
#pragma once
#include <compare>
#include <cstdint>

namespace conclave {

struct Ticks {
  using Transparent = void;
  std::uint64_t count = 0;
  auto operator<=>(const Ticks&) const = default;
  friend Ticks operator+(Ticks a, Ticks b) { return {a.count + b.count}; }
  friend Ticks operator-(Ticks a, Ticks b) { return {a.count - b.count}; }
};

struct TickRange {
  Ticks min = {};
  Ticks max = {};
  bool operator==(const TickRange&) const = default;
};

}  // namespace conclave
