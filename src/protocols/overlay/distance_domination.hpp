// Distance domination by voting: superpeers such that nobody is more than k hops from one.
// For k rounds everybody tells its neighbours of the best candidate it has heard of, so that each knows the
// best within k hops. It votes for that one, itself included, along the way by which it heard of it. Whoever
// has a vote is a superpeer and says so k hops far; everybody joins the nearest.
//
// Paper     the flooding is that of A. Amis, R. Prakash, T. Vuong, D. Huynh. Max-min d-cluster formation in
//           wireless ad hoc networks. INFOCOM 2000, without its second half.
// Assumes   synchronous rounds, reliable links, no failures. The graph need not be connected.
// Costs     3k rounds, and one more to tell the clients; on E edges at most 2kE + kN + 2E messages: what was
//           said before is not said again.
// Suffers   where neighbours' ids are consecutive, as on a ring numbered in order: almost everybody is the
//           best for somebody. Overlays whose ids are hashes do not have that (variant `hashed`).
// Keeps     every node has voted, and the one it voted for is at most k hops away.
// Departs   votes for the same candidate merge on their way: that there is one is all that counts.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "core/graph.hpp"
#include "core/protocol.hpp"
#include "core/random.hpp"
#include "protocols/overlay/spec.hpp"

namespace conclave::overlay {

struct DistanceDomination {
  // Greater is better.
  struct Candidate {
    std::uint64_t rank = 0;  // 0 where only ids count
    NodeId node = {};
    auto operator<=>(const Candidate&) const = default;
  };

  struct Best {
    Candidate candidate = {};
    bool operator==(const Best&) const = default;
  };
  struct Vote {
    NodeId candidate = {};
    bool operator==(const Vote&) const = default;
  };
  struct Superpeer {
    std::uint32_t hops = 0;  // from whoever hears this
    NodeId node = {};
    auto operator<=>(const Superpeer&) const = default;
  };

  using Spec = overlay::Spec;
  using Message = std::variant<Best, Vote, Superpeer>;
  using Timer = NoTimer;
  using Out = Effects<DistanceDomination>;
  struct Setup {
    std::shared_ptr<const Graph> graph = {};  // none: everybody is everybody's neighbour
    std::uint32_t reach = 1;                  // k
    bool by_degree = false;                   // a candidate with more neighbours is better
    bool by_hash = false;                     // a candidate whose id scrambles to more is better
    bool local_maxima = false;                // deviation: only who is the best for itself is a superpeer
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .timing = Timing::synchronous};

  // A candidate, and the neighbour it was heard from.
  struct Heard {
    Candidate candidate = {};
    NodeId from = {};
    bool operator==(const Heard&) const = default;
  };

  NodeId self = {};
  NodeSet neighbours = {};
  std::uint32_t reach = 1;
  bool local_maxima = false;
  std::vector<Heard> heard = {};  // each better than the one before; the first is oneself
  Heard news = {};                // the best of this round
  bool superpeer = false;
  NodeSet passing = {};  // candidates whose votes leave with the next round
  NodeSet passed = {};   // … and those whose votes have left
  std::optional<Superpeer> nearest = {};
  bool joined = false;

  bool operator==(const DistanceDomination&) const = default;

  static DistanceDomination start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    DistanceDomination node = {.self = self, .reach = setup.reach, .local_maxima = setup.local_maxima};
    if (setup.graph) {
      for (NodeId neighbour : setup.graph->neighbours(self)) node.neighbours.insert(neighbour);
    } else {
      node.neighbours = all.without(self);
    }
    const std::uint64_t rank = setup.by_degree ? node.neighbours.size()
                               : setup.by_hash ? scramble(self.value)
                                               : 0;
    node.heard.push_back({{rank, self}, self});
    node.news = node.heard.back();
    return node;
  }

  // The rounds begin by themselves.
  void on_command(Out&, const Begin&) {}

  void on_round(Out& out, std::uint32_t round) {
    if (round <= reach) return flood(out, round == 1);
    if (round == reach + 1) vote();
    if (round <= 2 * reach) return pass_votes(out);
    if (round == 2 * reach + 1 && superpeer) nearest = {0, self};
    join(out);
  }

  void on_message(Out&, NodeId from, const Best& theirs) {
    if (theirs.candidate > news.candidate) news = {theirs.candidate, from};
  }
  void on_message(Out&, NodeId, const Vote& theirs) {
    if (theirs.candidate == self) {
      superpeer = true;
    } else if (!passed.contains(theirs.candidate)) {
      passing.insert(theirs.candidate);
    }
  }
  // The nearest is heard first; of those heard in the same round we take the least.
  void on_message(Out&, NodeId, const Superpeer& theirs) {
    if (!nearest || theirs < *nearest) nearest = theirs;
  }

  bool take_news() {
    if (news.candidate <= heard.back().candidate) return false;
    heard.push_back(news);
    return true;
  }

  void flood(Out& out, bool first) {
    if (take_news() || first) out.broadcast(neighbours, Best{heard.back().candidate});
  }

  void vote() {
    take_news();
    const NodeId best = heard.back().candidate.node;
    if (best == self) {
      superpeer = true;
    } else if (!local_maxima) {
      passing.insert(best);
    }
  }

  // Whoever told us of a candidate had it as its best then, and knows in turn from whom.
  void pass_votes(Out& out) {
    for (NodeId candidate : passing) {
      const auto how = std::ranges::find(heard, candidate, [](const Heard& h) { return h.candidate.node; });
      ensure(how != heard.end(), "votes go back the way the candidate's name came");
      out.send(how->from, Vote{candidate});
      passed.insert(candidate);
    }
    passing.clear();
  }

  void join(Out& out) {
    if (joined || !nearest) return;
    joined = true;
    if (nearest->hops < reach) out.broadcast(neighbours, Superpeer{nearest->hops + 1, nearest->node});
    out.announce(Joined{nearest->node, nearest->hops});
  }
};
static_assert(Protocol<DistanceDomination>);

}  // namespace conclave::overlay
