// Consensus as its users see it: everybody may propose a value, and everybody is told the one decided.
// One statement of the problem covers every algorithm of this folder.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::consensus {

using Value = std::int64_t;

struct Propose {
  Value value = 0;
  bool operator==(const Propose&) const = default;
};

struct Decided {
  Value value = 0;
  bool operator==(const Decided&) const = default;
};

struct Spec {
  using Command = std::variant<Propose>;
  using Event = std::variant<Decided>;

  // Proposes its value once, and waits for the decision whether or not it proposed.
  struct Client {
    Value value = 0;
    bool proposes = true;  // false: it has nothing to propose, and only wants to know
    bool waits = true;     // false: a traitor, whose decision nobody asks for
    bool proposed = false;
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;  // proposals made so far
    std::optional<Value> decided = {};
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return decided || !waits; }
    std::optional<Command> next() const {
      if (wishes > 0 && proposes && !proposed && !decided) return Propose{value};
      return std::nullopt;
    }
    bool may(const Command&) const { return proposes && !proposed; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client proposes once");
      proposed = true;
      ++requests;
      if (wishes > 0) --wishes;
    }
    // The proposal may be lost with the process: if that comes back, the client makes it again.
    void crash() {
      if (proposed && !decided) ++wishes;
      proposed = false;
    }
    // A second, other decision is for a monitor to complain about, not for the client.
    void see(const Event& event) {
      if (!decided) decided = std::get<Decided>(event).value;
    }
  };
};

}  // namespace conclave::consensus
