#include "causality/cut.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::causality {
namespace {

std::vector<DenseClock> frontier(const History& history, const Cut& cut) {
  ensure(cut.size() == history.processes(), "a cut says how far every process has come");
  std::vector<DenseClock> clocks;
  for (std::uint32_t process = 0; process < cut.size(); ++process) {
    ensure(cut[process] <= history.events_of(process), "a cut contains only events that happened");
    clocks.push_back(history.clock({process, cut[process]}));
  }
  return clocks;
}

}  // namespace

std::vector<Message> offending_messages(const Diagram& diagram, const Cut& cut) {
  std::vector<Message> offending;
  for (const Message& message : diagram.messages()) {
    if (message.received.number <= cut[message.received.process] &&
        message.sent.number > cut[message.sent.process])
      offending.push_back(message);
  }
  return offending;
}

bool consistent(const History& history, const Cut& cut) {
  const std::vector<DenseClock> clocks = frontier(history, cut);
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    for (std::size_t j = i + 1; j < clocks.size(); ++j) {
      if (!share_a_frontier(i, clocks[i], j, clocks[j])) return false;
    }
  }
  return true;
}

std::vector<Contradiction> contradictions(const History& history, const Cut& cut) {
  const std::vector<DenseClock> clocks = frontier(history, cut);
  std::vector<Contradiction> found;
  for (std::uint32_t j = 0; j < clocks.size(); ++j) {
    for (std::uint32_t i = 0; i < clocks.size(); ++i) {
      if (i == j || clocks[j][i] <= cut[i]) continue;
      const auto first = history.first_to_know(j, {i, cut[i] + 1});
      ensure(first.has_value(), "what the frontier knows, its process learnt at some event");
      const EventId of = {i, history.clock(*first)[i]};
      const auto senders = history.senders(*first);
      found.push_back({*first, of, std::ranges::find(senders, of) != senders.end()});
    }
  }
  return found;
}

// A time contains whatever a time inside it contains, so one step is enough in either direction.
Cut least_consistent_containing(const History& history, const Cut& cut) {
  Cut least = cut;
  for (const DenseClock& clock : frontier(history, cut)) {
    for (std::size_t process = 0; process < least.size(); ++process)
      least[process] = std::max(least[process], clock[process]);
  }
  return least;
}

Cut greatest_consistent_inside(const History& history, const Cut& cut) {
  const DenseClock limit(cut);
  Cut greatest = cut;
  for (std::uint32_t process = 0; process < cut.size(); ++process) {
    std::uint32_t low = 0;  // the last event known to fit; the state before the first one always does
    std::uint32_t high = cut[process];
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (history.clock({process, middle}).within(limit)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    greatest[process] = low;
  }
  return greatest;
}

}  // namespace conclave::causality
