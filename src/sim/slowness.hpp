// How long things take at most in a run: what bounds on waiting are made of.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/ticks.hpp"
#include "sim/options.hpp"

namespace conclave::sim {

// How long persisting takes where a disk has to take time, and how many times as long now and then.
inline constexpr std::uint64_t usual_sync_ticks = 5;
inline constexpr std::uint64_t slowest_sync = 40;
// How much longer a message takes that is slowed down, overtaken, or comes once more.
inline std::uint64_t longest_delay_by_fault(const DelayModel& delay) {
  return 20 * std::max<std::uint64_t>(1, delay.usual.mean());
}

struct Slowness {
  Ticks message = {};        // from sending to delivery, of those that are neither lost nor held back
  Ticks disk = {};           // one write, of a disk that does not stand still
  std::uint64_t timers = 1;  // so many times as long as they were set for
  bool operator==(const Slowness&) const = default;
};

// For a run that was simulated with options that nobody knows any more.
inline Options of_unknown_slowness(Options options) {
  options.delay.usual.shape = Delay::Shape::exponential;
  return options;
}

// Whether no message of a link overtakes another, whatever the algorithm needs.
bool keeps_order(const Options& options);

// None if there is no end to how long a message may take.
std::optional<Slowness> slowness(const Options& options);

}  // namespace conclave::sim
