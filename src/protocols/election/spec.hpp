// Election as its users see it: somebody starts one, and everybody is told who leads.
// One statement of the problem covers every algorithm of this folder.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave::election {

// The application asks for an election: there is no leader, or the leader does not answer.
struct Start {
  bool operator==(const Start&) const = default;
};

// The node takes part in an election, and has no leader until it is told of one.
struct Participating {
  bool operator==(const Participating&) const = default;
};
struct Elected {
  NodeId leader = {};
  bool operator==(const Elected&) const = default;
};

// Where links break there is a leader in every part: processes form groups, each with its own. Numbers grow,
// so that a resource that remembers the greatest it has seen can refuse the leader of an older group.
struct Group {
  std::uint64_t number = 0;
  NodeId founder = {};
  auto operator<=>(const Group&) const = default;
};
struct Joined {
  NodeId leader = {};
  Group group = {};
  bool operator==(const Joined&) const = default;
};

struct Spec {
  using Command = std::variant<Start>;
  using Event = std::variant<Participating, Elected, Joined>;

  // Starts elections of its own accord, and whenever it hears that the leader it knows is down.
  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;  // elections started so far
    bool participating = false;
    std::optional<NodeId> leader = {};
    NodeSet down = {};      // as the failure detector says
    bool bereaved = false;  // its leader is down, and it has not reacted yet
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return wishes == 0 && !participating && !bereaved; }
    std::optional<Command> next() const {
      if (bereaved || wishes > 0) return Start{};
      return std::nullopt;
    }
    bool may(const Command&) const { return true; }
    void wish() { ++wishes; }
    void issue(const Command&) {
      ++requests;
      if (bereaved) {
        bereaved = false;
      } else if (wishes > 0) {
        --wishes;
      }
    }
    void crash() { *this = {.wishes = wishes, .requests = requests}; }
    void see(const Event& event) {
      if (const auto* elected = std::get_if<Elected>(&event)) {
        participating = false;
        leader = elected->leader;
        bereaved = down.contains(elected->leader);  // it won and died before we heard of it
      } else if (const auto* joined = std::get_if<Joined>(&event)) {
        participating = false;
        leader = joined->leader;
      } else {
        participating = true;
        leader.reset();
      }
    }
    void told_down(NodeId node) {
      down.insert(node);
      if (leader == node) bereaved = true;
    }
    void told_up(NodeId node) { down.erase(node); }
    bool answers_a_crash() const { return bereaved; }
  };
};

}  // namespace conclave::election
