// Invitation election: a leader for every group of processes that can talk to each other.
// A leader looks from time to time for other leaders and invites them, with their members, into a new group
// of its own. A member asks its leader from time to time whether it still belongs to it, and founds a group
// for itself if the answer is no or does not come. So groups fall apart where links break, processes die or
// are slow, and grow together when they can.
//
// Paper     H. Garcia-Molina. Elections in a Distributed Computing System. IEEE Trans. Computers C-31(1),
//           1982.
// Assumes   nothing of time, links or crashes for its safety; a disk that keeps one number. That everybody
//           ends in one group takes a while in which the bounds hold.
// Costs     no bound: groups merge as often as links break. To merge two groups of n processes in all, n-1
//           invitations, n-1 acceptances, n-1 words that all is ready; at rest, a leader's n-1 questions a
//           period and two messages a member.
// Departs   who is no leader does not answer AreYouCoordinator, for silence says no. Calls of the paper that
//           wait for a reply are messages and timers here.
// Adds      numbers that grow: a new group has a greater number than all its founder has heard of, and nobody
//           joins a group that is older than its own.
//
// Why this answers the question that the bully algorithm leaves open. Bully takes silence for death. If a
// process is only slow, or cut off, that is wrong, and two coordinators each believe that they lead
// everybody. Nobody can tell slow from dead without bounds on time, so as long as both parts go on, both have
// a leader. Here silence is only a suspicion, and to act on it is harmless: a leader leads its group and
// nobody else. The price is E1: there may be several leaders at a time, and the one that remains need not be
// the greatest process. What is kept: a group has one leader, who founded it and whom everybody in it has
// accepted; and whoever meets two leaders knows by their numbers which one to refuse.
//
//   S.c, S.g     group.founder, group
//   S.s          phase: Election is forming, Reorganization is joining, Normal is normal
//   S.Up         members
//   S.counter    highest
//   Check, Timeout, Merge, Recovery      probe, answers_are_due, found with somebody, found with nobody
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/election/failure_detector.hpp"
#include "protocols/election/rank.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

struct Invitation {
  struct AreYouCoordinator {
    bool operator==(const AreYouCoordinator&) const = default;
  };
  struct Coordinating {
    std::uint64_t highest = 0;
    bool operator==(const Coordinating&) const = default;
  };
  struct AreYouThere {
    Group group = {};
    bool operator==(const AreYouThere&) const = default;
  };
  struct There {
    Group group = {};
    bool yes = false;
    bool operator==(const There&) const = default;
  };
  struct Invite {
    Group group = {};
    bool operator==(const Invite&) const = default;
  };
  struct Accept {
    Group group = {};
    bool operator==(const Accept&) const = default;
  };
  struct Ready {
    Group group = {};
    bool operator==(const Ready&) const = default;
  };

  using Spec = election::Spec;
  using Message = std::variant<AreYouCoordinator, Coordinating, AreYouThere, There, Invite, Accept, Ready>;
  enum class Timer { probe, answers, merge, accepts, ready };
  using Out = Effects<Invitation>;
  struct Setup {
    Bounds bounds = {.transmission = {10}, .processing = {6}};  // with the disk, and clocks that run fast
  };
  struct Durable {
    std::uint64_t highest = 0;
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};
  static constexpr bool never_rests = true;

  enum class Phase : std::uint8_t {
    forming,  // has invited, and waits for who accepts
    joining,  // has accepted, and waits until the group is ready
    normal,
  };

  NodeId self = {};
  NodeSet peers = {};
  Bounds bounds = {};
  Phase phase = Phase::forming;
  Group group = {};
  NodeSet members = {};           // of a group that we found, ourselves left out
  std::uint64_t highest = 0;      // number heard of
  NodeSet others = {};            // leaders that answered our last question
  FailureDetector detector = {};  // of our leader

  bool operator==(const Invitation&) const = default;
  bool leading() const { return phase == Phase::normal && group.founder == self; }

