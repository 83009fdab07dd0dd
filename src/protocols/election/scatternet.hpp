// Scatternet formation: nodes of an ad hoc radio network elect masters of piconets, and bridges join these.
// Everybody tells all in range where it is, and drops every link for which somebody in range of both ends
// has two shorter ones. On what is left, whoever has no master among its neighbours of greater id becomes
// one; the others become slaves of the greatest. The slaves report which other piconets they border on, and
// for each two that do, their masters choose the same link, whose ends are told to bridge.
//
// Papers    C. Petrioli, S. Basagni, I. Chlamtac. Configuring BlueStars: multihop scatternet formation for
//           Bluetooth networks. IEEE Transactions on Computers 52(6), 2003: stars first, then gateways
//           between them; with ids as the weights. BlueStars alone does not bound the slaves of a master.
//           X.-Y. Li, I. Stojmenovic, Y. Wang. Partial Delaunay triangulation and degree limited localized
//           Bluetooth scatternet formation. IEEE TPDS 15(4), 2004: thin the radio graph out by the nodes'
//           places first, and cut what is still too many by directions. We thin it out to the relative
//           neighbourhood graph (G. Toussaint, Pattern Recognition 12, 1980) where they take a denser one;
//           then nothing is left to be cut.
// Assumes   everybody knows its place, and reaches exactly those within a range that is the same for all; no
//           two in the same place; reliable links, no failures; any delays.
// Costs     2E Hello, 2R Role, and one Report and one Assign for every slave, where R ≤ 3N-6 links are left.
// Keeps     what is connected by radio is connected by the scatternet: a link goes only where two shorter
//           ones lead round it, so a minimum spanning tree stays. No master has more than six slaves: of two
//           links at less than 60 degrees the longer goes. Bluetooth allows seven.
// Departs   a node waits for all neighbours of greater id and joins the greatest master, not the first that
//           calls, so that the result does not depend on delays. Discovery and paging, which BlueStars
//           spends most of its time with, are not modelled: a node is given who is in range.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/graph.hpp"
#include "core/place.hpp"
#include "core/protocol.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

// Where a node has its place in the scatternet.
struct Placed {
  NodeId leader = {};    // the master of its piconet, which may be itself
  NodeSet slaves = {};   // whom it is the master of
  NodeSet masters = {};  // whose slave it is; a bridge has several, or is also a master
  bool operator==(const Placed&) const = default;
};

// Everybody forms the scatternet once.
struct ScatternetSpec {
  using Command = std::variant<Start>;
  using Event = std::variant<Placed>;

  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    bool waiting = false;
    std::optional<Placed> placed = {};
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return placed || (wishes == 0 && !waiting); }
    std::optional<Command> next() const {
      if (wishes > 0 && !placed && !waiting) return Start{};
      return std::nullopt;
    }
    bool may(const Command&) const { return !placed && !waiting; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client starts once");
      waiting = true;
      ++requests;
      if (wishes > 0) --wishes;
    }
    void crash() { waiting = false; }
    void see(const Event& event) {
      ensure(!placed, "a node is told its place once");
      placed = std::get<Placed>(event);
      waiting = false;
    }
  };
};

struct Scatternet {
  // A link out of the own piconet.
  struct Border {
    NodeId ours = {};
    NodeId theirs = {};
    NodeId their_master = {};
    bool operator==(const Border&) const = default;
  };

  struct Hello {
    Place place = {};
    bool operator==(const Hello&) const = default;
  };
  struct Role {
    NodeId master = {};  // of the sender; itself, if it is one
    bool operator==(const Role&) const = default;
  };
  struct Report {
    std::vector<Border> borders = {};
    bool operator==(const Report&) const = default;
  };
  struct Assign {
    NodeSet bridges = {};  // neighbours in other piconets, to link with
    bool operator==(const Assign&) const = default;
  };

  using Spec = ScatternetSpec;
  using Message = std::variant<Hello, Role, Report, Assign>;
  using Timer = NoTimer;
  using Out = Effects<Scatternet>;
  struct Setup {
    std::shared_ptr<const Graph> radio = {};                     // who is in whose range
    std::shared_ptr<const std::map<NodeId, Place>> places = {};  // where everybody is
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  Place place = {};
  NodeSet in_range = {};
  bool begun = false;
  std::map<NodeId, Place> places = {};  // of those in range who have said it; not needed once links are known
  std::optional<NodeSet> links = {};    // those that are left
  std::map<NodeId, NodeId> masters = {};  // of those at the other ends, as they decide
  std::optional<NodeId> master = {};
  bool reported = false;
  NodeSet awaiting = {};  // slaves that have not reported
  std::map<NodeId, std::vector<Border>> reports = {};
  bool placed = false;

