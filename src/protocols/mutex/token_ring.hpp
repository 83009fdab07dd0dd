// Token ring mutual exclusion.
// One token travels round a logical ring in one direction. Whoever wants to enter keeps it when it comes
// by, for one entry, and passes it on when leaving; whoever does not passes it on at once.
//
// Paper     G. Le Lann. Distributed systems: towards a formal approach. IFIP Congress, 1977.
// Assumes   reliable links, no failures; there is one message, so order does not matter.
// Costs     1 message per entry when everybody wants, without bound when nobody does; 0 to N hops to
//           enter, 1 to N from exit to next entry.
// Adds      a generation in the token: receivers drop a token of an older generation, so that a token
//           regenerated after a loss can outlive the lost one. On demand, rest for a token that nobody wants.
// Violates  EM3: the order is that of the ring.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct TokenRing {
  struct Token {
    Fence fence;
    std::uint64_t generation;
    std::uint32_t quiet = 0;  // hops since somebody entered, as far as anybody's patience goes
    bool operator==(const Token&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Token>;
  enum class Timer { pass_on };
  using Out = Effects<TokenRing>;
  struct Setup {
    std::vector<NodeId> ring = {};  // the order of the ring; ascending ids if empty
    bool token_under_way = false;   // the run begins with the token in flight, not at the first node
    // After so many hops on which nobody entered, the token rests at each process for a while: between real
    // processes it would keep every processor busy. 0: it never rests, as published.
    std::uint32_t patience = 0;
    Ticks rest = {};
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};
  static constexpr bool never_rests = true;

  NodeId self = {};
  NodeId successor = {};
  std::uint64_t generation = 0;     // the newest seen
  std::optional<Fence> token = {};  // here, with the fence of the last entry
  bool wanting = false;             // from asking until leaving
  std::uint32_t patience = 0;
  Ticks rest = {};
  std::uint32_t quiet = 0;  // hops of the token that is here

  bool operator==(const TokenRing&) const = default;
  bool inside() const { return wanting && token; }

  static TokenRing start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    TokenRing node = {
        .self = self, .successor = all.after(self), .patience = setup.patience, .rest = setup.rest};
    NodeId first = all.min();
    if (!setup.ring.empty()) {
      const auto here = std::ranges::find(setup.ring, self);
      ensure(here != setup.ring.end(), "every member has its place in the ring");
      first = setup.ring.front();
      node.successor = here + 1 == setup.ring.end() ? first : *(here + 1);
    }
    if (self == first && !setup.token_under_way) {
      node.token = Fence{};
      out.arm(Timer::pass_on, {});
    }
    return node;
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!wanting, "a node asks for one entry at a time");
    wanting = true;
    if (token) enter(out);
  }

  void on_command(Out& out, const Release&) {
    ensure(inside(), "only the holder releases");
    wanting = false;
    pass_on(out);
  }

  void on_message(Out& out, NodeId, const Token& theirs) {
    if (theirs.generation < generation) return out.note("token of an older generation");
    generation = theirs.generation;
    // Most visits find nobody waiting: forward without keeping.
    const bool goes_on = !wanting && successor != self;
    if (goes_on && patience == 0) return out.send(successor, theirs);
    if (goes_on && theirs.quiet < patience)
      return out.send(successor, Token{theirs.fence, theirs.generation, theirs.quiet + 1});
    token = theirs.fence;
    quiet = theirs.quiet;
    if (wanting) enter(out);
    if (goes_on) out.arm(Timer::pass_on, {rest, rest});
  }

  void on_timer(Out& out, Timer) {
    if (token && !wanting) pass_on(out);
  }

  void enter(Out& out) {
    ++token->value;
    quiet = 0;
    out.announce(Granted{*token});
  }

  // One entry per visit: a process that kept the token for a second one could starve the others.
  void pass_on(Out& out) {
    if (successor == self) return;
    out.send(successor, Token{*token, generation, quiet});
    token.reset();
  }
};
static_assert(Protocol<TokenRing>);

}  // namespace conclave::mutex
