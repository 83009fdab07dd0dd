// Consensus by waiting for votes, in an asynchronous system: what cannot work.
// Everybody sends its value to all, waits for some number of values, its own among them, and decides on the
// most voted, or in a tie on a default. Who waits for all N waits for ever if one crashes, for a crash cannot
// be told from a slow message. Who waits for N-1 decides on a different selection than its neighbour, and
// disagrees with it though nobody failed.
//
// Paper     M. J. Fischer, N. A. Lynch, M. S. Paterson. Impossibility of distributed consensus with one
//           faulty process. JACM 32(2), 1985: no deterministic rule works, this one or another.
// Assumes   reliable links, no bounds on anything, one crash.
// Violates  termination or agreement, as one likes.
#pragma once
#include "core/protocol.hpp"
#include "protocols/consensus/ballot_box.hpp"

namespace conclave::limits {

struct WaitFor {
  struct Vote {
    consensus::Value value = 0;
    bool operator==(const Vote&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Vote>;
  using Timer = NoTimer;
  using Out = Effects<WaitFor>;
  struct Setup {
    consensus::Votes values = {};  // what each client proposes
    std::uint32_t votes = 0;       // to wait for, one's own included
    consensus::Value default_value = 0;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .crashes = Crashes::stop};

  NodeId self = {};
  NodeSet peers = {};
  std::uint32_t votes = 0;
  consensus::Value default_value = 0;
  consensus::Votes known = {};
  bool decided = false;

  bool operator==(const WaitFor&) const = default;

  static WaitFor start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    return {
        .self = self, .peers = all.without(self), .votes = setup.votes, .default_value = setup.default_value};
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    const auto mine = setup.values.find(self);
    return {.value = mine == setup.values.end() ? consensus::Value{0} : mine->second};
  }

  void on_command(Out& out, const consensus::Propose& mine) {
    out.broadcast(peers, Vote{mine.value});
    hear(out, self, mine.value);
  }

  void on_message(Out& out, NodeId from, const Vote& vote) {
    if (decided) return out.note("too late to count");
    hear(out, from, vote.value);
  }

  void hear(Out& out, NodeId voter, consensus::Value value) {
    known.emplace(voter, value);
    if (!known.contains(self) || known.size() < votes) return;
    decided = true;
    out.announce(consensus::Decided{consensus::most_voted(known, default_value)});
  }
};

}  // namespace conclave::limits
