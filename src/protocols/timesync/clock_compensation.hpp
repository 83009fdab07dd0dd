// Clock compensation: how a software clock is put right without ever being set back.
// The hardware counter H runs on as it is. The software clock S(H) = (1 + a)·H + b shows Rl when the counter
// shows h, and the right time T + N when it shows h + N: over N ticks a slow clock runs a little faster, and
// a fast one a little slower. After that it runs like the hardware again, with a = 0 and b = T - h.
//
// Source    The constants follow from S at both ends: a = (T - Rl)/N, b = Rl - (1 + a)·h. Printed with "T"
//           for "T + N" at the far end, the same two equations give a = (T - Rl)/N - 1: a clock that is
//           already right would stand still, and a fast one would run backwards (`literal_line`).
// Assumes   one tick of H is one unit of time; its drift over N ticks does not matter.
// Keeps     S is continuous, never runs backwards, and is exact at h + N: N must be greater than Rl - T.
#pragma once
#include <expected>
#include <string_view>

#include "protocols/timesync/rational.hpp"

namespace conclave::timesync {

enum class AdjustError {
  interval_not_positive,  // N < 1
  interval_too_short,     // the clock would have to stand still or run backwards
  out_of_range,           // some time involved does not fit 64 bits
};

constexpr std::string_view describe(AdjustError error) {
  switch (error) {
    case AdjustError::interval_not_positive: return "the interval is not positive";
    case AdjustError::interval_too_short: return "the interval is too short: the clock would run backwards";
    case AdjustError::out_of_range: return "a time does not fit 64 bits";
  }
  return "unknown error";
}

// S(H) = (1 + a)·H + b, exactly.
struct Line {
  Rational a = {};
  Rational b = {};
  bool operator==(const Line&) const = default;

  Rational rate() const { return Rational{1} + a; }
  Rational at(const Rational& hardware) const { return rate() * hardware + b; }
  bool monotonic() const { return rate() > Rational{0}; }
};

// During the adjustment, and from its end on.
inline Line compensation_line(const Rational& h, const Rational& rl, const Rational& t, const Rational& n) {
  const Rational a = (t - rl) / n;
  return {a, rl - (Rational{1} + a) * h};
}
inline Line line_after(const Rational& h, const Rational& t) { return {{}, t - h}; }

// With the far end misprinted as S(h + N) = T.
inline Line literal_line(const Rational& h, const Rational& rl, const Rational& t, const Rational& n) {
  const Rational a = (t - rl) / n - Rational{1};
  return {a, rl - (Rational{1} + a) * h};
}

// The same in whole ticks, for clocks that run: S(H) = Rl + (H-h) + (T-Rl)(H-h)/N, rounded down. It has no
// constant that would be rounded, so nothing adds up over a long adjustment.
struct Compensation {
  std::int64_t since = 0;  // h
  std::int64_t shown = 0;  // Rl
  std::int64_t gap = 0;    // T - Rl: what the clock lacks
  std::int64_t over = 1;   // N
  bool operator==(const Compensation&) const = default;

  static std::expected<Compensation, AdjustError> adjust(std::int64_t h, std::int64_t rl, std::int64_t t,
                                                         std::int64_t n) {
    if (n < 1) return std::unexpected(AdjustError::interval_not_positive);
    const Wide lacks = Wide{t} - rl;
    if (n <= -lacks) return std::unexpected(AdjustError::interval_too_short);
    if (!fits(lacks) || !fits(Wide{h} + n) || !fits(Wide{t} + n))
      return std::unexpected(AdjustError::out_of_range);
    return Compensation{h, rl, static_cast<std::int64_t>(lacks), n};
  }

  // The clock when the counter shows `hardware`. Never less than for a smaller counter: the rate is
  // positive, and rounding down keeps the order.
  std::int64_t at(std::int64_t hardware) const {
    ensure(hardware >= since, "a clock is read after it was adjusted");
    const Wide passed = Wide{hardware} - since;
    const Wide within = passed < over ? passed : Wide{over};
    return narrow(shown + passed + floor_divide(gap * within, over));
  }

  // A new adjustment begins where this one, finished or not, has got to.
  std::expected<Compensation, AdjustError> readjusted(std::int64_t hardware, std::int64_t target,
                                                      std::int64_t interval) const {
    return adjust(hardware, at(hardware), target, interval);
  }

  Line line() const { return compensation_line({since}, {shown}, {narrow(Wide{shown} + gap)}, {over}); }
};

}  // namespace conclave::timesync
