// Chang-Roberts election on a one-way ring.
// Who starts sends its id to its clockwise neighbour. A greater id passes, a smaller one is replaced by the
// receiver's own, or swallowed if the receiver takes part already. An id that comes home is the greatest: its
// owner has won, and says so round the ring.
//
// Paper     E. Chang, R. Roberts. An improved algorithm for decentralized extrema-finding in circular
//           configurations of processes. CACM 22(5), 1979. With the participant flag and the announcement of
//           the textbook (Coulouris et al.).
// Assumes   reliable FIFO links to the clockwise neighbour, no crashes; nobody needs to know N.
// Costs     one starter, d places before the greatest: d + N Election, N Elected; at most 3N-1 in all. All
//           start: 2N-1 to N(N+1)/2 Election, N*H_N on average, and N Elected.
// Variant   without the flag a receiver always replaces a smaller id. The winner is the same, but each of k
//           initiations is carried to its end: the distances of the starters to the greatest, and kN Election
//           and kN Elected. A successor that is down is skipped for the next that works.
//
//   participant_i   participant
//   elected_i       elected
#pragma once
#include <memory>

#include "core/protocol.hpp"
#include "protocols/election/ring.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

struct ChangRoberts {
  struct Election {
    NodeId id = {};
    bool operator==(const Election&) const = default;
  };
  struct Elected {
    NodeId id = {};
    bool operator==(const Elected&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<Election, Elected>;
  using Timer = NoTimer;
  using Out = Effects<ChangRoberts>;
  struct Setup {
    std::shared_ptr<const Ring> ring = {};   // ascending ids if there is none
    std::optional<NodeId> coordinator = {};  // elected before the run
    bool no_participant_flag = false;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_fifo};

  NodeId self = {};
  NodeId successor = {};
  bool flagged = true;  // a participant swallows smaller ids
  bool participant = false;
  std::optional<NodeId> elected = {};
  std::vector<NodeId> beyond = {};  // without the flag: who follows the successor, up to ourselves

  bool operator==(const ChangRoberts&) const = default;

  static ChangRoberts start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    ChangRoberts node = {.self = self, .flagged = !setup.no_participant_flag, .elected = setup.coordinator};
    const auto after = [&](NodeId place) { return setup.ring ? setup.ring->after(place) : all.after(place); };
    node.successor = after(self);
    if (!node.flagged) {
      for (NodeId next = node.successor; next != self;) node.beyond.push_back(next = after(next));
    }
    if (setup.coordinator) out.announce(election::Elected{*setup.coordinator});
    return node;
  }

  void on_command(Out& out, const Start&) {
    if (participant && flagged) return out.note("takes part already");
    take_part(out);
    pass_on(out, Election{self});
  }

  void on_message(Out& out, NodeId, const Election& theirs) {
    if (theirs.id == self) return win(out);
    if (theirs.id < self && participant && flagged) return out.note("smaller id swallowed");
    take_part(out);
    pass_on(out, Election{std::max(theirs.id, self)});
  }

  void on_message(Out& out, NodeId, const Elected& theirs) {
    conclude(out, theirs.id);
    if (theirs.id != self) pass_on(out, theirs);
  }

  // "Or the next that works."
  void on_bounce(Out& out, NodeId to, const Message& message) {
    if (flagged) return out.note("the ring is broken");
    if (to == successor) {
      successor = beyond.front();
      beyond.erase(beyond.begin());
    }
    std::visit([&](const auto& which) { pass_on(out, which); }, message);
  }

  void take_part(Out& out) {
    if (participant) return;
    participant = true;
    elected.reset();
    out.announce(Participating{});
  }

  void win(Out& out) {
    conclude(out, self);
    pass_on(out, Elected{self});
  }

  void conclude(Out& out, NodeId leader) {
    participant = false;
    if (elected == leader) return;
    elected = leader;
    out.announce(election::Elected{leader});
  }

  // Who is alone is its own neighbour.
  template <class M>
  void pass_on(Out& out, const M& message) {
    if (successor == self) return on_message(out, self, message);
    out.send(successor, message);
  }
};
static_assert(Protocol<ChangRoberts>);

}  // namespace conclave::election
