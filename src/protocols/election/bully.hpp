// Bully election.
// Who misses the coordinator calls every process of greater id. Whoever is called answers and calls in its
// turn. A caller that hears no answer is the greatest alive: it announces itself to all smaller ones. A
// caller that is answered waits for that announcement, and calls again if it does not come.
//
// Paper     H. Garcia-Molina. Elections in a Distributed Computing System. IEEE Trans. Computers C-31(1),
//           1982.
// Assumes   synchronous, with the bounds T_t and T_p; reliable links; processes stop by crashing; all ids are
//           known to all.
// Costs     with p live processes from the caller upwards and the greatest of n dead: p(p+1)/2 calls,
//           p(p-1)/2 answers, n-2 announcements, p^2+n-2 in all; at worst n^2-n-1 (the smallest calls), at
//           best n-1 (the greatest live one does), n-2 if it knows that the one above is dead.
// Departs   processes that start together leave it to their clients to begin; one that comes back after a
//           crash begins by itself. For T after an announcement a call is answered and starts nothing: a call
//           that crossed the announcement would start the next election, whose announcement would cross more
//           calls. With 80 processes, the greatest of them alive, one election then did not end within 60
//           million messages; with the pause it takes about n^2.
// Policies  sends_to_all: calls and announcements go to everybody, as one textbook has it; smaller processes
//           ignore the call. p(n-1) + p(p-1)/2 + n-1 messages.
//           delays_start: a process waits before it calls, the longer the smaller its id, and an announcement
//           cancels that; 2p+n-2 messages, for the greatest live one has usually called first.
// Violates  E1, if a crashed process is replaced by one of the same id while another election runs: both
//           announce, and who hears which last is chance. Also if the bounds do not hold. Stability: a
//           greater process that comes back deposes a working coordinator.
// Deviates  on demand, to show what goes wrong: `no-second-wait` waits for ever once it was answered (loses
//           E2); `always-start` calls each time it is called, although its election runs; `no-pause` starts
//           elections right after an announcement.
//
//   elected      elected
//   T, T'        bounds.answer_within(), outcome_wait()
#pragma once
#include <cstdint>
#include <optional>

#include "core/protocol.hpp"
#include "protocols/election/failure_detector.hpp"
#include "protocols/election/rank.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

struct Bully {
  struct Election {
    bool operator==(const Election&) const = default;
  };
  struct Answer {
    bool operator==(const Answer&) const = default;
  };
  struct Coordinator {
    bool operator==(const Coordinator&) const = default;
  };

