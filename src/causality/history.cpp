#include "causality/history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::causality {

void History::grow(std::uint32_t processes) {
  if (processes > tracks_.size()) tracks_.resize(processes);
}

void History::report(const Flaw& flaw) {
  ++flaws_;
  if (!flaw_ || flaw.line < flaw_->line) flaw_ = flaw;
}

void History::add(EventId event, std::span<const Known> clock, std::uint64_t line) {
  ensure(event.process < tracks_.size() && event.number > 0, "an event belongs to a known process");
  for (const Known& known : clock) grow(known.process + 1);
  Track& track = tracks_[event.process];
  ++events_;
  if (event.number <= track.line.size() || track.early.contains(event.number))
    return report({.kind = Flaw::Kind::repeats, .event = event, .line = line});
  if (event.number > track.line.size() + 1) {
    track.early.emplace(event.number, Early{{clock.begin(), clock.end()}, line});
    return;
  }
  append(event, clock, line);
  while (!track.early.empty() && track.early.begin()->first == track.line.size() + 1) {
    const auto next = track.early.extract(track.early.begin());
    append({event.process, next.key()}, next.mapped().clock, next.mapped().line);
  }
  settle_from(event.process);
}

void History::append(EventId event, std::span<const Known> clock, std::uint64_t line) {
  Track& track = tracks_[event.process];
  growths_.clear();
  std::uint32_t seen = 0;
  const auto falls = [&](std::uint32_t process, std::uint32_t before) {
    report({.kind = Flaw::Kind::falls, .event = event, .line = line, .other = {process, before}});
  };
  for (const Known& known : clock) {
    if (known.process == event.process || known.count == 0) continue;
    const std::uint32_t latest = track.line.latest(known.process);
    if (latest > 0) ++seen;
    if (known.count < latest) {
      falls(known.process, latest);
    } else if (known.count > latest) {
      if (latest == 0) ++track.known_processes, ++seen;
      growths_.push_back({known.process, known.count - latest});
    }
  }
  // Whoever was known before and is not mentioned any more has fallen to 0.
  if (seen < track.known_processes) {
    for (std::uint32_t process = 0; process < track.line.width(); ++process) {
      const bool mentioned = std::ranges::any_of(
          clock, [&](const Known& known) { return known.process == process && known.count > 0; });
      if (track.line.latest(process) > 0 && !mentioned) {
        falls(process, track.line.latest(process));
        break;
      }
    }
  }
  track.line.append(line, growths_);
}

void History::settle_from(std::uint32_t process) {
  if (tracks_[process].waits_for) return;
  ready_.push_back(process);
  while (!ready_.empty()) {
    const std::uint32_t next = ready_.back();
    ready_.pop_back();
    while (settle_next(next)) {
    }
  }
}

// False if the process has no more events for now, or if its next one waits for another.
bool History::settle_next(std::uint32_t process) {
  Track& track = tracks_[process];
  if (track.settled.number >= track.line.size()) return false;
  Timeline::Cursor cursor = track.settled;
  track.line.next(cursor, settling_);
  for (const Growth& growth : settling_) {
    if (growth.process >= track.now.size()) track.now.resize(growth.process + 1);
    const std::uint32_t wanted = track.now[growth.process] + growth.by;
    Track& other = tracks_[growth.process];
    if (wanted <= other.settled.number) continue;
    track.waits_for = EventId{growth.process, wanted};
    other.waiting.push_back(process);
    other.next_wanted = std::min(other.next_wanted, wanted);
    return false;
  }
  track.settled = cursor;
  const EventId event = {process, cursor.number};
  std::uint32_t chain = event.number == 1 ? 0 : track.chain.back();
  if (!settling_.empty()) chain = std::max(chain, meet_senders(event, cursor.line));
  track.chain.push_back(chain + 1);
  ordered_pairs_ += track.known_events + event.number - 1;
  if (chain + 1 > longest_chain()) chain_end_ = event;
  if (track.settled.number >= track.next_wanted) wake(process);
  return true;
}

