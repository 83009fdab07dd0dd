// Berkeley clock synchronisation: the clocks agree among themselves, without a source of true time.
// Every period a master asks all clocks, corrects the answers by half the round trip, and averages those that
// lie close together. It sends each the difference to the mean, not the time: a difference does not grow old
// on the way. Clocks that are ahead run slower until they are right.
//
// Paper     R. Gusella, S. Zatti. The accuracy of the clock synchronization achieved by TEMPO in Berkeley
//           UNIX 4.3BSD. IEEE Trans. Software Engineering 15(7), 1989.
// Assumes   clocks that drift by less than a known rate. Messages may be lost, duplicated and overtaken;
//           machines may crash and come back.
// Costs     3(N-1) messages per round.
// Adds      clocks that were set before count for more than clocks that were not, so that a machine that
//           comes back does not draw a small network with it.
// Departs   the master is whoever has the greatest id when it begins; when it falls silent, the others wait
//           the longer the smaller their ids, and the first takes over. The paper holds an election.
// Variants  `all-count` averages every clock, however far out; `steps-back` sets a fast clock back.
#pragma once
#include <map>

#include "core/protocol.hpp"
#include "protocols/timesync/fault_tolerant_average.hpp"
#include "protocols/timesync/software_clock.hpp"

namespace conclave::timesync {

struct BerkeleySetup {
  std::optional<NodeId> master = {};  // at the beginning; else the greatest id
  Ticks period = {240'000'000};
  std::int64_t longest_round_trip = 10'000;  // a longer one says too little
  std::uint32_t attempts = 5;                // to get an answer, each round
  std::int64_t gamma = 25'000;               // clocks that differ by more do not count together
  std::int64_t least_delay = 0;              // of a message; 0 if unknown
  std::int64_t drift_ppb = 20'000;           // of every clock, at most
  std::int64_t slew = 30'000'000;            // ticks over which a correction is spread
  Correction correction = Correction::slew;
  bool operator==(const BerkeleySetup&) const = default;
};

// What the master found out about one clock: as of its own counter showing `at`, the other clock was
// `difference` beyond that counter.
struct PolledClock {
  std::int64_t difference = 0;
  std::uint64_t error = 0;
  std::int64_t at = 0;
  std::uint64_t seq = 0;
  bool known = false;
  bool operator==(const PolledClock&) const = default;
};

struct Berkeley {
  struct Poll {
    std::uint64_t seq = 0;
    bool operator==(const Poll&) const = default;
  };
  struct Clock {
    std::uint64_t seq = 0;
    std::int64_t time = 0;
    bool known = false;  // it was set before
    bool operator==(const Clock&) const = default;
  };
  struct Adjust {
    std::uint64_t seq = 0;  // of the poll whose answer it corrects
    std::int64_t offset = 0;
    std::uint64_t bound = 0;
    std::uint64_t round = 0;
    bool operator==(const Adjust&) const = default;
  };

  using Spec = timesync::Spec;
  using Message = std::variant<Poll, Clock, Adjust>;
  enum class Timer { round, collect, silence, overdue };
  using Out = Effects<Berkeley>;
  using Setup = BerkeleySetup;
  static constexpr Assumptions assumes = {
      .links = Links::lossy, .crashes = Crashes::recover, .timing = Timing::synchronous};
  static constexpr bool never_rests = true;

  // What we told the master, and what our counter showed.
  struct Answer {
    NodeId master;
    std::uint64_t seq;
    std::int64_t time;
    std::int64_t at;
    bool known;
    bool operator==(const Answer&) const = default;
  };

  NodeId self = {};
  NodeSet peers = {};
  Setup setup = {};
  SoftwareClock clock = {};
  bool read_waits = false;  // the application asked before the clock was set
  // At the master.
  bool leading = false;
  std::uint64_t seq = 0;    // of the latest poll
  std::uint64_t round = 0;  // the first poll of this round
  std::int64_t polled_at = 0;
  std::uint32_t attempts_left = 0;
  NodeSet missing = {};  // who has not answered yet
  std::map<NodeId, PolledClock> polled = {};
  std::map<NodeId, Adjust> told = {};  // in the last round, in case it got lost
  // At the others.
  std::optional<Answer> answer = {};
  bool overdue = false;  // the correction has not come yet
  std::uint32_t reminders_left = 0;

  bool operator==(const Berkeley&) const = default;

  static Berkeley start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    if (self != setup.master.value_or(all.max())) return restart(self, all, setup, out);
    out.arm(Timer::round, {});
    return {.self = self, .peers = all.without(self), .setup = setup, .leading = true};
  }

  // Whoever comes back finds a master, or waits like everybody else.
  static Berkeley restart(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    const Berkeley node = {.self = self, .peers = all.without(self), .setup = setup};
    node.await_poll(out);
    return node;
  }

  void on_clock(Ticks reading) { clock.tick(reading); }

  void on_command(Out& out, const Read&) {
    if (clock.known) return out.announce(clock.reading(setup.drift_ppb));
    read_waits = true;
  }

  void on_timer(Out& out, Timer timer) {
    switch (timer) {
      case Timer::round: return begin_round(out);
      case Timer::collect: return attempts_left > 0 && !missing.empty() ? poll(out) : conclude(out);
      case Timer::overdue: return remind(out);
      case Timer::silence:
        out.note("no poll for more than a period: the master is gone");
        leading = true;
        return begin_round(out);
    }
  }

  // The master's side.

  void begin_round(Out& out) {
    out.arm(Timer::round, {setup.period, setup.period});
    missing = peers;
    polled.clear();
    told.clear();
    attempts_left = setup.attempts;
    round = next_seq();
    if (missing.empty()) return conclude(out);
    poll(out);
  }

