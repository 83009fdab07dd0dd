// The hardware clock of a process, in microseconds: what protocols that read a clock are told before each
// step. For experiments it can be made wrong.
#pragma once
#include <cstdint>
#include <ctime>

#include "core/ensure.hpp"
#include "core/ticks.hpp"

namespace conclave::live {

class HardwareClock {
 public:
  enum class Source {
    machine,  // the machine's clock as it is, with whatever sets it
    counter,  // what the machine's clock showed at the beginning, and the time since: nobody sets that
  };
  struct Fault {
    std::int64_t offset = 0;    // microseconds ahead
    std::int64_t skew_ppb = 0;  // gained per 10^9
  };

  explicit HardwareClock(Source source) : HardwareClock(source, Fault{}) {}
  HardwareClock(Source source, Fault fault)
      : source_(source), fault_(fault), machine_(now_of(CLOCK_REALTIME)), counter_(now_of(CLOCK_BOOTTIME)) {}

  Ticks now() const {
    // Time asleep counts, so not CLOCK_MONOTONIC.
    const std::int64_t shown =
        source_ == Source::machine ? now_of(CLOCK_REALTIME) : machine_ + now_of(CLOCK_BOOTTIME) - counter_;
    __extension__ using Wide = __int128;
    const auto gained = static_cast<std::int64_t>(Wide{shown - machine_} * fault_.skew_ppb / 1'000'000'000);
    const std::int64_t wrong = shown + gained + fault_.offset;
    return {wrong < 0 ? 0 : static_cast<std::uint64_t>(wrong)};
  }

 private:
  static std::int64_t now_of(clockid_t which) {
    timespec time = {};
    ensure(clock_gettime(which, &time) == 0, "the system has a clock");
    return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
  }

  Source source_;
  Fault fault_;
  std::int64_t machine_;  // at the beginning
  std::int64_t counter_;
};

}  // namespace conclave::live
