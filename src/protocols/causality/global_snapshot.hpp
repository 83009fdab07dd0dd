// Global snapshot by markers.
// Whoever wants a snapshot writes down its own state and sends a marker on every outgoing channel. Whoever
// gets the first marker of a snapshot does the same. What arrives on a channel after that and before the
// channel's marker was under way when the snapshot was taken: it is the channel's state.
//
// Paper     K. M. Chandy, L. Lamport. Distributed Snapshots. TOCS 3(1), 1985.
// Assumes   reliable FIFO links, no failures. A marker that overtakes a payment loses the payment.
// Costs     one marker per channel, N(N-1) among processes that can all talk to each other.
// Departs   several snapshots may run at once; each marker says to which it belongs.
#pragma once
#include <map>

#include "core/protocol.hpp"
#include "protocols/causality/spec.hpp"

namespace conclave::causality {

struct GlobalSnapshot {
  struct Payment {
    std::uint64_t amount = 0;
    bool operator==(const Payment&) const = default;
  };
  struct Marker {
    SnapshotId snapshot = {};
    bool operator==(const Marker&) const = default;
  };

  using Spec = causality::Spec;
  using Message = std::variant<Payment, Marker>;
  using Timer = NoTimer;
  using Out = Effects<GlobalSnapshot>;
  struct Setup {
    NodeSet members = {};
    std::uint64_t balance = 100;       // of each at the start
    std::uint32_t snapshot_every = 4;  // payments of the recorder, which is the member with the least id
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_fifo};

  struct Recording {
    NodeSet unmarked = {};  // channels whose marker has not come
    std::uint64_t in_transit = 0;
    bool operator==(const Recording&) const = default;
  };

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t balance = 0;
  std::uint32_t begun = 0;  // snapshots of our own
  std::map<SnapshotId, Recording> recordings = {};

  bool operator==(const GlobalSnapshot&) const = default;

  static GlobalSnapshot start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    return {.self = self, .peers = all.without(self), .balance = setup.balance};
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    const bool records = !setup.members.empty() && self == setup.members.min();
    return {.self = self,
            .peers = setup.members.without(self),
            .record_every = records ? setup.snapshot_every : 0};
  }

  void on_command(Out& out, const Pay& payment) {
    ensure(peers.contains(payment.to), "money goes to other members");
    const std::uint64_t amount = std::min(balance, payment.amount);
    if (amount == 0) return out.note("there is nothing left to pay with");
    balance -= amount;
    out.send(payment.to, Payment{amount});
  }

  void on_command(Out& out, const Record&) { record(out, {self, ++begun}); }

  void on_message(Out& out, NodeId from, const Payment& payment) {
    balance += payment.amount;
    for (auto& [snapshot, recording] : recordings) {
      if (recording.unmarked.contains(from)) recording.in_transit += payment.amount;
    }
    if (recordings.empty()) return;
    out.note("counted for the snapshots under way");
  }

  void on_message(Out& out, NodeId from, const Marker& marker) {
    if (!recordings.contains(marker.snapshot)) record(out, marker.snapshot);
    const auto found = recordings.find(marker.snapshot);
    Recording& recording = found->second;
    ensure(recording.unmarked.contains(from), "every channel carries one marker of a snapshot");
    recording.unmarked.erase(from);
    if (!recording.unmarked.empty()) return;
    out.announce(Completed{marker.snapshot, recording.in_transit});
    recordings.erase(found);
  }

  void record(Out& out, const SnapshotId& snapshot) {
    out.announce(Recorded{snapshot, balance});
    if (peers.empty()) return out.announce(Completed{snapshot, 0});
    recordings[snapshot] = {.unmarked = peers};
    out.broadcast(peers, Marker{snapshot});
  }
};
static_assert(Protocol<GlobalSnapshot>);

}  // namespace conclave::causality
