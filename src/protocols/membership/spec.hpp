// Membership as its users see it: instances that start separately find each other and agree on one of them
// as coordinator.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/ensure.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave::membership {

// A process number is not unique across machines; together with the machine's address it is. Compared in
// this order, the address as a number.
struct Identity {
  std::uint32_t pid = 0;
  std::uint32_t ip = 0;
  auto operator<=>(const Identity&) const = default;
};

struct Member {
  Identity identity = {};
  NodeId node = {};  // where it is reached
  auto operator<=>(const Member&) const = default;
};

struct Join {
  bool operator==(const Join&) const = default;
};
struct Lost {  // a failure detector says that this one is down
  NodeId node = {};
  bool operator==(const Lost&) const = default;
};

struct Found {  // everybody, in ascending order
  std::vector<Member> members = {};
  bool operator==(const Found&) const = default;
};
struct Coordinator {
  Member member = {};
  bool operator==(const Coordinator&) const = default;
};

struct Spec {
  using Command = std::variant<Join, Lost>;
  using Event = std::variant<Found, Coordinator>;

  // Joins once, and passes on what it hears of crashes.
  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    bool joined = false;
    bool found = false;
    std::vector<NodeId> lost = {};  // not yet passed on
    std::optional<Member> coordinator = {};
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return found ? lost.empty() : !joined && wishes == 0; }
    std::optional<Command> next() const {
      if (!joined && wishes > 0) return Join{};
      if (found && !lost.empty()) return Lost{lost.front()};
      return std::nullopt;
    }
    bool may(const Command& command) const { return std::holds_alternative<Join>(command) != joined; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client joins first, and once");
      ++requests;
      if (wishes > 0) --wishes;
      joined = true;
      if (const auto* gone = std::get_if<Lost>(&command)) std::erase(lost, gone->node);
    }
    void crash() { *this = {.wishes = wishes, .requests = requests}; }
    void see(const Event& event) {
      found = true;
      if (const auto* now = std::get_if<Coordinator>(&event)) coordinator = now->member;
    }
    void told_down(NodeId node) { lost.push_back(node); }
    void told_up(NodeId node) { std::erase(lost, node); }
  };
};

}  // namespace conclave::membership
