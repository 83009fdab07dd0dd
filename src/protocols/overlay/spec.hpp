// Superpeer selection as its users see it: the nodes of an overlay network choose some among them to serve
// the others, and everybody is told whose it is.
// One statement of the problem covers every algorithm of this folder.
#pragma once
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::overlay {

// The node takes part in the selection.
struct Begin {
  bool operator==(const Begin&) const = default;
};

// It belongs to that superpeer, so many hops away; a superpeer belongs to itself.
struct Joined {
  NodeId superpeer = {};
  std::uint32_t hops = 0;
  bool operator==(const Joined&) const = default;
};

struct Spec {
  using Command = std::variant<Begin>;
  using Event = std::variant<Joined>;

  // Begins once, and is content when it is told. A selection that others began may tell it before it asks.
  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    bool waiting = false;
    std::optional<Joined> joined = {};
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return joined || (wishes == 0 && !waiting); }
    std::optional<Command> next() const {
      if (wishes > 0 && !joined && !waiting) return Begin{};
      return std::nullopt;
    }
    bool may(const Command&) const { return !joined && !waiting; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client begins once");
      waiting = true;
      ++requests;
      if (wishes > 0) --wishes;
    }
    void crash() { waiting = false; }
    void see(const Event& event) {
      ensure(!joined, "a node is told once where it belongs");
      joined = std::get<Joined>(event);
      waiting = false;
    }
  };
};

}  // namespace conclave::overlay
