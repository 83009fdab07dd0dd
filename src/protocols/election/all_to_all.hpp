// All-to-all election.
// Everybody tells everybody its id; who knows all ids takes the greatest. Who hears an id before it has told
// its own tells it then, so one starter is enough.
//
// Source    the plainest election there is; a yardstick for the others.
// Assumes   reliable links, no crashes: everybody waits for everybody. All ids are known.
// Costs     N(N-1) messages, whoever starts and however many do.
// Adds      elections are numbered, so that there can be another one after the first.
#pragma once
#include "core/protocol.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

struct AllToAll {
  struct Id {
    std::uint64_t election = 0;
    NodeId id = {};
    bool operator==(const Id&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<Id>;
  using Timer = NoTimer;
  using Out = Effects<AllToAll>;
  struct Setup {
    std::optional<NodeId> coordinator = {};  // elected before the run
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t election = 0;  // the newest heard of
  NodeSet known = {};          // ids heard in it
  std::optional<NodeId> elected = {};

  bool operator==(const AllToAll&) const = default;
  bool taking_part() const { return !known.empty() && known.size() <= peers.size(); }

  static AllToAll start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    AllToAll node = {.self = self, .peers = all, .elected = setup.coordinator};
    node.peers.erase(self);
    if (setup.coordinator) out.announce(Elected{*setup.coordinator});
    return node;
  }

  void on_command(Out& out, const Start&) {
    if (taking_part()) return out.note("takes part already");
    take_part(out, election + 1);
    count(out);
  }

  void on_message(Out& out, NodeId, const Id& theirs) {
    if (theirs.election < election) return out.note("id of an election that is over");
    if (theirs.election > election) take_part(out, theirs.election);
    known.insert(theirs.id);
    count(out);
  }

  void take_part(Out& out, std::uint64_t number) {
    election = number;
    known = {self};
    elected.reset();
    out.announce(Participating{});
    out.broadcast(peers, Id{election, self});
  }

  void count(Out& out) {
    if (taking_part()) return;
    elected = known.max();
    out.announce(Elected{*elected});
  }
};
static_assert(Protocol<AllToAll>);

}  // namespace conclave::election
