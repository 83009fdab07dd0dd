// A space-time diagram: the events of each process, and the messages between them. Clocks are not written
// on it: they are computed by the rules, from the diagram alone.
#pragma once
#include <expected>
#include <string>
#include <vector>

#include "causality/history.hpp"

namespace conclave::causality {

struct Message {
  EventId sent = {};
  EventId received = {};
  bool operator==(const Message&) const = default;
};

class Diagram {
 public:
  // A sentence if a message names no event, stays at home, or would arrive before it was sent.
  static std::expected<Diagram, std::string> of(std::vector<std::uint32_t> events_of_each,
                                                std::vector<Message> messages);

  std::uint32_t processes() const { return static_cast<std::uint32_t>(counts_.size()); }
  const std::vector<std::uint32_t>& events_of_each() const { return counts_; }
  const std::vector<Message>& messages() const { return messages_; }
  // Every event after all that happened before it.
  const std::vector<EventId>& in_causal_order() const { return order_; }

  // Scalar and vector time of every event, by process and number from 0.
  std::vector<std::vector<std::uint64_t>> scalar_times(std::uint64_t step = 1) const;
  std::vector<std::vector<DenseClock>> vector_times(std::uint32_t step = 1) const;
  History history() const;

  // Whether b can be reached from a along lines and messages: the definition, without clocks.
  bool reaches(EventId a, EventId b) const;

 private:
  Diagram() = default;
  // The events that this one waits for: the one before it, and the sendings of what it receives.
  std::vector<EventId> causes(EventId event) const;

  std::vector<std::uint32_t> counts_;
  std::vector<Message> messages_;  // by receipt
  std::vector<EventId> order_;
};

}  // namespace conclave::causality
