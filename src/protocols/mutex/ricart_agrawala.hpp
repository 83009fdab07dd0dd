// Ricart-Agrawala mutual exclusion.
// To enter, ask every peer and wait until all have replied. A peer that is idle or asked later replies at
// once; one that asked earlier, or is inside, keeps its reply until it leaves.
//
// Paper     G. Ricart, A. K. Agrawala. An Optimal Algorithm for Mutual Exclusion in Computer Networks.
//           CACM 24(1), 1981.
// Assumes   reliable links, no failures; order does not matter.
// Costs     2(N-1) messages per entry; 2 hops to enter, 1 from exit to next entry.
// Departs   keeps the set of missing replies, where the paper keeps their number; its counter is a Lamport
//           clock carried by every message, the application's too, so that EM3 holds.
// Deviates  on demand, to show what goes wrong: `request-only-clock` raises the clock by requests alone
//           (loses EM3); `nonatomic-exit` replies first and forgets the deferred later (loses requests).
//
//   Our_Sequence_Number           request->counter
//   Highest_Sequence_Number       clock
//   Requesting_Critical_Section   request.has_value()
//   Outstanding_Reply_Count       awaiting.size()
//   Reply_Deferred[j]             deferred.contains(j)
#pragma once
#include <algorithm>
#include <map>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct RicartAgrawala {
  struct Request {
    std::uint64_t counter = 0;
    bool operator==(const Request&) const = default;
  };
  struct Reply {
    std::uint64_t clock = 0;
    bool operator==(const Reply&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Reply>;
  enum class Timer { finish_exit };  // armed by the deviation `nonatomic-exit` only
  using Out = Effects<RicartAgrawala>;
  using AppStamp = std::uint64_t;
  enum class Deviation : std::uint8_t { none, request_only_clock, nonatomic_exit };
  struct Setup {
    Deviation deviation = Deviation::none;
    std::map<NodeId, std::uint64_t> clocks = {};  // where clocks begin; zero if absent
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  Deviation deviation = Deviation::none;
  NodeSet peers = {};
  std::uint64_t greatest_id = 0;
  std::uint64_t clock = 0;
  std::optional<Stamp> request = {};  // set from asking until leaving
  NodeSet awaiting = {};
  NodeSet deferred = {};

  bool operator==(const RicartAgrawala&) const = default;
  bool inside() const { return request && awaiting.empty(); }
  NodeSet waits_for() const { return awaiting; }

  static RicartAgrawala start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    const auto initial = setup.clocks.find(self);
    return {.self = self,
            .deviation = setup.deviation,
            .peers = all.without(self),
            .greatest_id = all.max().value,
            .clock = initial == setup.clocks.end() ? 0 : initial->second};
  }

  // Stamp and requests are one step: a request handled in between would be answered with the old stamp.
  void on_command(Out& out, const Acquire&) {
    ensure(!request, "a node asks for one entry at a time");
    request = Stamp{++clock, self};
    awaiting = peers;
    out.broadcast(peers, Request{clock});
    if (inside()) enter(out);
  }

  void on_command(Out& out, const Release&) {
    ensure(inside(), "only the holder releases");
    if (deviation == Deviation::nonatomic_exit) {
      out.broadcast(deferred, Reply{clock});
      return out.arm(Timer::finish_exit, {.min = {0}, .max = {20}});
    }
    request.reset();
    out.broadcast(deferred, Reply{clock});
    deferred.clear();
  }

  void on_message(Out& out, NodeId from, const Request& theirs) {
    witness(theirs.counter, true);
    const bool we_go_first = request && *request < Stamp{theirs.counter, from};
    if (inside()) ensure(we_go_first, "whoever asked before us has already left");
    if (we_go_first) {
      deferred.insert(from);
    } else {
      out.send(from, Reply{clock});
    }
  }

  void on_message(Out& out, NodeId from, const Reply& theirs) {
    witness(theirs.clock, false);
    if (!awaiting.erase(from)) return out.note("reply nobody waits for");
    if (inside()) enter(out);
  }

  void on_timer(Out&, Timer) {  // the second half of `nonatomic-exit`: whoever asked meanwhile is forgotten
    request.reset();
    deferred.clear();
  }

  AppStamp on_tell() { return deviation == Deviation::request_only_clock ? 0 : ++clock; }
  void on_hear(const AppStamp& stamp) { witness(stamp, false); }

  void witness(std::uint64_t counter, bool by_request) {
    if (deviation != Deviation::request_only_clock) {
      clock = std::max(clock, counter) + 1;
    } else if (by_request) {
      clock = std::max(clock, counter);
    }
  }

  void enter(Out& out) { out.announce(Granted{fence_of(*request, greatest_id)}); }
};
static_assert(Protocol<RicartAgrawala>);
static_assert(StampsApplication<RicartAgrawala>);

}  // namespace conclave::mutex
