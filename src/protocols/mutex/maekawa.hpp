// Maekawa's quorum voting, the basic form.
// Ask the members of the own voting set, oneself among them, and enter with all their votes. A member has
// one vote; while it is lent, further requests queue. Any two voting sets meet, so the members they share
// keep two processes from entering together.
//
// Paper     M. Maekawa. A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems. TOCS 3(2), 1985.
// Assumes   reliable links, no failures; order does not matter.
// Costs     3(K-1) messages per entry, K the size of a voting set; 2 hops to enter, 2 from exit to next.
// Violates  no deadlock: three processes that ask at once can each hold one vote and wait for the next.
//           See maekawa_deadlock_free.hpp. EM3 is not kept either.
// Fence     voters remember the highest one; the entrant takes the maximum of its votes plus one.
// Deviates  on demand: `no-self-vote` neither needs nor reserves the own vote, and lets two in.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"
#include "protocols/mutex/voting_sets.hpp"

namespace conclave::mutex {

struct Maekawa {
  struct Request {
    bool operator==(const Request&) const = default;
  };
  struct Reply {  // a vote
    Fence highest = {};
    bool operator==(const Reply&) const = default;
  };
  struct Release {
    Fence fence = {};
    bool operator==(const Release&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<Request, Reply, Release>;
  using Timer = NoTimer;
  using Out = Effects<Maekawa>;
  struct Setup {
    VotingSets sets = {};  // computed if empty
    bool no_self_vote = false;
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  NodeSet voters = {};  // whose votes we need
  bool no_self_vote = false;
  // As a candidate.
  bool wanting = false;  // from asking until leaving
  NodeSet awaiting = {};
  Fence highest_of_votes = {};
  // As a voter.
  std::optional<NodeId> voted_for = {};
  std::vector<NodeId> queue = {};
  Fence highest = {};

  bool operator==(const Maekawa&) const = default;
  bool inside() const { return wanting && awaiting.empty(); }
  NodeSet waits_for() const { return awaiting; }

  static Maekawa start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    Maekawa node = {.self = self, .no_self_vote = setup.no_self_vote};
    if (setup.sets.empty()) {
      node.voters = VotingSystem(all).of(self);
    } else {
      ensure(setup.sets.contains(self), "every member has a voting set");
      node.voters = setup.sets.at(self);
    }
    if (setup.no_self_vote) node.voters.erase(self);
    return node;
  }

  // Rotations of the members that carry every voting set to the voting set of the image: in a plane made of
  // differences all of them do, in a grid few or none.
  static std::vector<std::vector<NodeId>> symmetries(const NodeSet& all, const Setup& setup) {
    const std::vector<NodeId> members(all.begin(), all.end());
    const VotingSets sets = setup.sets.empty() ? voting_sets(all) : setup.sets;
    std::vector<std::vector<NodeId>> renamings;
    for (std::size_t by = 1; by < members.size(); ++by) {
      std::vector<NodeId> names = members;
      std::ranges::rotate(names, names.begin() + static_cast<std::ptrdiff_t>(by));
      const auto image = [&](NodeId node) {
        return names[static_cast<std::size_t>(std::ranges::find(members, node) - members.begin())];
      };
      const bool carries_sets = std::ranges::all_of(members, [&](NodeId node) {
        NodeSet renamed;
        for (NodeId voter : sets.at(node)) renamed.insert(image(voter));
        return renamed == sets.at(image(node));
      });
      if (carries_sets) renamings.push_back(std::move(names));
    }
    return renamings;
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!wanting, "a node asks for one entry at a time");
    wanting = true;
    highest_of_votes = {};
    awaiting = voters;
    for (NodeId voter : voters) {
      if (voter == self) {
        on_message(out, self, Request{});
      } else {
        out.send(voter, Request{});
      }
    }
    if (voters.empty()) enter(out);
  }

  void on_command(Out& out, const mutex::Release&) {
    ensure(inside(), "only the holder releases");
    wanting = false;
    for (NodeId voter : voters.with(self)) {
      if (voter == self) {
        on_message(out, self, Release{highest_of_votes});
      } else {
        out.send(voter, Release{highest_of_votes});
      }
    }
  }

  void on_message(Out& out, NodeId from, const Request&) {
    // With the own vote counted, being inside means that it is lent; the deviation must look.
    if (voted_for || inside()) {
      queue.push_back(from);
    } else {
      vote(out, from);
    }
  }

  void on_message(Out& out, NodeId from, const Reply& theirs) {
    if (!awaiting.contains(from)) return out.note("vote nobody waits for");
    highest_of_votes = std::max(highest_of_votes, theirs.highest);
    awaiting.erase(from);
    if (inside()) enter(out);
  }

  void on_message(Out& out, NodeId, const Release& theirs) {
    highest = std::max(highest, theirs.fence);
    voted_for.reset();
    if (queue.empty()) return;
    const NodeId next = queue.front();
    queue.erase(queue.begin());
    vote(out, next);
  }

  void vote(Out& out, NodeId candidate) {
    voted_for = candidate;
    if (candidate == self) {
      on_message(out, self, Reply{highest});
    } else {
      out.send(candidate, Reply{highest});
    }
  }

  void enter(Out& out) {
    ++highest_of_votes.value;
    out.announce(Granted{highest_of_votes});
  }
};
static_assert(Protocol<Maekawa>);

}  // namespace conclave::mutex
