// Paxos: one decision among processes that may crash and come back, over links that may lose anything.
// Everybody may propose, votes, and learns. A proposer asks a majority to promise its ballot; it then
// proposes the value of the highest ballot that the promises report a vote for, and its own only if they
// report none. A value that a majority has voted for in one ballot is chosen, and every later ballot can only
// propose the same.
//
// Paper     L. Lamport. The part-time parliament. TOCS 16(2), 1998; Paxos made simple. SIGACT News
//           32(4), 2001.
// Assumes   nothing of the links; promises and votes survive crashes. Safety needs no more. Termination
//           needs a majority that is up, messages that arrive, and one proposer left alone for long enough.
// Costs     one proposer, nothing lost: 2(N-1) messages to prepare, 2(N-1) to vote, N-1 to tell; the
//           proposer knows the decision after 4 message delays, the others after 5.
// Adds      refusals, so that a proposer learns of the ballots above its own; random waits, growing with
//           every attempt, so that two proposers do not overtake each other for ever; whoever is left
//           without the decision asks for it.
//
//   lastTried                     attempt->ballot
//   nextBal                       promised
//   prevVote                      vote
//   outcome                       decided
#pragma once
#include <algorithm>
#include <map>

#include "core/protocol.hpp"
#include "protocols/consensus/spec.hpp"

namespace conclave::consensus {

struct Paxos {
  struct Ballot {  // the id makes every ballot one process's own
    std::uint64_t round = 0;
    NodeId node = {};
    auto operator<=>(const Ballot&) const = default;
  };
  struct Vote {
    Ballot ballot;
    Value value;
    bool operator==(const Vote&) const = default;
  };

  struct Prepare {
    Ballot ballot = {};
    bool operator==(const Prepare&) const = default;
  };
  struct Promise {
    Ballot ballot;
    std::optional<Vote> vote;  // the last one given before
    bool operator==(const Promise&) const = default;
  };
  struct Accept {
    Ballot ballot = {};
    Value value = 0;
    bool operator==(const Accept&) const = default;
  };
  struct Accepted {
    Ballot ballot = {};
    bool operator==(const Accepted&) const = default;
  };
  struct Refuse {
    Ballot promised = {};
    bool operator==(const Refuse&) const = default;
  };
  struct Learn {
    Value value = 0;
    bool operator==(const Learn&) const = default;
  };
  struct Ask {
    bool operator==(const Ask&) const = default;
  };

  struct Attempt {
    Ballot ballot;
    NodeSet promised_by;
    std::optional<Vote> highest;    // vote reported
    std::optional<Value> proposed;  // set when a majority has promised
    NodeSet accepted_by;
    bool operator==(const Attempt&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Prepare, Promise, Accept, Accepted, Refuse, Learn, Ask>;
  enum class Timer { retry, ask };
  using Out = Effects<Paxos>;
  enum class Deviation { none, duel, amnesia };
  struct Setup {
    std::map<NodeId, Value> values = {};  // what each proposes; its own id if it is not here
    std::uint64_t patience_ticks = 100;   // longer than an attempt takes
    Deviation deviation = Deviation::none;
  };
  struct Durable {
    Ballot promised = {};
    std::optional<Vote> vote;
    std::optional<Value> decided;
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};
  static constexpr bool never_rests = true;  // somebody asks, until everybody has decided

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t patience_ticks = 0;
  Deviation deviation = Deviation::none;
  // As acceptor.
  Ballot promised = {};
  std::optional<Vote> vote = {};
  // As proposer.
  std::optional<Value> proposal = {};
  std::optional<Attempt> attempt = {};  // until it is overtaken
  std::uint32_t attempts = 0;
  // As learner.
  std::optional<Value> decided = {};

  bool operator==(const Paxos&) const = default;
  bool is_majority(const NodeSet& nodes) const { return 2 * nodes.size() > peers.size() + 1; }

  static Spec::Client client(NodeId self, const Setup& setup) {
    const auto value = setup.values.find(self);
    return {.value = value == setup.values.end() ? static_cast<Value>(self.value) : value->second};
  }

  static Paxos start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    Paxos node = {.self = self,
                  .peers = all.without(self),
                  .patience_ticks = setup.patience_ticks,
                  .deviation = setup.deviation};
    node.wait_for_news(out);
    return node;
  }

  static Paxos recover(NodeId self, const NodeSet& all, const Setup& setup, const Durable& durable,
                       Out& out) {
    Paxos node = start(self, all, setup, out);
    node.promised = durable.promised;
    node.vote = durable.vote;
    if (durable.decided) node.decide(out, *durable.decided);
    return node;
  }

