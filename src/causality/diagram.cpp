#include "causality/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "causality/scalar_clock.hpp"

namespace conclave::causality {
namespace {

std::string text_of(EventId event) { return fmt::format("{}.{}", event.process + 1, event.number); }

}  // namespace

std::expected<Diagram, std::string> Diagram::of(std::vector<std::uint32_t> events_of_each,
                                                std::vector<Message> messages) {
  Diagram diagram;
  diagram.counts_ = std::move(events_of_each);
  diagram.messages_ = std::move(messages);
  for (const Message& message : diagram.messages_) {
    for (const EventId end : {message.sent, message.received}) {
      if (end.process >= diagram.processes() || end.number == 0 || end.number > diagram.counts_[end.process])
        return std::unexpected(fmt::format("a message names {}, which is no event", text_of(end)));
    }
    if (message.sent.process == message.received.process)
      return std::unexpected(fmt::format("a message leads from {} to {}, in one process",
                                         text_of(message.sent), text_of(message.received)));
  }
  std::ranges::sort(diagram.messages_, {}, &Message::received);

  // Each process goes on until it has to wait for another; nobody moving means that all wait in a circle.
  std::vector<std::uint32_t> done(diagram.processes());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t process = 0; process < diagram.processes(); ++process) {
      while (done[process] < diagram.counts_[process]) {
        const EventId next = {process, done[process] + 1};
        const auto causes = diagram.causes(next);
        if (std::ranges::any_of(causes, [&](EventId cause) { return cause.number > done[cause.process]; }))
          break;
        diagram.order_.push_back(next);
        ++done[process];
        moved = true;
      }
    }
  }
  for (std::uint32_t process = 0; process < diagram.processes(); ++process) {
    if (done[process] < diagram.counts_[process])
      return std::unexpected(
          fmt::format("{} would have to happen before itself", text_of({process, done[process] + 1})));
  }
  return diagram;
}

std::vector<EventId> Diagram::causes(EventId event) const {
  std::vector<EventId> causes;
  if (event.number > 1) causes.push_back({event.process, event.number - 1});
  for (const Message& message : std::ranges::equal_range(messages_, event, {}, &Message::received))
    causes.push_back(message.sent);
  return causes;
}

std::vector<std::vector<std::uint64_t>> Diagram::scalar_times(std::uint64_t step) const {
  std::vector<std::vector<std::uint64_t>> times(processes());
  for (std::uint32_t process = 0; process < processes(); ++process) times[process].resize(counts_[process]);
  std::vector<ScalarClock> clocks(processes(), ScalarClock{.step = step});
  for (const EventId event : order_) {
    ScalarClock& clock = clocks[event.process];
    std::uint64_t stamp = 0;  // the latest of what arrives; an internal event receives nothing
    for (const EventId cause : causes(event)) stamp = std::max(stamp, times[cause.process][cause.number - 1]);
    times[event.process][event.number - 1] = clock.receive(stamp);
  }
  return times;
}

std::vector<std::vector<DenseClock>> Diagram::vector_times(std::uint32_t step) const {
  std::vector<std::vector<DenseClock>> times(processes());
  for (std::uint32_t process = 0; process < processes(); ++process) times[process].resize(counts_[process]);
  for (const EventId event : order_) {
    DenseClock clock(processes());
    for (const EventId cause : causes(event)) clock.merge(times[cause.process][cause.number - 1]);
    clock.tick(event.process, step);
    times[event.process][event.number - 1] = std::move(clock);
  }
  return times;
}

History Diagram::history() const {
  History history(processes());
  const auto times = vector_times();
  std::vector<Known> known;
  std::uint64_t line = 0;
  for (const EventId event : order_) {
    known.clear();
    const DenseClock& clock = times[event.process][event.number - 1];
    for (std::uint32_t process = 0; process < processes(); ++process)
      known.push_back({process, clock[process]});
    history.add(event, known, ++line);
  }
  history.finish();
  ensure(!history.flaw(), "clocks that keep the rules are right");
  return history;
}

bool Diagram::reaches(EventId a, EventId b) const {
  std::set<EventId> seen;
  std::vector<EventId> open = {b};
  while (!open.empty()) {
    const EventId event = open.back();
    open.pop_back();
    for (const EventId cause : causes(event)) {
      if (cause == a) return true;
      if (seen.insert(cause).second) open.push_back(cause);
    }
  }
  return false;
}

}  // namespace conclave::causality
