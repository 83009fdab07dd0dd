// Carvalho-Roucairol mutual exclusion.
// A permission once given stays with its receiver until the giver asks for it back. To enter, ask only
// the peers whose permission is missing. A peer that asks while we wait with a later stamp gets its
// permission, and our own request again.
//
// Paper     O. S. F. Carvalho, G. Roucairol. On Mutual Exclusion in Computer Networks. CACM 26(2), 1983.
// Assumes   reliable links, no failures; order does not matter.
// Costs     0 to 2(N-1) messages per entry: 2 for every peer that has entered or asked since.
// Violates  EM3: a kept permission overtakes a request that is still under way.
// Fence     replies carry the highest one known; the entrant takes the maximum plus one.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct CarvalhoRoucairol {
  struct Request {
    std::uint64_t counter = 0;
    bool operator==(const Request&) const = default;
  };
  struct Reply {
    std::uint64_t clock = 0;
    Fence fence = {};
    bool operator==(const Reply&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Reply>;
  using Timer = NoTimer;
  using Out = Effects<CarvalhoRoucairol>;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  std::uint64_t clock = 0;
  std::optional<Stamp> request = {};  // set from asking until leaving
  NodeSet missing = {};               // peers whose permission we do not have
  NodeSet deferred = {};
  Fence highest = {};

  bool operator==(const CarvalhoRoucairol&) const = default;
  bool inside() const { return request && missing.empty(); }
  NodeSet waits_for() const { return missing; }

  static CarvalhoRoucairol start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .missing = all.without(self)};
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!request, "a node asks for one entry at a time");
    request = Stamp{++clock, self};
    out.broadcast(missing, Request{clock});
    if (inside()) enter(out);
  }

  void on_command(Out& out, const Release&) {
    ensure(inside(), "only the holder releases");
    request.reset();
    for (NodeId peer : deferred) give_permission(out, peer);
    deferred.clear();
  }

  void on_message(Out& out, NodeId from, const Request& theirs) {
    clock = std::max(clock, theirs.counter) + 1;
    const bool we_go_first = inside() || (request && *request < Stamp{theirs.counter, from});
    if (we_go_first) {
      deferred.insert(from);
      return;
    }
    const bool we_had_theirs = !missing.contains(from);
    give_permission(out, from);
    // We counted on a permission that we had not asked for in this round: now we must ask.
    if (we_had_theirs && request) out.send(from, Request{request->counter});
  }

  void on_message(Out& out, NodeId from, const Reply& theirs) {
    clock = std::max(clock, theirs.clock) + 1;
    highest = std::max(highest, theirs.fence);
    if (!missing.contains(from)) return out.note("a permission we have already");
    missing.erase(from);
    if (inside()) enter(out);
  }

  void give_permission(Out& out, NodeId peer) {
    missing.insert(peer);
    out.send(peer, Reply{clock, highest});
  }

  void enter(Out& out) {
    ++highest.value;
    out.announce(Granted{highest});
  }
};
static_assert(Protocol<CarvalhoRoucairol>);

}  // namespace conclave::mutex
