// What elections promise, for the checker. The same properties as in the monitors of traces.
//
//   E1         whoever took part ends with no leader or with the right one
//   E2         once somebody has started an election, every live process ends with a leader
//   agreement  no two live processes end with different leaders
//   stability  once all live processes have agreed, nobody turns to another leader while the old one works
//
// A process takes part when it says Participating, or is told of a winner after its start. A leader that it
// announces in its very start is the one elected before the run: known, but no election of this run.
//
// And where every part of a broken network has a leader of its own:
//
//   I1  a group has one leader: a number names one leader for ever, who founds the group once, and nobody is
//       in it before
//   I2  everybody who is up ends in one group
//   I3  the groups that a process joins have ever greater numbers, crashes or not
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/judge.hpp"
#include "protocols/election/spec.hpp"

namespace conclave::election {

// Whom E1 asks for.
enum class Winner : std::uint8_t {
  greatest_live,  // the live process of the greatest id
  any_live,       // one live process, the same for all: algorithms that keep a working leader
};

template <Winner winner>
struct LeaderJudge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool e1 = false;
    bool e2 = false;
    bool agreement = false;
    bool stability = false;
    bool operator==(const Asked&) const = default;
  };
  // Whom they turned to last since all agreed for the first time.
  struct Favourite {
    NodeId leader = {};
    bool has_failed = false;  // since then
    bool operator==(const Favourite&) const = default;
  };

  Asked asked = {};
  NodeSet up = {};
  std::map<NodeId, NodeId> following = {};  // of live processes that know a leader
  NodeSet took_part = {};                   // since they last came up
  // Something has happened: who hears of a leader now took part. May be set by who knows that all have
  // started.
  bool past_the_start = false;
  bool started = false;                     // by a client
  std::optional<Favourite> favourite = {};  // stability
  std::vector<Wrong> complaints = {};
  bool operator==(const LeaderJudge&) const = default;

  static std::vector<std::string> properties() { return {"E1", "E2", "agreement", "stability"}; }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command&) { return true; }

  static LeaderJudge start(const NodeSet& all, const std::vector<std::string>& properties) {
    return {.asked = {.e1 = asks_for(properties, "E1"),
                      .e2 = asks_for(properties, "E2"),
                      .agreement = asks_for(properties, "agreement"),
                      .stability = asks_for(properties, "stability")},
            .up = all};
  }

  void on_command(NodeId, const Command&, const Past&) { past_the_start = started = true; }

  void on_event(NodeId node, const Event& event) {
    if (const auto* elected = std::get_if<Elected>(&event)) {
      hear_of(node, elected->leader);
    } else if (const auto* joined = std::get_if<Joined>(&event)) {
      hear_of(node, joined->leader);
    } else {
      past_the_start = true;
      took_part.insert(node);
      following.erase(node);
    }
    note_agreement();
  }

  void on_crash(NodeId node) {
    past_the_start = true;
    up.erase(node);
    took_part.erase(node);
    following.erase(node);
    if (favourite && favourite->leader == node) favourite->has_failed = true;
    note_agreement();
  }
  void on_recover(NodeId node) { up.insert(node); }

  std::vector<Wrong> wrong() const { return complaints; }

  // Whom the live processes follow: one name if they agree.
  std::string outcome() const {
    NodeSet leaders;
    for (const auto& [follower, leader] : following) leaders.insert(leader);
    return in_words(leaders);
  }

  std::vector<Wrong> at_end(std::span<const Last<Client>>) const {
    std::vector<Wrong> wrongs;
    if (asked.e1) judge_winner(wrongs);
    if (asked.e2 && (started || !took_part.empty())) {
      NodeSet leaderless = up;
      for (const auto& [node, leader] : following) leaderless.erase(node);
      if (!leaderless.empty())
        wrongs.push_back(
            {"E2", in_words(leaderless) + (leaderless.size() == 1 ? " ends" : " end") + " without a leader"});
    }
    if (asked.agreement) {
      if (const auto dissenter = first_dissenter(up))
        wrongs.push_back({"agreement", disagreement(*dissenter)});
    }
    return wrongs;
  }

  static std::vector<std::string_view> sometimes() { return {"somebody leads", "everybody agrees"}; }
  // Only where an election of this run has brought it about: the leader from before proves nothing.
  std::uint32_t seen() const {
    bool somebody_leads = false;
    for (const auto& [node, leader] : following) {
      if (node == leader && took_part.contains(node)) somebody_leads = true;
    }
    const bool everybody_agrees = agreed() && !took_part.empty();
    return (somebody_leads ? 1u : 0u) | (everybody_agrees ? 2u : 0u);
  }

  void hear_of(NodeId node, NodeId leader) {
    following[node] = leader;
    if (past_the_start) took_part.insert(node);
    if (!favourite || favourite->leader == leader) return;
    if (!favourite->has_failed)
      complaints.push_back({"stability", in_words(node) + " turned to " + in_words(leader) + " although " +
                                             in_words(favourite->leader) + " works"});
    favourite = Favourite{leader, !up.contains(leader)};
  }

  bool agreed() const { return !following.empty() && following.size() == up.size() && !first_dissenter(up); }
  void note_agreement() {
    if (!asked.stability || favourite || !agreed()) return;
    const NodeId leader = following.begin()->second;
    favourite = Favourite{leader, !up.contains(leader)};
  }

  // Of these processes, the first that follows somebody else than the first of all followers does.
  std::optional<NodeId> first_dissenter(const NodeSet& among) const {
    for (const auto& [node, leader] : following) {
      if (among.contains(node) && leader != following.begin()->second) return node;
    }
    return std::nullopt;
  }
  std::string disagreement(NodeId dissenter) const {
    const auto& [first, leader] = *following.begin();
    return in_words(first) + " follows " + in_words(leader) + ", and " + in_words(dissenter) + " follows " +
           in_words(following.at(dissenter));
  }

  void judge_winner(std::vector<Wrong>& wrongs) const {
    for (const auto& [node, leader] : following) {
      if (!took_part.contains(node)) continue;
      if (winner == Winner::greatest_live && leader != up.max())
        return wrongs.push_back({"E1", in_words(node) + " elected " + in_words(leader) +
                                           ", but the greatest live process is " + in_words(up.max())});
      if (winner == Winner::any_live && !up.contains(leader))
        return wrongs.push_back({"E1", in_words(node) + " elected " + in_words(leader) + ", which is down"});
    }
    if (winner == Winner::greatest_live) return;
    if (const auto dissenter = first_dissenter(took_part)) wrongs.push_back({"E1", disagreement(*dissenter)});
  }
};

