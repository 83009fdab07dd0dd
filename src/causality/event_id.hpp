// The k-th event of a process. Processes are numbered from 0, their events from 1; event 0 stands for the
// state before the first one.
#pragma once
#include <compare>
#include <cstdint>

namespace conclave::causality {

struct EventId {
  std::uint32_t process = 0;
  std::uint32_t number = 0;
  auto operator<=>(const EventId&) const = default;
};

// Consecutive events of one process: a part of a path or chain.
struct Stretch {
  std::uint32_t process = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const Stretch&) const = default;
};

}  // namespace conclave::causality