  // Numbers follow the counter, so that a machine that comes back does not use one twice.
  std::uint64_t next_seq() const { return std::max(seq + 1, static_cast<std::uint64_t>(clock.hardware)); }

  void poll(Out& out) {
    --attempts_left;
    seq = next_seq();
    polled_at = clock.hardware;
    out.broadcast(missing, Poll{seq});
    const Ticks longest = {static_cast<std::uint64_t>(setup.longest_round_trip)};
    out.arm(Timer::collect, {longest, longest});
  }

  void on_message(Out& out, NodeId from, const Clock& theirs) {
    if (!leading) return out.note("answer to a master who no longer is");
    if (!missing.contains(from) || theirs.seq != seq) return repeat(out, from, theirs);
    const std::int64_t round_trip = clock.hardware - polled_at;
    if (round_trip > setup.longest_round_trip) return out.note("round trip too long to learn from");
    // Our counter is the ruler, and not our clock, which may be in the middle of a correction.
    const Estimate estimate = half_round_trip(round_trip, least_delay_of(round_trip), setup.drift_ppb);
    polled[from] = {.difference = theirs.time + estimate.ahead - clock.hardware,
                    .error = estimate.error,
                    .at = clock.hardware,
                    .seq = seq,
                    .known = theirs.known};
    missing.erase(from);
    if (missing.empty()) conclude(out);
  }

  // A least delay that this round trip disproves is not known after all.
  std::int64_t least_delay_of(std::int64_t round_trip) const {
    return round_trip + 1 < 2 * setup.least_delay ? 0 : setup.least_delay;
  }

  // Whoever answers again missed the correction.
  void repeat(Out& out, NodeId from, const Clock& theirs) {
    const auto found = told.find(from);
    if (found == told.end() || found->second.seq != theirs.seq) return out.note("answer to an earlier poll");
    out.send(from, found->second);
  }

  void conclude(Out& out) {
    out.disarm(Timer::collect);
    missing.clear();
    const std::int64_t ours = clock.known ? clock.read() : clock.hardware;
    std::vector<MeasuredClock> clocks = {
        {.node = self, .difference = ours - clock.hardware, .known = clock.known, .own = true}};
    for (const auto& [node, theirs] : polled)
      clocks.push_back({.node = node, .difference = theirs.difference, .known = theirs.known});
    const std::int64_t mean = fault_tolerant_average(clocks, setup.gamma).mean;
    for (const auto& [node, theirs] : polled) {
      const Adjust adjust = {
          .seq = theirs.seq,
          .offset = mean - theirs.difference,
          .bound = theirs.error + drift_over(clock.hardware - theirs.at, setup.drift_ppb) + 1,
          .round = round};
      told.insert_or_assign(node, adjust);
      out.send(node, adjust);
    }
    correct(out, clock.hardware, clock.hardware + mean, 1, self, round);
  }

  // The others' side.

  void on_message(Out& out, NodeId from, const Poll& theirs) {
    if (leading && from < self) return out.note("two masters: the one with the greater id stays");
    if (answer && answer->master == from && theirs.seq <= answer->seq) return out.note("poll of the past");
    if (leading) {
      leading = false;
      missing.clear();
      out.disarm(Timer::round);
      out.disarm(Timer::collect);
    }
    answer =
        Answer{from, theirs.seq, clock.known ? clock.read() : clock.hardware, clock.hardware, clock.known};
    reminders_left = setup.attempts;
    await_poll(out);
    send_answer(out);
  }

  void on_message(Out& out, NodeId from, const Adjust& theirs) {
    if (!answer || !overdue || answer->master != from || answer->seq != theirs.seq)
      return out.note("correction of another answer");
    overdue = false;
    out.disarm(Timer::overdue);
    correct(out, answer->at, answer->time + theirs.offset, theirs.bound, from, theirs.round);
  }

  void send_answer(Out& out) {
    overdue = true;
    out.send(answer->master, Clock{answer->seq, answer->time, answer->known});
    const Ticks soon = {static_cast<std::uint64_t>(setup.longest_round_trip) * (setup.attempts + 1)};
    out.arm(Timer::overdue, {soon, soon});
  }

  void remind(Out& out) {
    if (!overdue || reminders_left == 0) return out.note("the correction is not coming any more");
    --reminders_left;
    send_answer(out);
  }

  // A little more than a period, and longer by one whole round for every greater id: the greatest one that
  // is up takes over, and its poll reaches the others before they would.
  void await_poll(Out& out) const {
    std::uint64_t greater = 0;
    for (NodeId peer : peers) greater += peer > self ? 1 : 0;
    const std::uint64_t one_round =
        static_cast<std::uint64_t>(setup.longest_round_trip) * (2 * std::uint64_t{setup.attempts} + 2);
    const Ticks wait = {setup.period.count + setup.period.count / 8 + greater * one_round};
    out.arm(Timer::silence, {wait, wait});
  }

  // When our counter showed `at` the mean of all clocks was `time`, give or take `error`.
  void correct(Out& out, std::int64_t at, std::int64_t time, std::uint64_t error, NodeId master,
               std::uint64_t of_round) {
    Adjusted adjusted = clock.adjust(at, time, error, setup.slew, setup.correction);
    adjusted.source = master;
    adjusted.round = of_round;
    out.announce(adjusted);
    if (read_waits) out.announce(clock.reading(setup.drift_ppb));
    read_waits = false;
  }
};
static_assert(Protocol<Berkeley> && ReadsClock<Berkeley> && Restarts<Berkeley>);

}  // namespace conclave::timesync