using Judge = LeaderJudge<Winner::greatest_live>;
using PoliteJudge = LeaderJudge<Winner::any_live>;
static_assert(FamilyJudge<Judge> && FamilyJudge<PoliteJudge>);

// A process belongs to a group from Joined until it says Participating or crashes.
struct GroupJudge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool i1 = false;
    bool i2 = false;
    bool i3 = false;
    bool operator==(const Asked&) const = default;
  };

  Asked asked = {};
  NodeSet up = {};
  std::map<NodeId, Group> group_of = {};  // now
  std::map<NodeId, Group> newest = {};    // I3: ever
  std::map<Group, NodeId> leaders = {};   // I1: of all groups that ever were
  std::vector<Wrong> complaints = {};
  bool operator==(const GroupJudge&) const = default;

  static std::vector<std::string> properties() { return {"I1", "I2", "I3"}; }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command&) { return true; }

  static GroupJudge start(const NodeSet& all, const std::vector<std::string>& properties) {
    return {.asked = {.i1 = asks_for(properties, "I1"),
                      .i2 = asks_for(properties, "I2"),
                      .i3 = asks_for(properties, "I3")},
            .up = all};
  }

  void on_command(NodeId, const Command&, const Past&) {}
  void on_event(NodeId node, const Event& event) {
    if (std::holds_alternative<Participating>(event)) group_of.erase(node);
    const auto* joined = std::get_if<Joined>(&event);
    if (!joined) return;
    group_of[node] = joined->group;
    if (asked.i1) note_leader(node, *joined);
    if (asked.i3) note_number(node, joined->group);
  }
  void on_crash(NodeId node) {
    up.erase(node);
    group_of.erase(node);
  }
  void on_recover(NodeId node) { up.insert(node); }

  std::vector<Wrong> wrong() const { return complaints; }

  std::vector<Wrong> at_end(std::span<const Last<Client>>) const {
    if (!asked.i2) return {};
    for (NodeId node : up) {
      if (!group_of.contains(node)) return {{"I2", in_words(node) + " ends without a group"}};
    }
    for (const auto& [node, group] : group_of) {
      const auto& [first, firsts] = *group_of.begin();
      if (group != firsts)
        return {{"I2", in_words(first) + " ends in " + named(firsts) + ", " + in_words(node) + " in " +
                           named(group)}};
    }
    return {};
  }

  static std::vector<std::string_view> sometimes() { return {"somebody leads", "everybody is in one group"}; }
  std::uint32_t seen() const {
    bool somebody_leads = false;
    bool one_group = !up.empty() && group_of.size() == up.size();
    for (const auto& [node, group] : group_of) {
      if (group.founder == node) somebody_leads = true;
      if (group != group_of.begin()->second) one_group = false;
    }
    return (somebody_leads ? 1u : 0u) | (one_group ? 2u : 0u);
  }

  void note_leader(NodeId node, const Joined& joined) {
    const auto [known, is_new] = leaders.try_emplace(joined.group, joined.leader);
    const bool founds = joined.leader == node;
    if (known->second != joined.leader)
      complaints.push_back({"I1", in_words(node) + " has " + in_words(joined.leader) + " for the leader of " +
                                      named(joined.group) + ", whose leader was " + in_words(known->second)});
    if (is_new && !founds)
      complaints.push_back({"I1", in_words(node) + " joined " + named(joined.group) + ", which " +
                                      in_words(joined.leader) + " has not founded"});
    if (!is_new && founds)
      complaints.push_back({"I1", in_words(node) + " founded " + named(joined.group) + " twice"});
  }

  void note_number(NodeId node, const Group& group) {
    const auto [before, is_new] = newest.try_emplace(node, group);
    if (is_new) return;
    if (group <= before->second)
      complaints.push_back(
          {"I3", in_words(node) + " joined " + named(group) + " after " + named(before->second)});
    before->second = group;
  }

  static std::string named(const Group& group) {
    return "group " + std::to_string(group.number) + " of " + in_words(group.founder);
  }
};
static_assert(FamilyJudge<GroupJudge>);

}  // namespace conclave::election
