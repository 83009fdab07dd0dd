// Byzantine agreement with signed messages: one source, up to f traitors, any number of processes.
// In the first round the source signs its value and sends it to everybody. Whoever receives a value new to
// it in round r, signed by the source and r processes in all, adds its own signature and sends it on to
// those who have not signed. After f+1 rounds who has seen exactly one value decides it; who has seen none,
// or two, knows that the source is a traitor and decides a default. A value that one loyal process sees, all
// see: it sends it on, or, in the last round, f+1 have signed and one of them was loyal.
//
// Paper     D. Dolev, H. R. Strong. Authenticated algorithms for Byzantine agreement. SIAM J. Comput.
//           12(4), 1983. The problem and the first solution: L. Lamport, R. Shostak, M. Pease. The Byzantine
//           generals problem. TOPLAS 4(3), 1982.
// Assumes   rounds, reliable links between all, at most f < N traitors, signatures that nobody can forge.
// Costs     f+1 rounds. (N-1)^2 messages if nobody betrays and f > 0. The loyal send at most
//           (N-1) + 2(N-1)(N-2), whatever the traitors do, for two values prove treason and nobody passes on
//           a third.
// Violates  validity: traitors make everybody decide the default, or a value that no client proposed.
#pragma once
#include "core/protocol.hpp"
#include "protocols/consensus/order.hpp"
#include "protocols/consensus/treason.hpp"

namespace conclave::consensus {

struct ByzantineSigned {
  using Spec = consensus::Spec;
  using Message = std::variant<Order>;
  using Timer = NoTimer;
  using Out = Effects<ByzantineSigned>;
  struct Setup {
    NodeId source = {};
    Value value = 0;  // of the source
    Value default_value = 0;
    std::uint32_t rounds = 2;  // f+1
    bool in_writing = true;    // false: nobody signs and nobody verifies; agreement is lost
    Keys keys = {};
    Treason treason = {};  // with the traitors
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .timing = Timing::synchronous};

  NodeId self = {};
  NodeSet members = {};
  NodeId source = {};
  Value default_value = 0;
  std::uint32_t rounds = 0;
  bool in_writing = true;
  Keys keys = {};
  std::uint32_t round = 0;
  std::vector<Value> seen = {};        // the first two that the source signed
  std::vector<Order> passing_on = {};  // in the next round
  bool decided = false;
  std::optional<Treason> treason = {};  // of a traitor

  bool operator==(const ByzantineSigned&) const = default;

  static ByzantineSigned start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    ByzantineSigned node = {.self = self,
                            .members = all,
                            .source = setup.source,
                            .default_value = setup.default_value,
                            .rounds = setup.rounds,
                            .in_writing = setup.in_writing,
                            .keys = setup.keys};
    if (setup.treason.traitors.contains(self)) node.treason = setup.treason;
    return node;
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    return {.value = setup.value,
            .proposes = self == setup.source,
            .waits = !setup.treason.traitors.contains(self)};
  }

  void on_command(Out&, const Propose& mine) {
    ensure(self == source, "only the source has a value");
    seen = {mine.value};
    passing_on = {signed_by_me({mine.value})};
  }

  void on_round(Out& out, std::uint32_t begun) {
    round = begun;
    if (treason) return betray(out);
    if (decided) return;
    if (round > rounds) return decide(out);
    for (const Order& order : std::exchange(passing_on, {})) {
      for (NodeId member : members) {
        if (!order.signed_by(member)) out.send(member, order);
      }
    }
  }

  void on_message(Out& out, NodeId, const Order& order) {
    if (treason || decided) return;
    if (std::ranges::count(seen, order.value) > 0) return;
    if (seen.size() == 2) return out.note("two orders are proof enough");
    if (!convincing(order)) return out.note("not signed as it should be");
    seen.push_back(order.value);
    passing_on.push_back(signed_by_me(order));
  }

  // Signed by as many as there were rounds: what comes late has been through many hands. A shorter chain is
  // a secret that traitors kept for too long to be shared with everybody.
  bool convincing(const Order& order) const {
    if (!order.well_formed(source, members) || order.signed_by(self)) return false;
    if (order.chain.size() < round) return false;
    return !in_writing || order.authentic(keys);
  }

  Order signed_by_me(const Order& order) const {
    return in_writing ? order.endorsed(keys, self) : order.endorsed_by_word(self);
  }

  void decide(Out& out) {
    decided = true;
    out.announce(Decided{seen.size() == 1 ? seen.front() : default_value});
  }

  void betray(Out& out) const {
    for (auto& [victim, order] : lies(*treason, self, round)) out.send(victim, order);
  }
};
static_assert(Protocol<ByzantineSigned>);

}  // namespace conclave::consensus