// The event learns of others: takes over what grew, checks that it knows what they knew, and returns the
// longest chain among them. Of what an event learns, the sender has the longest chain; so it is looked at
// first and covers the rest.
std::uint32_t History::meet_senders(EventId event, std::uint64_t line) {
  Track& track = tracks_[event.process];
  candidates_.clear();
  std::uint32_t longest = 0;
  for (const Growth& growth : settling_) {
    track.now[growth.process] += growth.by;
    track.known_events += growth.by;
    const EventId learnt = {growth.process, track.now[growth.process]};
    candidates_.push_back({learnt, chain(learnt)});
    longest = std::max(longest, candidates_.back().chain);
  }
  restored_.resize(tracks_.size());
  for (;;) {
    Candidate* sender = nullptr;
    for (Candidate& candidate : candidates_) {
      if (!candidate.covered && (!sender || candidate.chain > sender->chain)) sender = &candidate;
    }
    if (!sender) return longest;
    sender->covered = true;
    ++messages_;
    const std::uint32_t from = sender->event.process;
    tracks_[from].line.restore(sender->event.number, restored_);
    restored_[from] = sender->event.number;
    const std::size_t both = std::min(track.now.size(), restored_.size());
    bool knows_all = restored_[event.process] < event.number;
    for (std::size_t i = 0; i < both; ++i)
      knows_all = knows_all && (i == event.process || restored_[i] <= track.now[i]);
    for (std::size_t i = both; i < restored_.size(); ++i)
      knows_all = knows_all && (i == event.process || restored_[i] == 0);
    if (!knows_all)
      report({.kind = Flaw::Kind::knows_too_little, .event = event, .line = line, .other = sender->event});
    for (Candidate& candidate : candidates_)
      candidate.covered = candidate.covered || restored_[candidate.event.process] >= candidate.event.number;
  }
}

void History::wake(std::uint32_t process) {
  Track& track = tracks_[process];
  track.next_wanted = UINT32_MAX;
  std::erase_if(track.waiting, [&](std::uint32_t waiter) {
    const std::uint32_t wanted = tracks_[waiter].waits_for->number;
    if (wanted > track.settled.number) {
      track.next_wanted = std::min(track.next_wanted, wanted);
      return false;
    }
    tracks_[waiter].waits_for.reset();
    ready_.push_back(waiter);
    return true;
  });
}

void History::finish() {
  for (std::uint32_t process = 0; process < processes(); ++process) {
    const Track& track = tracks_[process];
    if (track.early.empty()) continue;
    const auto& [number, early] = *track.early.begin();
    report({.kind = Flaw::Kind::jumps,
            .event = {process, number},
            .line = early.line,
            .expected = track.line.size() + 1});
  }
  // Whoever waits for an event that did come waits in a circle, unless something is missing anyway.
  for (const bool missing : {true, false}) {
    for (std::uint32_t process = 0; process < processes(); ++process) report_stuck(process, missing);
    if (flaw_) break;
  }
}

void History::report_stuck(std::uint32_t process, bool missing) {
  const Track& track = tracks_[process];
  if (!track.waits_for || has(*track.waits_for) == missing) return;
  Timeline::Cursor cursor = track.settled;
  track.line.next(cursor, settling_);
  report({.kind = missing ? Flaw::Kind::never_happened : Flaw::Kind::circular,
          .event = {process, cursor.number},
          .line = cursor.line,
          .other = *track.waits_for});
}

DenseClock History::clock(EventId event) const {
  DenseClock clock(processes());
  if (event.number == 0) return clock;
  tracks_[event.process].line.restore(event.number, clock.counts);
  clock.counts[event.process] = event.number;
  return clock;
}

std::uint64_t History::line(EventId event) const {
  std::vector<std::uint32_t> ignored(processes());
  return tracks_[event.process].line.restore(event.number, ignored);
}

bool History::happened_before(EventId a, EventId b) const {
  if (a.process == b.process) return a.number < b.number;
  return a.number <= clock(b)[a.process];
}

std::vector<EventId> History::senders(EventId event) const {
  const DenseClock before = clock({event.process, event.number - 1});
  const DenseClock after = clock(event);
  std::vector<EventId> learnt;
  for (std::uint32_t process = 0; process < processes(); ++process) {
    if (process != event.process && after[process] > before[process])
      learnt.push_back({process, after[process]});
  }
  std::vector<EventId> senders;
  for (const EventId candidate : learnt) {
    const bool told_by_another = std::ranges::any_of(
        learnt, [&](EventId other) { return other != candidate && happened_before(candidate, other); });
    if (!told_by_another) senders.push_back(candidate);
  }
  return senders;
}

