// Cristian's clock synchronisation with a time server.
// Every period a client asks the server for the time. The answer is as old as it took to arrive, which the
// client can only guess: half the round trip. The guess is off by half the round trip less the least delay,
// so that quick round trips are worth waiting for: of several the quickest is taken, and those over a limit
// are not taken at all. The clock is put right by compensation and never set back.
//
// Paper     F. Cristian. Probabilistic clock synchronization. Distributed Computing 3, 1989.
// Assumes   clocks that drift by less than a known rate. Messages may be lost, duplicated and overtaken: a
//           request without an answer is repeated.
// Costs     2 messages per synchronisation; with a limit that a round trip exceeds with probability p,
//           2/(1-p) on average.
// Departs   drops a least delay that a quicker round trip disproves; a reading states a bound of its own,
//           which grows with the drift since the last synchronisation.
// Variants  `first-approximation` takes the answer as it is, `steps-back` sets a fast clock back.
//
//   T0, T1       asked_at, clock.hardware when the answer is handled
//   C_utc        TimeRep::time
//   2U           setup.longest_round_trip
//   rho, min     setup.drift_ppb, least_delay
#pragma once
#include "core/protocol.hpp"
#include "protocols/timesync/software_clock.hpp"

namespace conclave::timesync {

struct CristianSetup {
  Ticks period = {60'000'000};
  Ticks timeout = {10'000};             // an answer that takes longer is given up
  std::uint32_t samples = 1;            // of which the quickest is taken
  std::uint32_t attempts = 20;          // to get them, each period
  std::int64_t least_delay = 0;         // of a message; 0 if unknown
  std::int64_t longest_round_trip = 0;  // whose answer is taken; 0: any
  std::int64_t drift_ppb = 1'000;       // of the client's clock, at most
  std::int64_t slew = 10'000'000;       // ticks over which a correction is spread
  Correction correction = Correction::slew;
  bool first_approximation = false;  // deviation: forgets that the answer took time to arrive
  bool operator==(const CristianSetup&) const = default;
};

struct Cristian {
  struct TimeReq {
    std::uint64_t seq = 0;
    bool operator==(const TimeReq&) const = default;
  };
  struct TimeRep {
    std::uint64_t seq = 0;
    std::int64_t time = 0;
    bool operator==(const TimeRep&) const = default;
  };

  using Spec = timesync::Spec;
  using Message = std::variant<TimeReq, TimeRep>;
  enum class Timer { period, timeout };
  using Out = Effects<Cristian>;
  using Setup = CristianSetup;
  static constexpr Assumptions assumes = {.links = Links::lossy, .timing = Timing::synchronous};
  static constexpr bool has_server = true;
  static constexpr bool never_rests = true;

  // An answer: when the counter showed `at` the time was `time`.
  struct Sample {
    std::int64_t at;
    std::int64_t round_trip;
    std::int64_t time;
    bool operator==(const Sample&) const = default;
  };

  NodeId self = {};
  NodeId server = {};
  Setup setup = {};
  SoftwareClock clock = {};
  bool read_waits = false;  // the application asked before the clock was set
  std::int64_t least_delay = 0;
  std::uint64_t seq = 0;  // of the latest request
  bool asking = false;    // … which is not answered yet
  std::int64_t asked_at = 0;
  std::uint32_t attempts_left = 0;
  std::uint32_t samples_wanted = 0;
  std::optional<Sample> quickest = {};

  bool operator==(const Cristian&) const = default;

  static Cristian start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    const Cristian node = {
        .self = self, .server = all.min(), .setup = setup, .least_delay = setup.least_delay};
    // Not all in the same tick.
    if (self != node.server) out.arm(Timer::period, {{0}, setup.timeout});
    return node;
  }

  void on_clock(Ticks reading) { clock.tick(reading); }

  void on_command(Out& out, const Read&) {
    if (clock.known) return out.announce(clock.reading(setup.drift_ppb));
    read_waits = true;
  }

  // The server's clock shows the true time; it answers as fast as it can.
  void on_message(Out& out, NodeId from, const TimeReq& theirs) {
    out.send(from, TimeRep{theirs.seq, clock.hardware});
  }

  void on_message(Out& out, NodeId, const TimeRep& theirs) {
    if (!asking || theirs.seq != seq) return out.note("answer to a request that was given up");
    asking = false;
    out.disarm(Timer::timeout);
    const std::int64_t round_trip = clock.hardware - asked_at;
    if (setup.longest_round_trip > 0 && round_trip > setup.longest_round_trip) {
      out.note("round trip too long to learn from");
      return go_on(out);
    }
    if (round_trip + 1 < 2 * least_delay) {
      least_delay = 0;
      out.note("quicker than the least delay allows: it is not known after all");
    }
    if (!quickest || round_trip < quickest->round_trip)
      quickest = Sample{clock.hardware, round_trip, theirs.time};
    --samples_wanted;
    go_on(out);
  }

  void on_timer(Out& out, Timer timer) {
    if (timer == Timer::period) {
      out.arm(Timer::period, {setup.period, setup.period});
      if (asking) return out.note("the last synchronisation is still under way");
      attempts_left = setup.attempts;
      samples_wanted = setup.samples;
      quickest.reset();
    } else {
      asking = false;
    }
    go_on(out);
  }

  // Asks again until there are samples enough, or no more attempts.
  void go_on(Out& out) {
    if (samples_wanted > 0 && attempts_left > 0) return ask(out);
    if (!quickest) return out.note("no answer to learn from: the clock runs on as it is");
    synchronise(out, *quickest);
  }

  void ask(Out& out) {
    --attempts_left;
    asking = true;
    asked_at = clock.hardware;
    out.send(server, TimeReq{++seq});
    out.arm(Timer::timeout, {setup.timeout, setup.timeout});
  }

  void synchronise(Out& out, const Sample& sample) {
    const Estimate estimate = half_round_trip(sample.round_trip, least_delay, setup.drift_ppb);
    const std::int64_t time = setup.first_approximation ? sample.time : sample.time + estimate.ahead;
    Adjusted adjusted = clock.adjust(sample.at, time, estimate.error, setup.slew, setup.correction);
    adjusted.source = server;
    adjusted.round = seq;
    out.announce(adjusted);
    if (read_waits) out.announce(clock.reading(setup.drift_ppb));
    read_waits = false;
  }
};
static_assert(Protocol<Cristian> && ReadsClock<Cristian>);

}  // namespace conclave::timesync
