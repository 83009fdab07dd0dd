// The clock that applications read: a hardware counter with a compensation on top, and what is known of the
// right time. It never shows less than it has shown, and it always knows how far off it may be.
#pragma once
#include <algorithm>

#include "core/ticks.hpp"
#include "protocols/timesync/clock_compensation.hpp"
#include "protocols/timesync/round_trip.hpp"
#include "protocols/timesync/spec.hpp"

namespace conclave::timesync {

// How a clock is put right.
enum class Correction {
  slew,          // little by little
  jump_forward,  // at once if it is behind; little by little if it is ahead
  jump,          // at once, even backwards: applications that saw the old time are misled
};

struct SoftwareClock {
  std::int64_t hardware = 0;  // the counter, as of this step
  Compensation compensation = {};
  bool known = false;  // set at least once; nobody reads it before
  // When the counter showed `estimated_at` the right time was `estimate`, give or take `error`.
  std::int64_t estimated_at = 0;
  std::int64_t estimate = 0;
  std::uint64_t error = 0;

  bool operator==(const SoftwareClock&) const = default;

  // A counter that steps back, which none should, stands still until it has caught up.
  void tick(Ticks reading) { hardware = std::max(hardware, narrow(reading.count)); }

  std::int64_t read() const { return compensation.at(hardware); }

  // The right time now, as far as we know.
  std::int64_t best() const { return narrow(Wide{estimate} + hardware - estimated_at); }

  // What the last estimate may have been off, what the counter may have drifted since, and what of the
  // correction is still to come.
  std::uint64_t bound(std::int64_t drift_ppb) const {
    const std::int64_t to_come = best() - read();
    return error + drift_over(hardware - estimated_at, drift_ppb) + 1 +
           static_cast<std::uint64_t>(to_come < 0 ? -to_come : to_come);
  }
  Reading reading(std::int64_t drift_ppb) const { return {read(), bound(drift_ppb)}; }

  // The right time was `time`, give or take `off`, when the counter showed `at`. The correction takes
  // `interval` ticks, or as long as it needs for the clock to keep at least half its speed.
  Adjusted adjust(std::int64_t at, std::int64_t time, std::uint64_t off, std::int64_t interval,
                  Correction how) {
    const std::int64_t before = known ? read() : hardware;
    estimated_at = at;
    estimate = time;
    error = off;
    const std::int64_t target = best();
    const std::int64_t offset = narrow(Wide{target} - before);
    const bool first = !known;
    known = true;
    // A clock that nobody has read may be set anyhow.
    const bool at_once = first || how == Correction::jump || (offset >= 0 && how == Correction::jump_forward);
    const std::int64_t shown = at_once ? target : before;
    const std::int64_t long_enough = std::max(interval, narrow(-2 * Wide{offset}));
    const auto adjusted =
        Compensation::adjust(hardware, shown, target, std::max<std::int64_t>(1, long_enough));
    ensure(adjusted.has_value(), "a long enough interval is never refused");
    compensation = *adjusted;
    return {.before = before, .after = read(), .offset = offset, .bound = off, .first = first};
  }
};

}  // namespace conclave::timesync