std::uint64_t History::concurrent_pairs() const {
  // An event's clock counts its predecessors, so nothing has to be compared pair by pair.
  return events_ == 0 ? 0 : events_ * (events_ - 1) / 2 - ordered_pairs_;
}

std::vector<Stretch> History::longest_chain_path() const {
  std::vector<Stretch> path;
  EventId at = chain_end_;
  while (at.number > 0) {
    Stretch stretch = {at.process, at.number, at.number};
    while (stretch.first > 1 &&
           chain({at.process, stretch.first - 1}) + 1 == chain({at.process, stretch.first}))
      --stretch.first;
    path.push_back(stretch);
    const EventId first = {at.process, stretch.first};
    at = {};
    if (chain(first) == 1) break;
    for (const EventId sender : senders(first)) {
      if (chain(sender) + 1 == chain(first)) at = sender;
    }
  }
  std::ranges::reverse(path);
  return path;
}

std::optional<EventId> History::first_to_know(std::uint32_t process, EventId known) const {
  const std::uint32_t count = events_of(process);
  if (process == known.process) return known.number <= count ? std::optional(known) : std::nullopt;
  // What a process knows only grows.
  std::uint32_t low = 1;
  std::uint32_t high = count + 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (clock({process, middle})[known.process] >= known.number) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low <= count ? std::optional(EventId{process, low}) : std::nullopt;
}

std::vector<Stretch> History::path(EventId a, EventId b) const {
  std::vector<Stretch> path;
  if (!happened_before(a, b)) return path;
  while (b.process != a.process) {
    // Back to the event that brought the news of a, then to whoever sent it.
    const auto first = first_to_know(b.process, a);
    ensure(first.has_value(), "what an event knows, its process learnt at some event");
    path.push_back({b.process, first->number, b.number});
    const auto from = senders(*first);
    const auto knows_a =
        std::ranges::find_if(from, [&](EventId sender) { return sender == a || happened_before(a, sender); });
    ensure(knows_a != from.end(), "news come from somebody who knows them");
    b = *knows_a;
  }
  path.push_back({a.process, a.number, b.number});
  std::ranges::reverse(path);
  return path;
}

std::uint64_t History::bytes() const {
  std::uint64_t sum = 0;
  for (const Track& track : tracks_) {
    sum += track.line.bytes();
    sum += (track.now.capacity() + track.chain.capacity()) * sizeof(std::uint32_t);
  }
  return sum;
}

std::string name_of(EventId event, std::span<const std::string> names) {
  return fmt::format("{}.{}", names[event.process], event.number);
}

std::string in_words(const Flaw& flaw, std::span<const std::string> names) {
  const std::string& host = names[flaw.event.process];
  const std::string event = name_of(flaw.event, names);
  switch (flaw.kind) {
    case Flaw::Kind::repeats:
      return fmt::format("{} is there already: the own entry of {} does not grow", event, host);
    case Flaw::Kind::jumps:
      return flaw.expected == 1 ? fmt::format("{} begins with event {}: its earlier events are missing", host,
                                              flaw.event.number)
                                : fmt::format("the own entry of {} goes from {} to {}, not by one", host,
                                              flaw.expected - 1, flaw.event.number);
    case Flaw::Kind::falls:
      return fmt::format("the clock of {} goes backwards: it knew {} before", event,
                         name_of(flaw.other, names));
    case Flaw::Kind::never_happened:
      return fmt::format("{} knows {}, which is not in the log", event, name_of(flaw.other, names));
    case Flaw::Kind::knows_too_little:
      return fmt::format("{} knows {}, but not all that {} knew", event, name_of(flaw.other, names),
                         name_of(flaw.other, names));
    case Flaw::Kind::circular:
      return fmt::format("{} knows {}, which cannot have happened before it", event,
                         name_of(flaw.other, names));
  }
  return {};
}

}  // namespace conclave::causality