  // Proposing.

  void on_command(Out& out, const Propose& theirs) {
    proposal = theirs.value;
    if (!decided) prepare(out);
  }

  void prepare(Out& out) {
    promised = {promised.round + 1, self};
    save(out);
    attempt = Attempt{promised, {self}, vote, std::nullopt, {}};
    ++attempts;
    wait_for_turn(out);
    out.broadcast(peers, Prepare{promised});
    if (is_majority(attempt->promised_by)) propose(out);
  }

  // Twice as long at most with every attempt: sooner or later somebody has the time to finish.
  void wait_for_turn(Out& out) {
    constexpr std::uint32_t most_doublings = 10;
    out.arm(Timer::retry, {{patience_ticks}, {patience_ticks << std::min(attempts, most_doublings)}});
  }

  void on_message(Out& out, NodeId from, const Promise& theirs) {
    if (!attempt || theirs.ballot != attempt->ballot) return out.note("promise for an earlier attempt");
    if (attempt->proposed) return out.note("promise after a majority has promised");
    attempt->promised_by.insert(from);
    if (theirs.vote && (!attempt->highest || attempt->highest->ballot < theirs.vote->ballot))
      attempt->highest = theirs.vote;
    if (is_majority(attempt->promised_by)) propose(out);
  }

  void propose(Out& out) {
    ensure(promised == attempt->ballot, "an attempt ends when its proposer promises another ballot");
    attempt->proposed = attempt->highest ? attempt->highest->value : *proposal;
    vote = Vote{promised, *attempt->proposed};
    save(out);
    attempt->accepted_by = {self};
    out.broadcast(peers, Accept{promised, *attempt->proposed});
    if (is_majority(attempt->accepted_by)) choose(out);
  }

  void on_message(Out& out, NodeId from, const Accepted& theirs) {
    if (!attempt || theirs.ballot != attempt->ballot) return out.note("vote in an earlier attempt");
    attempt->accepted_by.insert(from);
    if (is_majority(attempt->accepted_by)) choose(out);
  }

  void choose(Out& out) {
    const Value value = *attempt->proposed;
    decide(out, value);
    out.broadcast(peers, Learn{value});
  }

  void on_message(Out& out, NodeId, const Refuse& theirs) {
    if (theirs.promised <= promised) return out.note("refusal of an earlier attempt");
    promise(out, theirs.promised);
  }

  // Voting.

  // Whoever has promised more than its own ballot proposes nothing in that any more.
  void promise(Out& out, Ballot ballot) {
    promised = ballot;
    save(out);
    if (!attempt) return;
    attempt.reset();
    if (deviation == Deviation::duel) return prepare(out);
    wait_for_turn(out);
  }

  void on_message(Out& out, NodeId from, const Prepare& theirs) {
    if (decided) return out.send(from, Learn{*decided});
    if (theirs.ballot < promised) return out.send(from, Refuse{promised});
    out.send(from, Promise{theirs.ballot, vote});
    if (theirs.ballot > promised) promise(out, theirs.ballot);
  }

  void on_message(Out& out, NodeId from, const Accept& theirs) {
    if (decided) return out.send(from, Learn{*decided});
    if (theirs.ballot < promised) return out.send(from, Refuse{promised});
    out.send(from, Accepted{theirs.ballot});
    vote = Vote{theirs.ballot, theirs.value};
    if (theirs.ballot > promised) return promise(out, theirs.ballot);
    save(out);
  }

  // Learning.

  void on_message(Out& out, NodeId, const Learn& theirs) { decide(out, theirs.value); }

  void on_message(Out& out, NodeId from, const Ask&) {
    if (decided) out.send(from, Learn{*decided});
  }

  void wait_for_news(Out& out) { out.arm(Timer::ask, {{5 * patience_ticks}, {10 * patience_ticks}}); }

  void decide(Out& out, Value value) {
    if (decided) return ensure(*decided == value, "there is one decision");
    decided = value;
    attempt.reset();
    save(out);
    out.disarm(Timer::retry);
    out.disarm(Timer::ask);
    out.announce(Decided{value});
  }

  void on_timer(Out& out, Timer timer) {
    if (decided) return;
    if (timer == Timer::retry) return prepare(out);
    out.broadcast(peers, Ask{});
    wait_for_news(out);
  }

  // A promise and a vote are kept even if we crash: they are on disk before anybody hears of them.
  void save(Out& out) const {
    if (deviation != Deviation::amnesia) out.persist({promised, vote, decided});
  }
};
static_assert(Protocol<Paxos>);
static_assert(Recovers<Paxos>);

}  // namespace conclave::consensus
