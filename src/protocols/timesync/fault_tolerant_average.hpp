// The mean of clocks of which some are wrong: the largest set that lies within gamma counts, the rest does
// not. One clock that is an hour out does not move it.
//
// Paper     R. Gusella, S. Zatti. The accuracy of the clock synchronization achieved by TEMPO in Berkeley
//           UNIX 4.3BSD. IEEE Trans. Software Engineering 15(7), 1989.
#pragma once
#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "core/node_set.hpp"
#include "protocols/timesync/rational.hpp"

namespace conclave::timesync {

struct MeasuredClock {
  NodeId node = {};
  std::int64_t difference = 0;  // to the clock of whoever measures
  bool known = true;            // it had been set before: its word counts for more than any that was not
  bool own = false;             // the clock of whoever measures: of two sets alike, the one with it
};

struct Average {
  std::int64_t mean = 0;
  NodeSet counted = {};
};

inline Average fault_tolerant_average(std::vector<MeasuredClock> clocks, std::int64_t gamma) {
  ensure(!clocks.empty(), "there is a clock to average");
  std::ranges::sort(clocks, [](const MeasuredClock& a, const MeasuredClock& b) {
    return std::tie(a.difference, a.node) < std::tie(b.difference, b.node);
  });
  const auto worth = [](std::span<const MeasuredClock> some) {
    return std::tuple(std::ranges::count(some, true, &MeasuredClock::known), std::ssize(some),
                      std::ranges::count(some, true, &MeasuredClock::own));
  };
  // Every largest set begins at some clock and takes all that lie within gamma above it.
  std::span<const MeasuredClock> best;
  for (std::size_t low = 0, high = 0; low < clocks.size(); ++low) {
    while (high < clocks.size() && Wide{clocks[high].difference} - clocks[low].difference <= gamma) ++high;
    const std::span some = std::span<const MeasuredClock>(clocks).subspan(low, high - low);
    if (best.empty() || worth(some) > worth(best)) best = some;
  }
  Average average;
  Wide sum = 0;
  for (const MeasuredClock& clock : best) {
    sum += clock.difference;
    average.counted.insert(clock.node);
  }
  average.mean = narrow(floor_divide(sum, std::ssize(best)));
  return average;
}

}  // namespace conclave::timesync
