// Central token with vector clocks.
// A coordinator keeps one token. A request carries a vector that counts, per process, the requests its
// sender knows of; the coordinator hands the token to a request only when all those have been served. So
// requests are served in the order in which they happened, not in which they arrived.
//
// Source    The centralised token of the lecture literature, with the eligibility rule made precise:
//           served[j] >= vector[j] for all other j, and served[i] = vector[i] - 1.
// Assumes   reliable links, no failures; order does not matter.
// Costs     3 messages per entry (request, token, return); 2 hops to enter, 2 from exit to next entry.
// Needs     the vector on every message, the application's too: causality also flows through the
//           coordinator. Deviation `vector-on-requests-only` leaves it off the token, and loses EM3.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "core/vector_clock.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct CentralToken {
  struct Request {
    VectorClock known = {};
    bool operator==(const Request&) const = default;
  };
  struct Token {
    VectorClock known = {};
    Fence fence = {};
    bool operator==(const Token&) const = default;
  };
  struct TokenReturn {
    VectorClock known = {};
    Fence fence = {};
    bool operator==(const TokenReturn&) const = default;
  };
  struct Pending {
    NodeId node = {};
    VectorClock known = {};
    bool operator==(const Pending&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Token, TokenReturn>;
  using Timer = NoTimer;
  using Out = Effects<CentralToken>;
  using AppStamp = VectorClock;
  struct Setup {
    bool vector_on_requests_only = false;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};
  static constexpr bool has_server = true;

  NodeId self = {};
  NodeId coordinator = {};
  bool vector_on_requests_only = false;
  VectorClock known = {};           // how many requests of each process we know of
  std::optional<Fence> token = {};  // here, with the fence of the last entry
  bool inside = false;
  // At the coordinator.
  VectorClock served = {};
  std::vector<Pending> pending = {};  // made and not served, in order of arrival

  bool operator==(const CentralToken&) const = default;
  NodeSet waits_for() const { return {coordinator}; }

  static CentralToken start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    CentralToken node = {
        .self = self, .coordinator = all.min(), .vector_on_requests_only = setup.vector_on_requests_only};
    if (self == node.coordinator) node.token = Fence{};
    return node;
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!inside, "a node asks for one entry at a time");
    known.tick(self);
    out.send(coordinator, Request{known});
  }

  void on_command(Out& out, const Release&) {
    ensure(inside, "only the holder releases");
    inside = false;
    out.send(coordinator, TokenReturn{on_token(), *std::exchange(token, {})});
  }

  void on_message(Out& out, NodeId from, const Request& theirs) {
    known.merge(theirs.known);
    pending.push_back({from, theirs.known});
    grant_if_possible(out);
  }

  void on_message(Out& out, NodeId from, const TokenReturn& theirs) {
    known.merge(theirs.known);
    served.tick(from);
    token = theirs.fence;
    grant_if_possible(out);
  }

  void on_message(Out& out, NodeId, const Token& theirs) {
    known.merge(theirs.known);
    token = theirs.fence;
    inside = true;
    out.announce(Granted{theirs.fence});
  }

  AppStamp on_tell() { return known; }
  void on_hear(const AppStamp& stamp) { known.merge(stamp); }

  bool eligible(const Pending& request) const {
    return std::ranges::all_of(request.known.counts, [&](const auto& entry) {
      const auto& [node, count] = entry;
      return node == request.node ? served[node] + 1 == count : served[node] >= count;
    });
  }

  void grant_if_possible(Out& out) {
    if (!token) return;
    const auto next = std::ranges::find_if(pending, [this](const Pending& p) { return eligible(p); });
    if (next == pending.end()) return;
    const NodeId to = next->node;
    pending.erase(next);
    out.send(to, Token{on_token(), Fence{token->value + 1}});
    token.reset();
  }

  VectorClock on_token() const { return vector_on_requests_only ? VectorClock{} : known; }
};
static_assert(Protocol<CentralToken>);
static_assert(StampsApplication<CentralToken>);

}  // namespace conclave::mutex