  bool operator==(const Scatternet&) const = default;

  static Scatternet start(NodeId self, const NodeSet&, const Setup& setup, Out&) {
    ensure(setup.radio && setup.places, "who is in range, and where, comes from outside");
    Scatternet node = {.self = self, .place = setup.places->at(self)};
    for (NodeId other : setup.radio->neighbours(self)) node.in_range.insert(other);
    return node;
  }

  void on_command(Out& out, const Start&) { begin(out); }

  void begin(Out& out) {
    if (std::exchange(begun, true)) return;
    out.broadcast(in_range, Hello{place});
    thin_out(out);
  }

  void on_message(Out& out, NodeId from, const Hello& theirs) {
    begin(out);
    places.emplace(from, theirs.place);
    thin_out(out);
  }

  // Shorter is less; no two links are equally long.
  struct Length {
    std::uint64_t square = 0;
    NodeId lesser = {};
    NodeId greater = {};
    auto operator<=>(const Length&) const = default;
  };
  static Length length(NodeId a, const Place& at_a, NodeId b, const Place& at_b) {
    return {square_between(at_a, at_b), std::min(a, b), std::max(a, b)};
  }

  void thin_out(Out& out) {
    if (links || places.size() < in_range.size()) return;
    links.emplace();
    for (const auto& [other, theirs] : places) {
      const Length direct = length(self, place, other, theirs);
      // Whoever is nearer to both ends than they are to each other is in range of both: they agree.
      const bool detour = std::ranges::any_of(places, [&, &to = other, &at = theirs](const auto& between) {
        const auto& [third, somewhere] = between;
        return third != to && length(self, place, third, somewhere) < direct &&
               length(third, somewhere, to, at) < direct;
      });
      if (!detour) links->insert(other);
    }
    places.clear();
    decide(out);
  }

  // Stars.

  void decide(Out& out) {
    if (!links || master) return;
    NodeId greatest = self;
    for (NodeId other : *links) {
      if (other < self) continue;
      const auto theirs = masters.find(other);
      if (theirs == masters.end()) return;
      if (theirs->second == other) greatest = std::max(greatest, other);
    }
    master = greatest;
    out.broadcast(*links, Role{greatest});
    report(out);
  }
  void on_message(Out& out, NodeId from, const Role& theirs) {
    masters[from] = theirs.master;
    decide(out);
    report(out);
  }

  // Bridges.

  void report(Out& out) {
    if (!master || reported || masters.size() < links->size()) return;
    reported = true;
    std::vector<Border> borders;
    for (const auto& [other, theirs] : masters) {
      if (theirs != *master) borders.push_back({self, other, theirs});
    }
    if (*master != self) return out.send(*master, Report{std::move(borders)});
    for (const auto& [other, theirs] : masters) {
      if (theirs == self && !reports.contains(other)) awaiting.insert(other);
    }
    reports[self] = std::move(borders);
    if (awaiting.empty()) assign(out);
  }
  void on_message(Out& out, NodeId from, const Report& theirs) {
    reports[from] = theirs.borders;
    if (reported && awaiting.erase(from) && awaiting.empty()) assign(out);
  }

  // The other master knows the same links between our piconets, and chooses the same of them.
  void assign(Out& out) {
    std::map<NodeId, Border> chosen;  // by the other master
    const auto ends = [](const Border& border) { return std::minmax({border.ours, border.theirs}); };
    for (const auto& [ours, borders] : reports) {
      for (const Border& border : borders) {
        const auto [place_of, fresh] = chosen.emplace(border.their_master, border);
        if (!fresh && ends(border) < ends(place_of->second)) place_of->second = border;
      }
    }
    std::map<NodeId, NodeSet> bridges;
    for (const auto& [theirs, border] : chosen) bridges[border.ours].insert(border.theirs);
    for (const auto& [ours, borders] : reports) {
      if (ours != self) out.send(ours, Assign{bridges[ours]});
    }
    settle(out, bridges[self]);
  }
  void on_message(Out& out, NodeId, const Assign& theirs) { settle(out, theirs.bridges); }

  // A link of a star is its master's. Of two slaves that bridge, the greater id plays the master.
  void settle(Out& out, const NodeSet& bridges) {
    ensure(!std::exchange(placed, true), "a master assigns once");
    Placed result = {.leader = *master};
    for (const auto& [other, theirs] : masters) {
      const bool in_star = other == *master || theirs == self;
      if (!in_star && !bridges.contains(other)) continue;
      const bool we_lead = *master == self || (theirs != other && other < self);
      (we_lead ? result.slaves : result.masters).insert(other);
    }
    out.announce(result);
  }
};
static_assert(Protocol<Scatternet>);

}  // namespace conclave::election
