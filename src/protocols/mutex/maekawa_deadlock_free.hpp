// Maekawa's quorum voting without deadlock.
// Requests carry stamps. A voter that has lent its vote and then hears of an earlier request inquires: a
// candidate that is not inside yet yields the vote, which goes to the earlier one. So the earliest request
// always gets all its votes.
//
// Paper     M. Maekawa, TOCS 3(2), 1985, repaired as by B. A. Sanders, TOCS 5(3), 1987.
// Assumes   reliable FIFO links, no failures.
// Costs     3(K-1) messages per entry plus 3 (inquire, yield, grant) per vote called back; 2 hops to enter,
//           2 from exit to next entry.
// Departs   a candidate yields whenever it is asked and not inside; the paper's FAILED message, which saves
//           some yields and costs more messages in all, is left out.
// Violates  EM3: a later request may collect its votes before an earlier one arrives anywhere.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"
#include "protocols/mutex/voting_sets.hpp"

namespace conclave::mutex {

struct MaekawaDeadlockFree {
  struct Request {
    std::uint64_t counter = 0;
    bool operator==(const Request&) const = default;
  };
  struct Grant {  // a vote for the request with that counter
    std::uint64_t counter = 0;
    std::uint64_t clock = 0;
    Fence highest = {};
    bool operator==(const Grant&) const = default;
  };
  struct Inquire {  // may the vote for that request be called back?
    std::uint64_t counter = 0;
    bool operator==(const Inquire&) const = default;
  };
  struct Yield {
    std::uint64_t counter = 0;
    bool operator==(const Yield&) const = default;
  };
  struct Release {
    std::uint64_t counter = 0;
    Fence fence = {};
    bool operator==(const Release&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Grant, Inquire, Yield, Release>;
  using Timer = NoTimer;
  using Out = Effects<MaekawaDeadlockFree>;
  struct Setup {
    VotingSets sets = {};  // computed if empty
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_fifo};

  NodeId self = {};
  NodeSet voters = {};  // whose votes we need
  std::uint64_t clock = 0;
  // As a candidate.
  std::optional<Stamp> request = {};  // set from asking until leaving
  NodeSet votes = {};
  Fence highest_of_votes = {};
  // As a voter.
  std::optional<Stamp> voted_for = {};
  std::vector<Stamp> queue = {};  // in stamp order
  bool inquired = false;
  Fence highest = {};

  bool operator==(const MaekawaDeadlockFree&) const = default;
  bool inside() const { return request && votes == voters; }
  NodeSet waits_for() const {
    NodeSet missing;
    for (NodeId voter : voters) {
      if (!votes.contains(voter)) missing.insert(voter);
    }
    return missing;
  }

  static MaekawaDeadlockFree start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    if (setup.sets.empty()) return {.self = self, .voters = VotingSystem(all).of(self)};
    ensure(setup.sets.contains(self), "every member has a voting set");
    return {.self = self, .voters = setup.sets.at(self)};
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!request, "a node asks for one entry at a time");
    request = Stamp{++clock, self};
    votes.clear();
    highest_of_votes = {};
    const Request asked = {clock};
    for (NodeId voter : voters) tell(out, voter, asked);
  }

  void on_command(Out& out, const mutex::Release&) {
    ensure(inside(), "only the holder releases");
    const Release done = {request->counter, highest_of_votes};
    request.reset();
    for (NodeId voter : voters) tell(out, voter, done);
  }

  // The voter.

  void on_message(Out& out, NodeId from, const Request& theirs) {
    if (from != self) clock = std::max(clock, theirs.counter) + 1;
    const Stamp stamp = {theirs.counter, from};
    const auto place = queue.insert(std::ranges::lower_bound(queue, stamp), stamp);
    if (!voted_for) return vote_for_first(out);
    const bool first_in_queue = place == queue.begin();
    if (stamp < *voted_for && first_in_queue && !inquired) {
      inquired = true;
      tell(out, voted_for->node, Inquire{voted_for->counter});
    }
  }

  void on_message(Out& out, NodeId from, const Yield& theirs) {
    const Stamp stamp = {theirs.counter, from};
    ensure(voted_for == stamp, "only the candidate with our vote yields it");
    queue.insert(std::ranges::lower_bound(queue, stamp), stamp);
    vote_for_first(out);
  }

  void on_message(Out& out, NodeId from, const Release& theirs) {
    ensure(voted_for == Stamp{theirs.counter, from}, "who leaves had our vote");
    highest = std::max(highest, theirs.fence);
    vote_for_first(out);
  }

  void vote_for_first(Out& out) {
    inquired = false;
    voted_for.reset();
    if (queue.empty()) return;
    voted_for = queue.front();
    queue.erase(queue.begin());
    tell(out, voted_for->node, Grant{voted_for->counter, clock, highest});
  }

  // The candidate.

  void on_message(Out& out, NodeId from, const Grant& theirs) {
    if (from != self) clock = std::max(clock, theirs.clock) + 1;
    ensure(request && request->counter == theirs.counter, "a vote goes to a request that still waits");
    votes.insert(from);
    highest_of_votes = std::max(highest_of_votes, theirs.highest);
    if (!inside()) return;
    ++highest_of_votes.value;
    out.announce(Granted{highest_of_votes});
  }

  void on_message(Out& out, NodeId from, const Inquire& theirs) {
    const bool about_us = request && request->counter == theirs.counter && votes.contains(from);
    if (!about_us) return out.note("inquiry about a vote we have given back");
    if (inside()) return out.note("inquiry too late: the release will answer it");
    votes.erase(from);
    tell(out, from, Yield{theirs.counter});
  }

  // What goes to ourselves is handled in the same step and is no network message.
  template <class M>
  void tell(Out& out, NodeId to, const M& message) {
    if (to == self) {
      on_message(out, self, message);
    } else {
      out.send(to, message);
    }
  }
};
static_assert(Protocol<MaekawaDeadlockFree>);

}  // namespace conclave::mutex