  enum class Deviation : std::uint8_t { none, no_second_wait, always_start, no_pause };
  struct Policy {
    Bounds bounds = {};
    bool sends_to_all = false;
    bool delays_start = false;
    Deviation deviation = Deviation::none;
    bool operator==(const Policy&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<Election, Answer, Coordinator>;
  enum class Timer { start, answer, outcome, settled, status };  // the last is the polite form's
  struct Setup {
    Policy policy = {};
    std::optional<NodeId> coordinator = {};  // elected before the run
    NodeSet known_dead = {};                 // for good, as everybody knows
  };
  static constexpr Assumptions assumes = {
      .links = Links::reliable_fifo, .crashes = Crashes::stop, .timing = Timing::synchronous};

  enum class Phase : std::uint8_t {
    idle,
    delayed,    // about to call
    candidate,  // has called, nobody has answered yet
    waiting,    // was answered: somebody greater will announce itself
    settling,   // the election is over, and calls that belong to it may still arrive
  };

  NodeId self = {};
  Policy policy = {};
  NodeSet lower = {};
  NodeSet higher = {};
  Ticks start_delay = {};
  Ticks longest_delay = {};  // anybody's
  Phase phase = Phase::idle;
  std::optional<NodeId> elected = {};
  FailureDetector detector = {};
  std::uint32_t elections_behind = 0;  // begun by `always-start` while another ran

  bool operator==(const Bully&) const = default;

  static Bully start(NodeId self, const NodeSet& all, const Setup& setup, auto& out) {
    Bully node = awaken(self, all, setup);
    node.elected = setup.coordinator;
    if (node.elected) out.announce(Elected{*node.elected});
    return node;
  }

  // Nobody can tell whether we are greater than who leads now, so the rule is to find out.
  static Bully restart(NodeId self, const NodeSet& all, const Setup& setup, auto& out) {
    Bully node = awaken(self, all, setup);
    node.start_election(out);
    return node;
  }

  static Bully awaken(NodeId self, const NodeSet& all, const Setup& setup) {
    Bully node = {
        .self = self, .policy = setup.policy, .lower = below(all, self), .higher = above(all, self)};
    if (setup.policy.delays_start) {
      // Two T apart: who waits one step longer hears the announcement of who was first, and keeps still.
      const std::uint64_t step = 2 * setup.policy.bounds.answer_within().count;
      node.start_delay = {node.higher.size() * step};
      node.longest_delay = {(all.size() - 1) * step};
    }
    for (NodeId dead : setup.known_dead) node.higher.erase(dead);
    return node;
  }

  bool running() const { return phase != Phase::idle && phase != Phase::settling; }

  void on_command(auto& out, const Start&) { start_election(out); }

  void on_message(auto& out, NodeId from, const Election&) {
    if (from > self) return out.note("called by a greater process");  // sends_to_all
    out.send(from, Answer{});
    if (phase != Phase::settling) return start_election(out);
    // Whom we have told already may have lost its coordinator in the meantime, by a wish of its own.
    if (elected == self) out.send(from, Coordinator{});
  }

  void on_message(auto& out, NodeId from, const Answer&) {
    if (phase != Phase::candidate || !detector.heard(from)) return out.note("answer nobody waits for");
    detector.stop();
    elections_behind = 0;
    out.disarm(Timer::answer);
    phase = Phase::waiting;
    if (policy.deviation != Deviation::no_second_wait) out.arm(Timer::outcome, after(outcome_wait()));
  }

  void on_message(auto& out, NodeId from, const Coordinator&) {
    if (from < self) return start_election(out);  // sends_to_all: it did not hear us, or we were down
    stop_election(out);
    elected = from;
    out.announce(Elected{from});
    settle(out);
  }

  void on_timer(auto& out, Timer timer) {
    switch (timer) {
      case Timer::start: return call(out);
      case Timer::answer: return announce(out);
      case Timer::outcome:  // whoever answered us has died since
        phase = Phase::idle;
        return start_election(out);
      case Timer::settled:
        if (phase == Phase::settling) phase = Phase::idle;
        return;
      case Timer::status: return;
    }
  }

  // An answer may come from a process that still waits to call.
  Ticks outcome_wait() const { return policy.bounds.outcome_within() + longest_delay; }

  void start_election(auto& out) {
    if (running() && !starts_again()) return out.note("an election runs already");
    elected.reset();
    out.announce(Participating{});
    if (start_delay == Ticks{}) return call(out);
    phase = Phase::delayed;
    out.arm(Timer::start, after(start_delay));
  }

  bool starts_again() const { return policy.deviation == Deviation::always_start && phase != Phase::delayed; }

  void call(auto& out) {
    if (higher.empty()) return announce(out);  // nobody can be greater
    if (policy.sends_to_all) out.broadcast(lower, Election{});
    out.broadcast(higher, Election{});
    if (phase == Phase::candidate) {
      ++elections_behind;
      return;
    }
    wait_for_answers(out);
  }

  void wait_for_answers(auto& out) {
    phase = Phase::candidate;
    detector.expect(higher);
    out.arm(Timer::answer, after(policy.bounds.answer_within()));
  }

  // All above us are silent for longer than an answer takes: they are down, and we are the greatest alive.
  void announce(auto& out) {
    detector.stop();
    elected = self;
    out.announce(Elected{self});
    out.broadcast(lower, Coordinator{});
    if (policy.sends_to_all) out.broadcast(higher, Coordinator{});
    settle(out);
    if (elections_behind == 0) return;
    --elections_behind;
    wait_for_answers(out);
  }

  // Everybody hears of the end within T_t, and what was sent before that arrives within another.
  void settle(auto& out) {
    phase = policy.deviation == Deviation::no_pause ? Phase::idle : Phase::settling;
    if (phase == Phase::settling) out.arm(Timer::settled, after(policy.bounds.answer_within()));
  }

  void stop_election(auto& out) {
    if (!running()) return;
    detector.stop();
    elections_behind = 0;
    out.disarm(phase == Phase::delayed     ? Timer::start
               : phase == Phase::candidate ? Timer::answer
                                           : Timer::outcome);
    phase = Phase::idle;
  }
};
static_assert(Protocol<Bully>);
static_assert(Restarts<Bully>);

}  // namespace conclave::election
