// Diagrams drawn at random, for tests of what must hold in all of them.
#pragma once
#include <random>

#include "causality/diagram.hpp"

namespace conclave::causality {

// Events happen one after the other at random processes. A third are receipts of a message that is under way,
// if there is one; messages overtake each other, some are sent to several, some never arrive.
inline Diagram random_diagram(std::uint32_t processes, std::uint32_t events, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::vector<std::uint32_t> counts(processes);
  std::vector<Message> messages;
  std::vector<EventId> under_way;  // by sending
  for (std::uint32_t i = 0; i < events; ++i) {
    const EventId event = {below(processes), 0};
    const EventId numbered = {event.process, ++counts[event.process]};
    if (!under_way.empty() && below(3) == 0) {
      const std::size_t chosen = below(under_way.size());
      if (under_way[chosen].process == event.process) continue;
      messages.push_back({under_way[chosen], numbered});
      if (below(4) > 0) under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else if (below(2) == 0) {
      under_way.push_back(numbered);
    }
  }
  auto diagram = Diagram::of(std::move(counts), std::move(messages));
  ensure(diagram.has_value(), "what happened in some order has a causal order");
  return std::move(*diagram);
}

}  // namespace conclave::causality
