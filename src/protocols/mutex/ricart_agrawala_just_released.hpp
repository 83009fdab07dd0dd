// Ricart-Agrawala for a process that enters again and again.
// As Ricart-Agrawala, but a process that left with nobody waiting, and has heard no request since, still
// has everybody's permission: it enters again without a message.
//
// Source    An answer to the textbook exercise on Ricart-Agrawala's waste; the simplest permission keeper.
// Assumes   reliable links, no failures; order does not matter.
// Costs     0 to 2(N-1) messages per entry; k undisturbed entries of one process cost 2(N-1) in all.
// Violates  EM3: a free re-entry overtakes a request that is still under way.
// Fence     replies carry the highest one known; the entrant takes the maximum plus one. Stamps would not
//           do: a free entry is newer than an older request that is still waiting.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct RicartAgrawalaJustReleased {
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
  using Out = Effects<RicartAgrawalaJustReleased>;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t clock = 0;
  std::optional<Stamp> request = {};  // set from asking until leaving
  NodeSet awaiting = {};
  NodeSet deferred = {};
  bool just_released = false;  // nobody has asked since we left
  Fence highest = {};

  bool operator==(const RicartAgrawalaJustReleased&) const = default;
  bool inside() const { return request && awaiting.empty(); }
  NodeSet waits_for() const { return awaiting; }

  static RicartAgrawalaJustReleased start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self)};
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!request, "a node asks for one entry at a time");
    request = Stamp{++clock, self};
    if (!just_released) {
      awaiting = peers;
      out.broadcast(peers, Request{clock});
    }
    just_released = false;
    if (inside()) enter(out);
  }

  void on_command(Out& out, const Release&) {
    ensure(inside(), "only the holder releases");
    request.reset();
    just_released = deferred.empty();
    out.broadcast(deferred, Reply{clock, highest});
    deferred.clear();
  }

  void on_message(Out& out, NodeId from, const Request& theirs) {
    clock = std::max(clock, theirs.counter) + 1;
    just_released = false;
    // Inside we defer whatever the stamps say: a free entry has asked nobody.
    if (inside() || (request && *request < Stamp{theirs.counter, from})) {
      deferred.insert(from);
    } else {
      out.send(from, Reply{clock, highest});
    }
  }

  void on_message(Out& out, NodeId from, const Reply& theirs) {
    clock = std::max(clock, theirs.clock) + 1;
    highest = std::max(highest, theirs.fence);
    if (!awaiting.contains(from)) return out.note("reply nobody waits for");
    awaiting.erase(from);
    if (inside()) enter(out);
  }

  void enter(Out& out) {
    ++highest.value;
    out.announce(Granted{highest});
  }
};
static_assert(Protocol<RicartAgrawalaJustReleased>);

}  // namespace conclave::mutex
