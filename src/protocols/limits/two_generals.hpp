// The two generals: a handshake over a link that loses messages.
// Two generals must attack together or not at all. They agree on a handshake of k messages, sent in turn,
// each in answer to the one before; at dawn a general attacks if every message of the handshake that was
// addressed to it has arrived. Whatever k is, if the last message is lost exactly its sender attacks. No
// other rule does better: take the shortest run that ends in a joint attack; the sender of its last message
// does not know whether it arrived, so the attack did not need it, and the run was not the shortest.
//
// Paper     E. A. Akkoyunlu, K. Ekanadham, R. V. Huber. Some constraints and tradeoffs in the design of
//           network communications. SOSP 1975. The name: J. Gray, Notes on data base operating systems, 1978.
// Assumes   that messages may be lost; that is all it takes.
// Violates  agreement.
#pragma once
#include "core/protocol.hpp"
#include "protocols/consensus/spec.hpp"

namespace conclave::limits {

inline constexpr consensus::Value retreat = 0;
inline constexpr consensus::Value attack = 1;

struct TwoGenerals {
  struct Messenger {
    std::uint32_t number = 0;  // in the handshake, from 1
    bool operator==(const Messenger&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Messenger>;
  enum class Timer { dawn };
  using Out = Effects<TwoGenerals>;
  struct Setup {
    NodeId first = {};  // who begins, because it wants to attack
    std::uint32_t messages = 1;
    Ticks dawn = {1'000'000};
  };
  static constexpr Assumptions assumes = {.links = Links::lossy};

  NodeId other = {};
  std::uint32_t messages = 0;   // of the whole handshake
  std::uint32_t addressed = 0;  // of them to this general
  std::uint32_t arrived = 0;
  bool willing = false;  // has begun the handshake, or was called into it

  bool operator==(const TwoGenerals&) const = default;

  static TwoGenerals start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    ensure(all.size() == 2, "there are two generals");
    out.arm(Timer::dawn, {setup.dawn, setup.dawn});
    return {.other = all.without(self).min(),
            .messages = setup.messages,
            .addressed = (setup.messages + (self == setup.first ? 0 : 1)) / 2};
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    return {.value = attack, .proposes = self == setup.first};
  }

  void on_command(Out& out, const consensus::Propose&) {
    willing = true;
    send(out, 1);
  }

  void on_message(Out& out, NodeId, const Messenger& messenger) {
    ++arrived;
    willing = true;
    send(out, messenger.number + 1);
  }

  void on_timer(Out& out, Timer) {
    out.announce(consensus::Decided{willing && arrived == addressed ? attack : retreat});
  }

  void send(Out& out, std::uint32_t number) {
    if (number <= messages) out.send(other, Messenger{number});
  }
};

}  // namespace conclave::limits
