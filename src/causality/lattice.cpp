#include "causality/lattice.hpp"

#include <algorithm>
#include <set>

#include "core/ensure.hpp"

namespace conclave::causality {

Lattice::Lattice(const History& history, std::uint64_t most) : most_(most) {
  times_.resize(history.processes());
  for (std::uint32_t process = 0; process < history.processes(); ++process) {
    for (std::uint32_t number = 0; number <= history.events_of(process); ++number)
      times_[process].push_back(history.clock({process, number}));
  }
}

// Frontiers are consistent if they are so pair by pair, and whatever the first processes chose without
// contradicting each other can be completed: by the least cut that contains it. So no choice is a dead end.
Lattice::Range Lattice::range(const Cut& chosen, std::uint32_t process) const {
  Range range = {0, static_cast<std::uint32_t>(times_[process].size()) - 1};
  for (std::uint32_t other = 0; other < process; ++other) {
    range.least = std::max(range.least, times_[other][chosen[other]][process]);
    // What a process knows of another only grows.
    const auto& own = times_[process];
    const auto too_far = std::ranges::partition_point(
        own, [&](const DenseClock& time) { return time[other] <= chosen[other]; });
    range.most = std::min(range.most, static_cast<std::uint32_t>(too_far - own.begin()) - 1);
  }
  ensure(range.least <= range.most, "a consistent beginning can be completed");
  return range;
}

bool Lattice::visit_from(Cut& cut, std::uint32_t process, std::uint64_t& left,
                         const std::function<bool(const Cut&)>& visit, bool& stopped) const {
  if (process == times_.size()) {
    if (left-- == 0) return false;
    stopped = !visit(cut);
    return true;
  }
  const Range range = this->range(cut, process);
  for (std::uint32_t number = range.least; number <= range.most && !stopped; ++number) {
    cut[process] = number;
    if (!visit_from(cut, process + 1, left, visit, stopped)) return false;
  }
  return true;
}

bool Lattice::each(const std::function<bool(const Cut&)>& visit) const {
  Cut cut(times_.size());
  std::uint64_t left = most_;
  bool stopped = false;
  return visit_from(cut, 0, left, visit, stopped);
}

// The last process need not be walked: all of its range counts.
bool Lattice::count_from(Cut& cut, std::uint32_t process, std::uint64_t& count) const {
  const Range range = this->range(cut, process);
  if (process + 1 == times_.size()) {
    count += range.most - range.least + 1;
    return count <= most_;
  }
  for (std::uint32_t number = range.least; number <= range.most; ++number) {
    cut[process] = number;
    if (!count_from(cut, process + 1, count)) return false;
  }
  return true;
}

std::optional<std::uint64_t> Lattice::count() const {
  if (times_.empty()) return 1;
  Cut cut(times_.size());
  std::uint64_t count = 0;
  if (!count_from(cut, 0, count)) return std::nullopt;
  return count;
}

std::optional<bool> Lattice::possibly(const Predicate& holds) const {
  bool found = false;
  const bool complete = each([&](const Cut& cut) {
    found = holds(cut);
    return !found;
  });
  if (!complete) return std::nullopt;
  return found;
}

// Level by level, an event more at a time, through cuts where the predicate does not hold: if the whole
// history is reached, somebody may have missed it.
std::optional<bool> Lattice::definitely(const Predicate& holds) const {
  Cut cut(times_.size());
  if (holds(cut)) return true;
  std::set<Cut> level = {cut};
  std::uint64_t looked_at = 1;
  while (!level.empty()) {
    std::set<Cut> next;
    bool whole = true;
    for (const Cut& here : level) {
      for (std::size_t process = 0; process < times_.size(); ++process) {
        if (here[process] + 1 >= times_[process].size()) continue;
        whole = false;
        Cut further = here;
        ++further[process];
        const DenseClock& time = times_[process][further[process]];
        if (!time.within(DenseClock(further))) continue;  // waits for somebody
        if (!next.contains(further) && !holds(further)) next.insert(std::move(further));
      }
    }
    if (whole) return false;
    looked_at += next.size();
    if (looked_at > most_) return std::nullopt;
    level = std::move(next);
  }
  return true;
}

}  // namespace conclave::causality
