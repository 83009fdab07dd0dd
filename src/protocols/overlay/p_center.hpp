// p-center: p superpeers such that the farthest node is not far.
// The first is given. Each next one is the node that is farthest from all before it. Everybody learns how
// far it is by a flood from the new centre, which ends where an older one is nearer, and which the centre
// sees end because every message of it is answered. A spanning tree, built once, then brings the farthest to
// the centre, and the appointment to the farthest.
//
// Paper     T. Gonzalez. Clustering to minimize the maximum intercluster distance. Theoretical Computer
//           Science 38, 1985, whose choice this is; D. Hochbaum, D. Shmoys, Math. Oper. Research 10, 1985,
//           that no better factor than 2 can be had unless P = NP. The tree is E. Chang's echo (IEEE TSE 8,
//           1982); the flood that sees its end K. Chandy, J. Misra's shortest paths (CACM 25, 1982) by E.
//           Dijkstra, C. Scholten's answers (Information Processing Letters 11, 1980).
// Assumes   a connected graph, reliable links, no failures; any delays.
// Costs     2E messages for the tree, 2(N-1) for every centre but the first to find it and at most N-1 to
//           appoint it, N-1 to end; floods: two messages for every neighbour of every node that comes
//           nearer, each time it does.
// Keeps     the greatest distance is at most twice the least possible.
// Departs   the first centre is the node of least id, where the paper takes any.
#pragma once
#include <algorithm>
#include <memory>

#include "core/graph.hpp"
#include "core/protocol.hpp"
#include "protocols/overlay/spec.hpp"

namespace conclave::overlay {

struct PCenter {
  struct Probe {  // join the tree
    bool operator==(const Probe&) const = default;
  };
  struct Echo {  // the sender is the receiver's child, and all below it have joined
    bool operator==(const Echo&) const = default;
  };
  struct Nearer {
    std::uint32_t hops = 0;  // from whoever hears this
    NodeId centre = {};
    auto operator<=>(const Nearer&) const = default;
  };
  struct Answer {  // to Nearer, when all that followed from it is done
    bool operator==(const Answer&) const = default;
  };
  struct Collect {  // who is the farthest on your side of the tree?
    bool operator==(const Collect&) const = default;
  };
  struct Report {
    std::uint32_t hops = 0;
    NodeId node = {};
    bool operator==(const Report&) const = default;
  };
  struct Appoint {           // goes to the farthest
    std::uint32_t left = 0;  // centres to be appointed after it
    bool operator==(const Appoint&) const = default;
  };
  struct Finish {
    bool operator==(const Finish&) const = default;
  };

  using Spec = overlay::Spec;
  using Message = std::variant<Probe, Echo, Nearer, Answer, Collect, Report, Appoint, Finish>;
  using Timer = NoTimer;
  using Out = Effects<PCenter>;
  struct Setup {
    std::shared_ptr<const Graph> graph = {};  // none: everybody is everybody's neighbour
    std::uint32_t centres = 1;                // p
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  NodeId first = {};  // centre, and the root of the tree
  NodeSet neighbours = {};
  std::uint32_t left = 0;  // centres to be appointed after us, if we are one
  NodeSet tree = {};       // neighbours in the tree
  NodeSet awaiting = {};   // neighbours that owe an Echo or a Probe, then a Report
  // Towards whoever asks: the root while the tree grows, the newest centre afterwards. None: ourselves.
  std::optional<NodeId> towards = {};
  std::optional<Nearer> nearest = {};
  std::uint32_t unanswered = 0;
  std::optional<NodeId> engaged_by = {};  // whom we answer when all our messages are answered
  Report farthest = {};
  std::optional<NodeId> branch = {};  // where the farthest is; none: here
  bool finished = false;

  bool operator==(const PCenter&) const = default;

  static PCenter start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    ensure(setup.centres > 0, "there is at least one centre");
    PCenter node = {.self = self, .first = all.min()};
    node.left = setup.centres - 1;
    if (setup.graph) {
      for (NodeId neighbour : setup.graph->neighbours(self)) node.neighbours.insert(neighbour);
    } else {
      node.neighbours = all.without(self);
    }
    return node;
  }

