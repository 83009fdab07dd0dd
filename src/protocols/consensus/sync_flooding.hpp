// Consensus by flooding in synchronous rounds, without failures.
// In the first round everybody sends its value to its neighbours; in each later one it sends them what it
// learned in the round before. Who knows every value and learned nothing in a round decides on the most
// voted value, or in a tie on a default that all share.
//
// Paper     N. A. Lynch. Distributed Algorithms. Morgan Kaufmann, 1996, chapters 4 and 6.
// Assumes   rounds, reliable links, a connected graph, no failures.
// Costs     node i knows everything after ecc(i) rounds, its eccentricity, and stops in round ecc(i)+1. On
//           a complete graph, where nothing need be passed on, N(N-1) messages and two rounds.
// Departs   everybody stops by itself when it knows all values, where the book runs for as many rounds as
//           the graph is wide.
// Violates  termination, if a process crashes before its value is out: everybody waits for all. And
//           validity: in a tie the default wins, which nobody need have proposed.
#pragma once
#include <memory>

#include "core/graph.hpp"
#include "core/protocol.hpp"
#include "protocols/consensus/ballot_box.hpp"

namespace conclave::consensus {

struct SyncFlooding {
  struct Values {
    Votes values = {};
    bool operator==(const Values&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Values>;
  using Timer = NoTimer;
  using Out = Effects<SyncFlooding>;
  enum class Relay : std::uint8_t { where_needed, always, never };
  struct Setup {
    Votes values = {};                        // what each client proposes
    std::shared_ptr<const Graph> graph = {};  // none: everybody is everybody's neighbour
    Value default_value = 0;
    Relay relay = Relay::where_needed;  // that is, unless the graph is complete
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .timing = Timing::synchronous};

  NodeId self = {};
  std::uint32_t everybody = 0;  // how many there are
  NodeSet neighbours = {};
  Value default_value = 0;
  bool relay = false;
  BallotBox box = {};
  bool decided = false;

  bool operator==(const SyncFlooding&) const = default;

  static SyncFlooding start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    SyncFlooding node = {.self = self,
                         .everybody = all.size(),
                         .neighbours = all.without(self),
                         .default_value = setup.default_value};
    bool complete = true;
    if (setup.graph) {
      node.neighbours.clear();
      for (NodeId neighbour : setup.graph->neighbours(self)) node.neighbours.insert(neighbour);
      complete = setup.graph->edges() == std::size_t{all.size()} * (all.size() - 1) / 2;
    }
    node.relay = setup.relay == Relay::always || (setup.relay == Relay::where_needed && !complete);
    return node;
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    const auto mine = setup.values.find(self);
    return {.value = mine == setup.values.end() ? Value{0} : mine->second};
  }

  void on_command(Out&, const Propose& mine) { box.put(self, mine.value); }

  void on_message(Out&, NodeId, const Values& theirs) { box.put(theirs.values); }

  // What the round before brought is complete now.
  void on_round(Out& out, std::uint32_t) {
    if (decided) return;
    const Votes fresh = box.take_fresh();
    const bool everything_known = box.known.size() == everybody;
    if (fresh.empty() && everything_known) return decide(out);
    const bool own_value = fresh.contains(self);
    if (!fresh.empty() && (relay || own_value)) out.broadcast(neighbours, Values{fresh});
  }

  void decide(Out& out) {
    decided = true;
    out.announce(Decided{most_voted(box.known, default_value)});
  }
};
static_assert(Protocol<SyncFlooding>);

}  // namespace conclave::consensus
