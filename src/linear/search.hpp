// The search for one key: an order of its operations that explains what they were told.
#pragma once
#include <span>

#include "linear/linear.hpp"

namespace conclave::linear {

struct Found {
  Outcome outcome = Outcome::fine;
  std::uint64_t steps = 0;
  // The order that was found, or the longest part of one; places in the history.
  std::vector<std::size_t> order = {};
  // The first return that nothing explains.
  std::optional<std::size_t> misfit = {};
};

// `chosen` are places of operations of one key.
Found search(const History& history, std::span<const std::size_t> chosen, const Bounds& bounds);

}  // namespace conclave::linear
