// Dominating set, greedily: superpeers such that everybody is one or has one for a neighbour.
// The span of a node is how many it would newly cover, itself included. Whoever has the greatest span within
// two hops becomes a superpeer and covers them. Spans shrink, others become the greatest, until all are
// covered.
//
// Paper     B. Liang, Z. Haas. Virtual backbone generation and maintenance in ad hoc network mobility
//           management. INFOCOM 2000: the greedy algorithm, every node deciding for itself. Its bound is
//           that of the greedy one: D. Johnson. Approximation algorithms for combinatorial problems. JCSS 9,
//           1974.
// Assumes   synchronous rounds, reliable links, no failures. The graph need not be connected.
// Costs     four rounds a phase, and up to N phases: within two hops only one serves at a time, so hubs are
//           slow. What has not changed is not said again: at most one Covered for every edge and direction,
//           and a Span and a Best for every change.
// Keeps     at most H(D+1) times as many superpeers as the fewest possible, D the greatest degree and H the
//           harmonic numbers: whoever is covered could have been covered only by nodes within two hops of
//           the one that did it, and these had no greater span.
// Departs   equal spans are compared by a scrambling of the ids before the ids: along a ring numbered in
//           order each node would wait for the next, and phases would grow with N (variant `ties-by-id`).
// Adds      a limit of peers that a superpeer covers beside itself. The bound is not claimed with it.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "core/graph.hpp"
#include "core/protocol.hpp"
#include "core/random.hpp"
#include "protocols/overlay/spec.hpp"

namespace conclave::overlay {

struct DominatingSet {
  struct Covered {
    bool operator==(const Covered&) const = default;
  };
  struct Span {
    std::uint32_t span = 0;
    bool operator==(const Span&) const = default;
  };
  struct Best {  // among the sender and its neighbours
    std::uint32_t span = 0;
    NodeId node = {};
    bool operator==(const Best&) const = default;
  };
  struct Admit {  // the sender is a superpeer, and the receiver its peer
    bool operator==(const Admit&) const = default;
  };

  using Spec = overlay::Spec;
  using Message = std::variant<Covered, Span, Best, Admit>;
  using Timer = NoTimer;
  using Out = Effects<DominatingSet>;
  struct Setup {
    std::shared_ptr<const Graph> graph = {};  // none: everybody is everybody's neighbour
    std::uint32_t limit = 0;                  // of peers a superpeer; 0: none
    bool ties_by_id = false;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .timing = Timing::synchronous};

  // Greater goes first.
  struct Rank {
    std::uint32_t span = 0;
    std::uint64_t tie = 0;
    NodeId node = {};
    auto operator<=>(const Rank&) const = default;
  };
  struct Neighbour {
    NodeId node = {};
    bool covered = false;
    Rank rank = {};
    Rank best = {};
    bool operator==(const Neighbour&) const = default;
  };

  NodeId self = {};
  std::vector<Neighbour> neighbours = {};  // in ascending order
  std::uint32_t limit = 0;
  bool ties_by_id = false;
  std::optional<NodeId> superpeer = {};  // whose we are, from the moment we are covered
  bool news = false;                     // the neighbours do not know yet that we are
  Rank rank = {};
  Rank best = {};
  bool joined = false;

  bool operator==(const DominatingSet&) const = default;
  bool serving() const { return superpeer == self; }

  static DominatingSet start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    DominatingSet node = {.self = self, .limit = setup.limit, .ties_by_id = setup.ties_by_id};
    if (setup.graph) {
      for (NodeId neighbour : setup.graph->neighbours(self)) node.neighbours.push_back({neighbour});
    } else {
      for (NodeId neighbour : all.without(self)) node.neighbours.push_back({neighbour});
    }
    return node;
  }

  // The rounds begin by themselves.
  void on_command(Out&, const Begin&) {}

  void on_round(Out& out, std::uint32_t round) {
    switch (round % 4) {
      case 1: return tell_covered(out);
      case 2: return tell_span(out);
      case 3: return tell_best(out);
      default: return serve_if_greatest(out);
    }
  }

  void on_message(Out&, NodeId from, const Covered&) { at(from).covered = true; }
  void on_message(Out&, NodeId from, const Span& theirs) { at(from).rank = rank_of(theirs.span, from); }
  void on_message(Out&, NodeId from, const Best& theirs) {
    at(from).best = rank_of(theirs.span, theirs.node);
  }
  void on_message(Out&, NodeId from, const Admit&) {
    ensure(!superpeer, "two that cover the same node are within two hops, and only one is the greatest");
    superpeer = from;
    news = true;
  }

  void tell_covered(Out& out) {
    if (std::exchange(news, false)) tell_all(out, Covered{});
  }

  void tell_span(Out& out) {
    const Rank now = rank_of(span(), self);
    if (now.span == 0 && !std::exchange(joined, true)) out.announce(Joined{*superpeer, serving() ? 0u : 1u});
    if (now == std::exchange(rank, now)) return;
    tell_all(out, Span{now.span});
  }

  void tell_best(Out& out) {
    Rank now = rank;
    for (const Neighbour& neighbour : neighbours) now = std::max(now, neighbour.rank);
    if (now == std::exchange(best, now)) return;
    tell_all(out, Best{now.span, now.node});
  }

  void serve_if_greatest(Out& out) {
    if (rank.span == 0) return;
    Rank greatest = best;
    for (const Neighbour& neighbour : neighbours) greatest = std::max(greatest, neighbour.best);
    if (greatest != rank) return;
    if (!superpeer) news = true;
    superpeer = self;
    std::uint32_t admitted = 0;
    for (const Neighbour& neighbour : neighbours) {
      if (neighbour.covered || (limit > 0 && admitted == limit)) continue;
      out.send(neighbour.node, Admit{});
      ++admitted;
    }
  }

  // A superpeer has covered all it can.
  std::uint32_t span() const {
    if (serving()) return 0;
    const auto uncovered =
        static_cast<std::uint32_t>(std::ranges::count(neighbours, false, &Neighbour::covered));
    return (limit > 0 ? std::min(limit, uncovered) : uncovered) + (superpeer ? 0 : 1);
  }

  Rank rank_of(std::uint32_t span, NodeId node) const {
    if (span == 0) return {};
    return {span, ties_by_id ? 0 : scramble(node.value), node};
  }

  Neighbour& at(NodeId node) {
    const auto found = std::ranges::lower_bound(neighbours, node, {}, &Neighbour::node);
    ensure(found != neighbours.end() && found->node == node, "only neighbours talk to us");
    return *found;
  }

  template <class M>
  void tell_all(Out& out, const M& message) {
    for (const Neighbour& neighbour : neighbours) out.send(neighbour.node, message);
  }
};
static_assert(Protocol<DominatingSet>);

}  // namespace conclave::overlay
