// Consensus by flooding in synchronous rounds, up to f crashes.
// For exactly f+1 rounds everybody sends what it learned in the round before, its own value first; then it
// decides on the most voted of the values it knows, or in a tie on a default that all share. A process may
// crash in the middle of a broadcast, so that only some hear its news. But in one of f+1 rounds nobody
// crashes: after that one all know the same, and it stays so.
//
// Paper     N. A. Lynch. Distributed Algorithms. Morgan Kaufmann, 1996, section 6.2 (FloodSet).
// Assumes   rounds, reliable links between all, at most f crashes, for good.
// Costs     f+1 rounds, at most (f+1)N(N-1) messages; 2N(N-1) if nobody crashes and f > 0.
// Departs   keeps who proposed what, to count votes, where the book keeps a set of values and takes a
//           default unless it has one element.
// Violates  integrity, unless more processes survive than crash: what a process proposed counts although
//           it crashes later. And validity: in a tie the default wins.
#pragma once
#include <memory>

#include "core/graph.hpp"
#include "core/protocol.hpp"
#include "protocols/consensus/ballot_box.hpp"

namespace conclave::consensus {

struct SyncCrashTolerant {
  struct Values {
    Votes values = {};
    bool operator==(const Values&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Values>;
  using Timer = NoTimer;
  using Out = Effects<SyncCrashTolerant>;
  struct Setup {
    Votes values = {};                        // what each client proposes
    std::shared_ptr<const Graph> graph = {};  // none: everybody is everybody's neighbour
    Value default_value = 0;
    std::uint32_t rounds = 2;  // f+1; fewer lose agreement
  };
  static constexpr Assumptions assumes = {
      .links = Links::reliable_unordered, .crashes = Crashes::stop, .timing = Timing::synchronous};

  NodeId self = {};
  NodeSet neighbours = {};
  Value default_value = 0;
  std::uint32_t rounds = 0;
  BallotBox box = {};
  bool decided = false;

  bool operator==(const SyncCrashTolerant&) const = default;

  static SyncCrashTolerant start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    SyncCrashTolerant node = {.self = self,
                              .neighbours = all.without(self),
                              .default_value = setup.default_value,
                              .rounds = setup.rounds};
    if (setup.graph) {
      node.neighbours.clear();
      for (NodeId neighbour : setup.graph->neighbours(self)) node.neighbours.insert(neighbour);
    }
    return node;
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    const auto mine = setup.values.find(self);
    return {.value = mine == setup.values.end() ? Value{0} : mine->second};
  }

  void on_command(Out&, const Propose& mine) { box.put(self, mine.value); }

  void on_message(Out&, NodeId, const Values& theirs) { box.put(theirs.values); }

  void on_round(Out& out, std::uint32_t round) {
    if (decided) return;
    if (round > rounds) return decide(out);
    const Votes fresh = box.take_fresh();
    if (!fresh.empty()) out.broadcast(neighbours, Values{fresh});
  }

  void decide(Out& out) {
    decided = true;
    out.announce(Decided{most_voted(box.known, default_value)});
  }
};
static_assert(Protocol<SyncCrashTolerant>);

}  // namespace conclave::consensus
