// Discovery through a registry.
// A registry, known to all, maps names to processes. An instance registers when it joins, then asks for the
// list again and again until as many are on it as are expected; from then on the list does not change. All
// hold the same list, so all take the same one for coordinator: the greatest identity that is not known to
// be down.
//
// Source    common practice: a name server, the registry of remote method invocation, a tracker.
// Assumes   reliable links, a registry that does not fail, and a reliable failure detector.
// Costs     one registration an instance, and two messages every time it asks.
#pragma once
#include <algorithm>
#include <map>
#include <string>

#include "core/protocol.hpp"
#include "protocols/membership/spec.hpp"

namespace conclave::membership {

struct Registry {
  struct Register {
    std::string name = {};
    Member member = {};
    bool operator==(const Register&) const = default;
  };
  struct List {
    bool operator==(const List&) const = default;
  };
  struct Members {
    std::vector<Member> members = {};
    bool operator==(const Members&) const = default;
  };

  using Spec = membership::Spec;
  using Message = std::variant<Register, List, Members>;
  enum class Timer { poll };
  using Out = Effects<Registry>;
  struct Setup {
    std::map<NodeId, Identity> identities = {};
    std::uint32_t expected = 3;
    Ticks poll_every = {50};
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .crashes = Crashes::stop};
  static constexpr bool has_server = true;

  NodeId registry = {};
  Member self = {};
  std::uint32_t expected = 0;
  Ticks poll_every = {};
  std::map<std::string, Member> names = {};  // at the registry
  std::vector<Member> members = {};          // of an instance, once it has found them
  NodeSet down = {};

  bool operator==(const Registry&) const = default;

  static Registry start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    Registry node = {.registry = all.min(),
                     .self = {.node = self},
                     .expected = setup.expected,
                     .poll_every = setup.poll_every};
    if (const auto mine = setup.identities.find(self); mine != setup.identities.end())
      node.self.identity = mine->second;
    return node;
  }

  void on_command(Out& out, const Join&) {
    out.send(registry, Register{"instance " + std::to_string(self.node.value), self});
    ask(out);
  }

  void on_command(Out& out, const Lost& gone) {
    down.insert(gone.node);
    appoint(out);
  }

  void on_message(Out&, NodeId, const Register& registration) {
    names[registration.name] = registration.member;
    down.erase(registration.member.node);
  }

  void on_message(Out& out, NodeId from, const List&) {
    Members all;
    for (const auto& [name, member] : names) {
      if (!down.contains(member.node)) all.members.push_back(member);
    }
    out.send(from, std::move(all));
  }

  void on_message(Out& out, NodeId, const Members& all) {
    if (!members.empty()) return out.note("the list is complete already");
    if (all.members.size() < expected) return out.arm(Timer::poll, {poll_every, poll_every});
    members = all.members;
    std::ranges::sort(members);
    out.announce(Found{members});
    appoint(out);
  }

  void on_timer(Out& out, Timer) { ask(out); }

  void ask(Out& out) { out.send(registry, List{}); }

  void appoint(Out& out) {
    const auto up = [&](const Member& member) { return !down.contains(member.node); };
    const auto last = std::ranges::find_if(members.rbegin(), members.rend(), up);
    if (last != members.rend()) out.announce(Coordinator{*last});
  }
};

}  // namespace conclave::membership