  void on_command(Out& out, const Begin&) {
    if (self == first) grow(out, std::nullopt);
  }

  // The tree.

  void grow(Out& out, std::optional<NodeId> parent) {
    towards = parent;
    if (parent) tree.insert(*parent);
    awaiting = parent ? neighbours.without(*parent) : neighbours;
    out.broadcast(awaiting, Probe{});
    if (awaiting.empty()) grown(out);
  }
  void on_message(Out& out, NodeId from, const Probe&) {
    const bool newcomer = self != first && tree.empty();
    if (newcomer) return grow(out, from);
    grown_by(out, from);  // whoever probes us is nobody's child of ours
  }
  void on_message(Out& out, NodeId from, const Echo&) {
    tree.insert(from);
    grown_by(out, from);
  }
  void grown_by(Out& out, NodeId neighbour) {
    ensure(awaiting.erase(neighbour), "every neighbour speaks once while the tree grows");
    if (awaiting.empty()) grown(out);
  }
  void grown(Out& out) {
    if (towards) return out.send(*towards, Echo{});
    become_centre(out);
  }

  // The flood.

  void become_centre(Out& out) {
    nearest = {0, self};
    unanswered = neighbours.size();
    out.broadcast(neighbours, Nearer{1, self});
    if (unanswered == 0) flooded(out);
  }
  void on_message(Out& out, NodeId from, const Nearer& theirs) {
    if (nearest && *nearest <= theirs) return out.send(from, Answer{});
    nearest = theirs;
    const bool engaged = unanswered > 0;
    for (NodeId neighbour : neighbours) {
      if (neighbour == from) continue;
      out.send(neighbour, Nearer{theirs.hops + 1, theirs.centre});
      ++unanswered;
    }
    if (engaged || unanswered == 0) return out.send(from, Answer{});
    engaged_by = from;
  }
  void on_message(Out& out, NodeId, const Answer&) {
    ensure(unanswered > 0, "answers are to messages");
    if (--unanswered > 0) return;
    if (!engaged_by) return flooded(out);
    out.send(*engaged_by, Answer{});
    engaged_by.reset();
  }

  // The farthest.

  void flooded(Out& out) {
    if (left == 0) return finish(out, std::nullopt);
    collect(out, std::nullopt);
  }
  void collect(Out& out, std::optional<NodeId> asker) {
    towards = asker;
    farthest = {nearest->hops, self};
    branch.reset();
    awaiting = asker ? tree.without(*asker) : tree;
    out.broadcast(awaiting, Collect{});
    if (awaiting.empty()) collected(out);
  }
  void on_message(Out& out, NodeId from, const Collect&) { collect(out, from); }
  void on_message(Out& out, NodeId from, const Report& theirs) {
    const bool farther = theirs.hops > farthest.hops;
    if (farther || (theirs.hops == farthest.hops && theirs.node < farthest.node)) {
      farthest = theirs;
      branch = from;
    }
    awaiting.erase(from);
    if (awaiting.empty()) collected(out);
  }
  void collected(Out& out) {
    if (towards) return out.send(*towards, farthest);
    if (farthest.hops == 0) return finish(out, std::nullopt);  // everybody is a centre
    out.send(*branch, Appoint{left - 1});
  }
  void on_message(Out& out, NodeId, const Appoint& theirs) {
    if (branch) return out.send(*branch, theirs);
    left = theirs.left;
    become_centre(out);
  }

  void finish(Out& out, std::optional<NodeId> from) {
    ensure(!finished, "a tree has no way back");
    finished = true;
    out.broadcast(from ? tree.without(*from) : tree, Finish{});
    out.announce(Joined{nearest->centre, nearest->hops});
  }
  void on_message(Out& out, NodeId from, const Finish&) { finish(out, from); }
};
static_assert(Protocol<PCenter>);

}  // namespace conclave::overlay
