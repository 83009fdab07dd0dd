// Bully election with polite recovery.
// A process that comes back does not run for election at once. It asks the smaller processes, from the
// greatest downwards, who coordinates, and takes that one for its coordinator although its own id may be
// greater. It runs only if nobody knows of one. In everything else it is the bully algorithm.
//
// Paper     answers the question whether the takeover in Garcia-Molina's algorithm (IEEE Trans. Computers
//           C-31(1), 1982) is needed: not for having one agreed coordinator, only for having the greatest.
// Assumes   as bully, and that crashed processes come back.
// Costs     2 messages to come back, if the first one asked is up and has a coordinator; bully then needs an
//           announcement to every smaller process and deposes whoever worked.
// Violates  E1 as bully does, where a process is replaced while an election runs; the coordinator need not be
//           the greatest live process, by intention.
#pragma once
#include "protocols/election/bully.hpp"

namespace conclave::election {

struct BullyPolite {
  struct StatusQuery {
    bool operator==(const StatusQuery&) const = default;
  };
  struct Status {
    std::optional<NodeId> coordinator = {};
    bool operator==(const Status&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<Bully::Election, Bully::Answer, Bully::Coordinator, StatusQuery, Status>;
  using Timer = Bully::Timer;
  using Setup = Bully::Setup;
  using Out = Effects<BullyPolite>;
  static constexpr Assumptions assumes = {
      .links = Links::reliable_fifo, .crashes = Crashes::recover, .timing = Timing::synchronous};

  Bully bully = {};
  NodeSet to_ask = {};            // until somebody answers
  FailureDetector detector = {};  // of the one that was asked

  bool operator==(const BullyPolite&) const = default;

  static BullyPolite start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    return {.bully = Bully::start(self, all, setup, out)};
  }

  static BullyPolite restart(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    BullyPolite node = {.bully = Bully::awaken(self, all, setup)};
    node.to_ask = node.bully.lower;
    out.announce(Participating{});
    node.ask_next(out);
    return node;
  }

  void on_command(Out& out, const Start& start) {
    stop_asking(out);
    bully.on_command(out, start);
  }

  void on_message(Out& out, NodeId from, const StatusQuery&) { out.send(from, Status{bully.elected}); }

  void on_message(Out& out, NodeId from, const Status& status) {
    if (!detector.heard(from)) return out.note("status nobody waits for");
    stop_asking(out);
    // Whoever names us speaks of our former life: it has not noticed yet that nobody coordinates.
    const bool nobody_leads = !status.coordinator || status.coordinator == bully.self;
    if (nobody_leads) return bully.start_election(out);
    bully.elected = status.coordinator;
    out.announce(Elected{*status.coordinator});
  }

  void on_message(Out& out, NodeId from, const Bully::Election& call) {
    stop_asking(out);
    bully.on_message(out, from, call);
  }
  void on_message(Out& out, NodeId from, const Bully::Answer& answer) { bully.on_message(out, from, answer); }
  void on_message(Out& out, NodeId from, const Bully::Coordinator& announcement) {
    stop_asking(out);
    bully.on_message(out, from, announcement);
  }

  void on_timer(Out& out, Timer timer) {
    if (timer != Timer::status) return bully.on_timer(out, timer);
    for (NodeId down : detector.stop()) to_ask.erase(down);
    ask_next(out);
  }

  void ask_next(Out& out) {
    if (to_ask.empty()) return bully.start_election(out);
    detector.expect({to_ask.max()});
    out.send(to_ask.max(), StatusQuery{});
    out.arm(Timer::status, after(bully.policy.bounds.answer_within()));
  }

  // An election, or its outcome, answers the question.
  void stop_asking(Out& out) {
    if (to_ask.empty()) return;
    to_ask.clear();
    detector.stop();
    out.disarm(Timer::status);
  }
};
static_assert(Protocol<BullyPolite>);
static_assert(Restarts<BullyPolite>);

}  // namespace conclave::election
