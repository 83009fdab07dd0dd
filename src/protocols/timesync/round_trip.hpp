// What a question and its answer say about another clock: Cristian's estimate and how far off it may be.
//
// Paper     F. Cristian. Probabilistic clock synchronization. Distributed Computing 3, 1989.
//
// A round trip lasts 2D by the asker's clock, whose drift is at most rho; the answer says T; no message takes
// less than min. When the answer arrives the other clock shows at least T + min(1-rho), and at most
// T + 2D(1+2rho) - min(1+rho). The middle is T + D(1+2rho) - rho·min; it is off by D(1+2rho) - min at most.
#pragma once
#include "protocols/timesync/rational.hpp"

namespace conclave::timesync {

inline constexpr std::int64_t ppb = 1'000'000'000;  // drifts are given in parts of this

// How much a clock of that drift may gain or lose while it counts `ticks`, rounded up.
inline std::uint64_t drift_over(std::int64_t ticks, std::int64_t drift_ppb) {
  return static_cast<std::uint64_t>(narrow(ceil_divide(Wide{ticks} * drift_ppb, ppb - drift_ppb)));
}

struct Estimate {
  std::int64_t ahead = 0;   // by how much the other clock is beyond what it answered
  std::uint64_t error = 0;  // of that
  bool operator==(const Estimate&) const = default;
};

// In whole ticks. Two readings of a counter lie up to one tick further apart than their difference, and the
// result is rounded down: the bound has room for both.
inline Estimate half_round_trip(std::int64_t round_trip, std::int64_t least_delay, std::int64_t drift_ppb) {
  ensure(round_trip >= 0, "an answer comes after its question");
  const Wide twice_longest = (Wide{round_trip} + 1) * (ppb + 2 * drift_ppb);  // 2D(1+2rho), times ppb
  const Wide ahead = floor_divide(twice_longest - 2 * Wide{least_delay} * drift_ppb, 2 * Wide{ppb});
  const Wide error = ceil_divide(twice_longest - 2 * Wide{least_delay} * ppb, 2 * Wide{ppb}) + 1;
  return {narrow(ahead), static_cast<std::uint64_t>(narrow(error < 1 ? Wide{1} : error))};
}

// The longest round trip after which the error is at most `wanted`: 2U with U = (1-2rho)(wanted + min).
inline std::int64_t longest_round_trip(std::int64_t wanted, std::int64_t least_delay,
                                       std::int64_t drift_ppb) {
  return narrow(floor_divide(2 * (Wide{wanted} + least_delay) * (ppb - 2 * drift_ppb), ppb));
}

// The textbook's form, exactly: no drift, but a server that is known to have worked on it for `service`.
struct ExactEstimate {
  Rational one_way = {};
  Rational time = {};
  Rational error = {};
};
inline ExactEstimate exact_estimate(const Rational& asked, const Rational& answered, const Rational& time,
                                    const Rational& service, const Rational& least_delay) {
  const Rational one_way = (answered - asked - service) / Rational{2};
  return {one_way, time + one_way, one_way - least_delay};
}

}  // namespace conclave::timesync
