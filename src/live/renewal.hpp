// When a group begins anew. The classic algorithms assume that nobody fails; real processes are restarted,
// and then the others hold promises of somebody who no longer knows of them. So an algorithm runs in epochs:
// in each it starts from scratch, as the paper has it, among a fixed set of members, of whom none has failed
// since. This decides when an epoch begins, as a value without sockets or clocks.
//
// Whoever sees that the present epoch cannot go on proposes a greater one. Everybody who hears of it leaves
// the present one, once its own client is not inside, and says `Ready` to all members of the new one; it
// begins where `Ready` of all of them has arrived. Hence nobody is inside in an earlier epoch when a later
// one begins: that is all that mutual exclusion across epochs needs. No two epochs have the same counter:
// each proposer takes those that are its own, as many apart as there are members. So fences grow with epochs.
//
// Who knows nothing (its process is new, or it forgot a name that nobody wanted) says so with `fresh`:
// whoever counted on its former self proposes again. docs/decisions/0015-epochs.md has the argument.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ensure.hpp"
#include "core/node_set.hpp"

namespace conclave::live {

struct Epoch {
  std::uint64_t counter = 0;
  NodeId proposer = {};
  auto operator<=>(const Epoch&) const = default;
};

// I have left every epoch before this one, and nobody is inside at my place.
struct Ready {
  Epoch epoch = {};
  NodeSet members = {};
  bool fresh = false;  // the sender knew of no epoch before this
  bool operator==(const Ready&) const = default;
};

struct Renewal {
  enum class Phase : std::uint8_t {
    asleep,     // of no epoch at all
    leaving,    // a greater epoch is known; the client is inside, or a lease is waited out
    gathering,  // waiting for the others' Ready
    running,
  };

  struct Out {
    struct Send {
      NodeId to;
      Ready ready;
    };
    std::vector<Send> sends = {};
    std::vector<std::pair<NodeId, Epoch>> gone = {};  // who is to be told that we forget this epoch
    bool ended = false;  // the epoch that ran is over: its process is to be forgotten
    bool begun = false;  // the present one begins
    void clear() {
      sends.clear();
      gone.clear();
      ended = begun = false;
    }
  };

  NodeId self = {};
  NodeSet everyone = {};    // as configured; what is a majority is judged by this
  NodeSet absent = {};      // evicted, for the time being
  std::uint64_t floor = 0;  // epochs up to this one are over, as far as we remember
  Phase phase = Phase::asleep;
  Epoch epoch = {};      // the greatest we know of
  NodeSet members = {};  // of it
  NodeSet ready = {};    // who is ready for it
  bool fresh = true;     // we were asleep before it
  bool wanted = false;   // somebody here wants the lock, or has it
  bool held = false;     // somebody is inside here, or might be: no epoch is left

  bool operator==(const Renewal&) const = default;

  NodeSet missing() const {
    NodeSet result;
    if (phase == Phase::asleep) return result;
    for (NodeId node : members) {
      if (!ready.contains(node)) result.insert(node);
    }
    return result;
  }
  // Present members are enough to begin: no other set of members can have one of its own.
  bool has_quorum() const { return 2 * present().size() > everyone.size() && present().contains(self); }

  void want(Out& out) {
    wanted = true;
    if (phase == Phase::asleep) propose(out);
  }
  // Nobody here wants it any more; the epoch goes on, others may want it.
  void leave_be() { wanted = false; }

  void hold() { held = true; }
  void let_go(Out& out) {
    held = false;
    if (phase == Phase::leaving) say_ready(out);
  }

  // Promises of this epoch are broken: a member restarted, or messages were lost, or the members changed.
  void renew(Out& out) {
    if (phase == Phase::asleep) return;
    if (wanted || held) return propose(out);
    sleep(out);
  }

  // Nobody has wanted the name for long: its state is forgotten but for the floor.
  void sleep(Out& out) {
    if (phase == Phase::asleep) return;
    ensure(!held, "nobody sleeps while somebody is inside");
    out.ended = phase == Phase::running;
    // Somebody may wait for an answer that we would give later, and now never will.
    for (NodeId node : members) {
      if (node != self) out.gone.emplace_back(node, epoch);
    }
    floor = std::max(floor, epoch.counter);
    phase = Phase::asleep;
    epoch = {};
    members.clear();
    ready.clear();
    fresh = true;
  }

