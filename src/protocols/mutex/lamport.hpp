// Lamport's mutual exclusion.
// Everybody keeps the queue of all requests, in the order of their stamps. A process enters when its own
// request is first and everybody has acknowledged it: over FIFO links an acknowledgement means that no
// earlier request of that peer can still be under way.
//
// Paper     L. Lamport. Time, Clocks, and the Ordering of Events in a Distributed System. CACM 21(7), 1978.
// Assumes   reliable FIFO links, no failures. FIFO is essential: an acknowledgement that overtakes a
//           request lets two processes in.
// Costs     3(N-1) messages per entry; 2 hops to enter, 1 from exit to next entry.
// Departs   only acknowledgements count as such; the paper accepts any later message of the peer.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct Lamport {
  struct Request {
    std::uint64_t counter = 0;
    bool operator==(const Request&) const = default;
  };
  struct Ack {
    std::uint64_t counter = 0;
    bool operator==(const Ack&) const = default;
  };
  struct Release {
    std::uint64_t counter = 0;
    bool operator==(const Release&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Ack, Release>;
  using Timer = NoTimer;
  using Out = Effects<Lamport>;
  using AppStamp = std::uint64_t;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {.links = Links::reliable_fifo};

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t greatest_id = 0;
  std::uint64_t clock = 0;
  std::optional<Stamp> request = {};  // set from asking until leaving
  std::vector<Stamp> queue = {};      // everybody's requests, in stamp order
  NodeSet unacknowledged = {};
  bool inside = false;

  bool operator==(const Lamport&) const = default;
  NodeSet waits_for() const {
    NodeSet silent = unacknowledged;
    for (const Stamp& earlier : queue) {
      if (request && earlier < *request) silent.insert(earlier.node);
    }
    return silent;
  }

  static Lamport start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self), .greatest_id = all.max().value};
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!request, "a node asks for one entry at a time");
    request = Stamp{++clock, self};
    unacknowledged = peers;
    enqueue(*request);
    out.broadcast(peers, Request{clock});
    enter_if_first(out);
  }

  void on_command(Out& out, const mutex::Release&) {
    ensure(inside, "only the holder releases");
    inside = false;
    request.reset();
    dequeue(self);
    out.broadcast(peers, Release{++clock});
  }

  // Acknowledged at once, even from inside: the acknowledgement says "seen", not "go ahead".
  void on_message(Out& out, NodeId from, const Request& theirs) {
    witness(theirs.counter);
    enqueue({theirs.counter, from});
    out.send(from, Ack{clock});
  }

  void on_message(Out& out, NodeId from, const Ack& theirs) {
    witness(theirs.counter);
    if (!request || theirs.counter <= request->counter)
      return out.note("acknowledgement of an older request");
    unacknowledged.erase(from);
    enter_if_first(out);
  }

  void on_message(Out& out, NodeId from, const Release& theirs) {
    witness(theirs.counter);
    dequeue(from);
    enter_if_first(out);
  }

  AppStamp on_tell() { return ++clock; }
  void on_hear(const AppStamp& stamp) { witness(stamp); }

  void witness(std::uint64_t counter) { clock = std::max(clock, counter) + 1; }

  void enqueue(Stamp stamp) { queue.insert(std::ranges::lower_bound(queue, stamp), stamp); }

  void dequeue(NodeId node) {
    const auto found = std::ranges::find(queue, node, &Stamp::node);
    ensure(found != queue.end(), "who leaves has asked before");
    queue.erase(found);
  }

  void enter_if_first(Out& out) {
    if (inside || !request || !unacknowledged.empty() || queue.front() != *request) return;
    inside = true;
    out.announce(Granted{fence_of(*request, greatest_id)});
  }
};
static_assert(Protocol<Lamport>);
static_assert(StampsApplication<Lamport>);

}  // namespace conclave::mutex
