// Ring election with a list of members.
// Who misses the coordinator sends a list with its own id to the next process that works; everybody adds its
// id and passes the list on. Who finds its own id in the list closes the election: the greatest id leads, and
// a second lap tells everybody, together with the list of members.
//
// Source    A. S. Tanenbaum, M. van Steen. Distributed Systems, the ring algorithm of the chapter on
//           election. After G. Le Lann's circulating lists, IFIP 1977.
// Assumes   everybody knows the whole ring and reaches everybody on it; a message to a process that is down
//           comes back; crashed processes stay down.
// Costs     2n messages per starter, n the live processes; one attempt per dead process and lap besides. The
//           list grows by an id a hop.
// Departs   not only the starter closes the election: with the starter dead the list would go round for ever.
//           The first process that finds its own id closes it; ids that stand before its own were skipped as
//           dead, and are dropped.
// Adds      whoever takes part and hears nothing for `patience` ticks starts anew: the list, or the news,
//           died with the process that carried it. A process that comes back joins by an election of its own.
//
//   ring      ring, or the ascending ids of `all`
//   elected   elected
//   members   members
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

struct RingList {
  struct Election {
    std::vector<NodeId> list = {};  // in the order of the lap
    bool operator==(const Election&) const = default;
  };
  struct Coordinator {
    NodeId leader = {};
    NodeSet members = {};
    NodeSet seen = {};  // who has had the news
    bool operator==(const Coordinator&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<Election, Coordinator>;
  enum class Timer { patience };
  using Out = Effects<RingList>;
  struct Setup {
    std::vector<NodeId> ring = {};           // clockwise; ascending ids if empty
    std::optional<NodeId> coordinator = {};  // elected before the run
    std::uint64_t hop = 60;                  // ticks within which a message is passed on, attempts included
    bool announce_directly = false;          // who closes tells every member itself
    bool starter_closes = false;             // nobody but the starter closes, or starts anew
  };
  static constexpr Assumptions assumes = {
      .links = Links::reliable_unordered, .crashes = Crashes::stop, .timing = Timing::synchronous};

  NodeId self = {};
  NodeSet all = {};
  std::vector<NodeId> ring = {};
  std::uint64_t patience = 0;
  bool announces_directly = false;
  bool only_starter_closes = false;
  bool participant = false;
  std::optional<NodeId> elected = {};
  NodeSet members = {};  // of the ring that elected it

  bool operator==(const RingList&) const = default;

  static RingList start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    RingList node = {.self = self,
                     .all = all,
                     .ring = setup.ring,
                     .patience = 2 * (all.size() + 1) * setup.hop,
                     .announces_directly = setup.announce_directly,
                     .only_starter_closes = setup.starter_closes,
                     .elected = setup.coordinator};
    if (setup.coordinator) {
      node.members = all;
      out.announce(Elected{*setup.coordinator});
    }
    return node;
  }

  static RingList restart(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    Setup without_leader = setup;
    without_leader.coordinator.reset();
    RingList node = start(self, all, without_leader, out);
    node.elect(out);
    return node;
  }

  void on_command(Out& out, const Start&) { elect(out); }

  void on_timer(Out& out, Timer) { elect(out); }

  void on_message(Out& out, NodeId from, const Election& theirs) {
    const auto here = std::ranges::find(theirs.list, self);
    if (here == theirs.list.end()) {
      take_part(out);
      Election longer = theirs;
      longer.list.push_back(self);
      pass_on(out, self, longer);
      if (!only_starter_closes) wait(out);
      return;
    }
    if (only_starter_closes && theirs.list.front() != self) {
      if (from == self) return out.note("nobody is left to pass the list to");
      return pass_on(out, self, theirs);
    }
    // Those before us in the list were skipped on the way back to us: they are down.
    NodeSet alive;
    for (auto id = here; id != theirs.list.end(); ++id) alive.insert(*id);
    close(out, alive);
  }

  void on_message(Out& out, NodeId, const Coordinator& news) {
    if (news.seen.contains(self)) return;  // it has gone round
    adopt(out, news.leader, news.members);
    if (announces_directly) return;
    Coordinator next = news;
    next.seen.insert(self);
    pass_on(out, self, next);
  }

  // One attempt for each process that is down: the next one gets what it did not.
  void on_bounce(Out& out, NodeId to, const Message& message) {
    if (announces_directly && std::holds_alternative<Coordinator>(message)) return;
    std::visit([&](const auto& which) { pass_on(out, to, which); }, message);
  }

  void elect(Out& out) {
    take_part(out);
    pass_on(out, self, Election{{self}});
    wait(out);
  }

  void take_part(Out& out) {
    if (participant) return;
    participant = true;
    elected.reset();
    out.announce(Participating{});
  }

  // Unless the list went no further than ourselves: then all is over already.
  void wait(Out& out) {
    if (participant) out.arm(Timer::patience, {{patience}, {patience}});
  }

  void close(Out& out, const NodeSet& alive) {
    const Coordinator news = {.leader = alive.max(), .members = alive, .seen = {self}};
    adopt(out, news.leader, news.members);
    if (!announces_directly) return pass_on(out, self, news);
    NodeSet others = alive;
    others.erase(self);
    out.broadcast(others, news);
  }

  void adopt(Out& out, NodeId leader, const NodeSet& of) {
    members = of;
    participant = false;
    out.disarm(Timer::patience);
    if (elected == leader) return;
    elected = leader;
    out.announce(Elected{leader});
  }

  NodeId after(NodeId place) const {
    if (ring.empty()) return all.after(place);
    const auto found = std::ranges::find(ring, place);
    ensure(found != ring.end(), "every member has its place in the ring");
    return found + 1 == ring.end() ? ring.front() : *(found + 1);
  }

  // To the process that follows `place`. Who finds nobody else alive has gone all the way round to itself.
  template <class M>
  void pass_on(Out& out, NodeId place, const M& message) {
    const NodeId next = after(place);
    if (next == self) return on_message(out, self, message);
    out.send(next, message);
  }
};
static_assert(Protocol<RingList>);

}  // namespace conclave::election