  void on_ready(Out& out, NodeId from, const Ready& theirs) {
    if (!acceptable(from, theirs)) return;
    if (theirs.epoch < epoch) return on_earlier(out, from, theirs);
    if (theirs.epoch == epoch) {
      // It was ready already, and now it says so as somebody who knows nothing: it is somebody else.
      if (theirs.fresh && ready.contains(from)) return propose(out);
      ready.insert(from);
      return begin_if_complete(out);
    }
    if (theirs.epoch.counter <= floor || theirs.members.intersects(absent)) {
      floor = std::max(floor, theirs.epoch.counter);
      return propose(out);
    }
    adopt(out, theirs.epoch, theirs.members);
    ready.insert(from);
    begin_if_complete(out);
  }

  // The sender runs an epoch that we know nothing of, or left.
  enum class Verdict : std::uint8_t { deliver, keep, drop, unknown };
  Verdict on_inner(NodeId from, const Epoch& theirs) const {
    if (theirs < epoch || !everyone.contains(from)) return Verdict::drop;
    if (theirs > epoch) return Verdict::unknown;
    if (phase == Phase::running) return Verdict::deliver;
    return phase == Phase::gathering ? Verdict::keep : Verdict::drop;
  }

  // A peer knows nothing of an epoch that we take it for a member of.
  void on_gone(Out& out, NodeId from, const Epoch& theirs) {
    if (theirs == epoch && members.contains(from)) renew(out);
  }

 private:
  NodeSet present() const {
    NodeSet result;
    for (NodeId node : everyone) {
      if (!absent.contains(node)) result.insert(node);
    }
    return result;
  }

  bool acceptable(NodeId from, const Ready& theirs) const {
    const auto known = [&](NodeId node) { return everyone.contains(node); };
    return theirs.members.contains(self) && theirs.members.contains(from) &&
           theirs.members.contains(theirs.epoch.proposer) && 2 * theirs.members.size() > everyone.size() &&
           theirs.members.size() <= everyone.size() && std::ranges::all_of(theirs.members, known);
  }

  void propose(Out& out) {
    // Whoever comes back lets us try again; until then who is inside leaves for an epoch with everybody.
    if (!has_quorum() && !held) return sleep(out);
    adopt(out, {next_of_ours(std::max(epoch.counter, floor)), self}, has_quorum() ? present() : everyone);
    begin_if_complete(out);
  }

  // The first counter above this one that nobody else would take. Were it that of an epoch that another
  // proposed, one could begin after the other, and count the same fences again.
  std::uint64_t next_of_ours(std::uint64_t above) const {
    const auto place =
        static_cast<std::uint64_t>(std::ranges::count_if(everyone, [&](NodeId node) { return node < self; }));
    const std::uint64_t size = everyone.size();
    const std::uint64_t first = above + 1;
    return first + (place + size - first % size) % size;
  }

  void adopt(Out& out, const Epoch& greater, const NodeSet& among) {
    ensure(greater > epoch, "epochs grow");
    if (phase == Phase::running) out.ended = true;
    fresh = phase == Phase::asleep;
    epoch = greater;
    members = among;
    ready.clear();
    phase = Phase::leaving;
    if (!held) say_ready(out);
  }

  void say_ready(Out& out) {
    phase = Phase::gathering;
    ready.insert(self);
    for (NodeId node : members) {
      if (node != self) out.sends.push_back({node, {epoch, members, fresh}});
    }
    begin_if_complete(out);
  }

  void begin_if_complete(Out& out) {
    if (phase != Phase::gathering || ready.size() != members.size()) return;
    phase = Phase::running;
    out.begun = true;
  }

  // Usually two proposals crossed and the sender will adopt ours. Unless it has lost what it knew, or ours is
  // none of its business.
  void on_earlier(Out& out, NodeId from, const Ready& theirs) {
    const bool left_out = !members.contains(from);
    if (!theirs.fresh && !left_out) return;
    if (left_out || ready.contains(from) || phase == Phase::running) return propose(out);
    if (phase == Phase::gathering) out.sends.push_back({from, {epoch, members, false}});
  }
};

}  // namespace conclave::live
