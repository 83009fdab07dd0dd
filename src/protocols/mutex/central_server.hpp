// Central server mutual exclusion.
// One process more than the clients keeps the lock: it grants it to the oldest request, and to the next
// one when it comes back. Clients talk to the server only.
//
// Source    Lock managers of the 1970s; analysed in Coulouris et al., Distributed Systems, 15.2.
// Assumes   reliable links, no failures; order does not matter.
// Costs     3 messages per entry (request, grant, release); 2 hops to enter, 2 from exit to next entry.
// Variant   `denied`: a busy server says so. The request is queued all the same; 4 messages if it waited.
// Violates  EM3: the server orders by arrival, and two requests travel on different links.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct CentralServer {
  struct Request {
    bool operator==(const Request&) const = default;
  };
  struct Grant {
    Fence fence = {};
    bool operator==(const Grant&) const = default;
  };
  struct Denied {
    bool operator==(const Denied&) const = default;
  };
  struct Release {
    bool operator==(const Release&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Grant, Denied, Release>;
  using Timer = NoTimer;
  using Out = Effects<CentralServer>;
  struct Setup {
    bool says_denied = false;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};
  static constexpr bool has_server = true;

  NodeId self = {};
  NodeId server = {};
  bool says_denied = false;
  // At the server.
  std::optional<NodeId> holder = {};
  std::vector<NodeId> queue = {};
  Fence last_fence = {};
  // At a client.
  bool inside = false;

  bool operator==(const CentralServer&) const = default;
  NodeSet waits_for() const { return {server}; }

  static CentralServer start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    return {.self = self, .server = all.min(), .says_denied = setup.says_denied};
  }

  // Clients are treated alike, the server is not one of them. Of many clients only the first few change
  // places: their orders would outnumber the states that they save.
  static std::vector<std::vector<NodeId>> symmetries(const NodeSet& all, const Setup&) {
    std::vector<NodeId> names(all.begin(), all.end());
    const auto first = names.begin() + 1;
    const auto last = first + std::min<std::ptrdiff_t>(5, names.end() - first);
    std::vector<std::vector<NodeId>> renamings;
    while (std::next_permutation(first, last)) renamings.push_back(names);
    return renamings;
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!inside, "a node asks for one entry at a time");
    out.send(server, Request{});
  }

  void on_command(Out& out, const mutex::Release&) {
    ensure(inside, "only the holder releases");
    inside = false;
    out.send(server, Release{});
  }

  void on_message(Out& out, NodeId from, const Request&) {
    if (!holder) return grant(out, from);
    queue.push_back(from);
    if (says_denied) out.send(from, Denied{});
  }

  void on_message(Out& out, NodeId from, const Release&) {
    if (holder != from) return out.note("release by somebody who does not hold the lock");
    holder.reset();
    if (queue.empty()) return;
    const NodeId next = queue.front();
    queue.erase(queue.begin());
    grant(out, next);
  }

  void on_message(Out& out, NodeId, const Grant& theirs) {
    inside = true;
    out.announce(Granted{theirs.fence});
  }

  // The request is queued at the server: asking again would ask twice.
  void on_message(Out& out, NodeId, const Denied&) { out.announce(mutex::Denied{}); }

  void grant(Out& out, NodeId to) {
    holder = to;
    ++last_fence.value;
    out.send(to, Grant{last_fence});
  }
};
static_assert(Protocol<CentralServer>);

}  // namespace conclave::mutex
