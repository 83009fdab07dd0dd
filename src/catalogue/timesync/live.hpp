// Cristian's and the Berkeley algorithm between real processes: the types that the simulator runs, on
// datagrams.
#pragma once
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "live/datagram.hpp"
#include "live/members.hpp"
#include "live/time_clock.hpp"

namespace conclave::catalogue {

using Microseconds = std::chrono::microseconds;

// One process of either algorithm. It works while the loop runs and this lives.
class LiveClock {
 public:
  virtual ~LiveClock() = default;
  // Asks what time it is; `reading` answers, as soon as the clock was set once.
  virtual void read() = 0;
  virtual live::Address address() const = 0;
  virtual std::uint64_t refused() const = 0;  // datagrams of strangers
};
using OpenedClock = std::expected<std::unique_ptr<LiveClock>, std::string>;

// The clock was put right. All in microseconds.
struct ClockCorrection {
  std::int64_t offset = 0;      // of the right time from the hardware clock
  std::int64_t correction = 0;  // what the clock that applications read lacked, or had too much
  std::uint64_t bound = 0;      // how far off both may be
  std::int64_t round_trip = 0;  // Cristian's client only
  NodeId source = {};           // Berkeley: the master
  std::uint64_t round = 0;
  bool first = false;  // it had not been set before: it was set at once
};
struct ClockReading {
  std::int64_t time = 0;
  std::uint64_t bound = 0;
};

struct ClockEvents {
  std::function<void(const ClockCorrection&)> corrected;
  std::function<void(const ClockReading&)> reading;
  std::function<void()> no_answer;  // Cristian's client: a whole period's requests were in vain
};

struct TimeServerOptions {
  live::Address listen = {};
  live::HardwareClock::Fault fault = {};
};
// Answers whoever asks with what this machine's clock shows.
OpenedClock serve_time(boost::asio::io_context& loop, const TimeServerOptions& options);

struct TimeClientOptions {
  live::Address server = {};
  Microseconds period = std::chrono::seconds(10);
  Microseconds timeout = std::chrono::milliseconds(500);
  std::uint32_t samples = 4;  // of which the quickest is taken
  std::int64_t drift_ppb = 100'000;
  live::HardwareClock::Fault fault = {};
};
OpenedClock follow_time(boost::asio::io_context& loop, const TimeClientOptions& options, ClockEvents events);

struct BerkeleyOptions {
  NodeId self = {};
  std::vector<live::Peer> members = {};
  std::string key = {};
  Microseconds period = std::chrono::seconds(10);
  Microseconds longest_round_trip = std::chrono::milliseconds(50);
  Microseconds gamma = std::chrono::milliseconds(25);
  std::int64_t drift_ppb = 100'000;
  bool comes_back = false;
  live::HardwareClock::Fault fault = {};
};
OpenedClock agree_on_time(boost::asio::io_context& loop, const BerkeleyOptions& options, ClockEvents events);

// A timer of the live world waits no longer than this, with room for what the algorithms add to a period.
inline constexpr Microseconds longest_period = std::chrono::minutes(10);

}  // namespace conclave::catalogue