  static Invitation start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    return recover(self, all, setup, {}, out);
  }

  static Invitation recover(NodeId self, const NodeSet& all, const Setup& setup, const Durable& durable,
                            Out& out) {
    Invitation node = {
        .self = self, .peers = all.without(self), .bounds = setup.bounds, .highest = durable.highest};
    node.found(out, {});
    return node;
  }

  // The application has its doubts: look at once.
  void on_command(Out& out, const Start&) {
    if (phase != Phase::normal) return out.note("a group is being formed already");
    out.disarm(Timer::merge);
    probe(out);
  }

  void on_message(Out& out, NodeId from, const AreYouCoordinator&) {
    if (leading()) out.send(from, Coordinating{highest});
  }

  void on_message(Out& out, NodeId from, const Coordinating& answer) {
    highest = std::max(highest, answer.highest);
    if (!leading()) return out.note("we lead no more");
    others.insert(from);
  }

  void on_message(Out& out, NodeId from, const AreYouThere& question) {
    // While we form or join a group there is nothing to say: our members are invited to it.
    if (phase != Phase::normal) return out.note("between two groups");
    const bool yes = question.group == group && members.contains(from);
    out.send(from, There{question.group, yes});
  }

  void on_message(Out& out, NodeId from, const There& answer) {
    const bool ours = phase == Phase::normal && answer.group == group;
    if (!ours || !detector.heard(from)) return out.note("answer nobody waits for");
    if (!answer.yes) found(out, {});
  }

  void on_message(Out& out, NodeId, const Invite& invitation) {
    highest = std::max(highest, invitation.group.number);
    if (phase != Phase::normal) return out.note("invited while a group is being formed");
    if (invitation.group <= group) return out.note("invited to an older group");
    const NodeId host = invitation.group.founder;
    if (leading()) out.broadcast(members.without(host), invitation);
    leave(out, Phase::joining, invitation.group);
    out.send(host, Accept{group});
    out.arm(Timer::ready, after({4 * wait()}));
  }

  void on_message(Out& out, NodeId from, const Accept& acceptance) {
    if (phase != Phase::forming || acceptance.group != group) return out.note("accepted too late");
    members.insert(from);
  }

  void on_message(Out& out, NodeId, const Ready& word) {
    if (phase != Phase::joining || word.group != group) return out.note("ready too late");
    out.disarm(Timer::ready);
    settle_down(out);
  }

  void on_timer(Out& out, Timer timer) {
    switch (timer) {
      case Timer::probe: return probe(out);
      case Timer::answers: return answers_are_due(out);
      case Timer::merge: return merge(out);
      case Timer::accepts: out.broadcast(members, Ready{group}); return settle_down(out);
      case Timer::ready: return found(out, {});  // the host changed its mind, or a message was lost
    }
  }

  std::uint64_t wait() const { return bounds.answer_within().count; }

  void probe(Out& out) {
    if (leading()) {
      others.clear();
      out.broadcast(peers, AreYouCoordinator{});
    } else {
      detector.expect({group.founder});
      out.send(group.founder, AreYouThere{group});
    }
    out.arm(Timer::answers, after({wait()}));
  }

  void answers_are_due(Out& out) {
    if (!leading()) {
      if (!detector.stop().empty()) return found(out, {});
      return look_again_later(out);
    }
    if (others.empty()) return look_again_later(out);
    // The greatest of the leaders comes first, the others long enough after it to have been invited: if all
    // invited at once, all would be busy and none would come.
    const NodeSet greater = above(others, self);
    if (greater.empty()) return merge(out);
    out.arm(Timer::merge, after({2 * wait() * greater.size()}));
  }

  void merge(Out& out) {
    NodeSet guests = members;
    for (NodeId leader : others) guests.insert(leader);
    found(out, guests);
  }

  void found(Out& out, const NodeSet& guests) {
    leave(out, Phase::forming, {highest + 1, self});
    out.broadcast(guests, Invite{group});
    // Those whom guests bring along answer one hop later than the guests.
    out.arm(Timer::accepts, after({2 * wait()}));
  }

  // A number is a promise never to be in an older group: lose it in a crash and we may found this one twice.
  void leave(Out& out, Phase next, Group joined) {
    phase = next;
    group = joined;
    highest = std::max(highest, joined.number);
    members.clear();
    others.clear();
    detector.stop();
    for (const Timer timer : {Timer::probe, Timer::answers, Timer::merge, Timer::ready}) out.disarm(timer);
    out.persist({highest});
    out.announce(Participating{});
  }

  void settle_down(Out& out) {
    phase = Phase::normal;
    out.announce(Joined{group.founder, group});
    look_again_later(out);
  }

  // At random, so that two leaders that invited each other in vain do not do so for ever.
  void look_again_later(Out& out) { out.arm(Timer::probe, {{4 * wait()}, {8 * wait()}}); }
};
static_assert(Protocol<Invitation>);
static_assert(Recovers<Invitation>);
static_assert(NeverRests<Invitation>);

}  // namespace conclave::election
