// A replicated log as its users see it: everybody may propose commands, and every node is told the same
// sequence of them, one place after the other. One statement of the problem covers every algorithm of this
// folder.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::log {

// A command, with who proposed it and as which of its own. A proposal may be repeated on the way; by its
// serial number the log takes it once.
struct Entry {
  NodeId client = {};
  std::uint64_t serial = 0;  // from 1, growing
  std::uint64_t value = 0;
  bool operator==(const Entry&) const = default;
};

// A client proposes one command at a time: the next only when it has seen the last one in the log.
struct Propose {
  std::uint64_t serial = 0;
  std::uint64_t value = 0;
  bool operator==(const Propose&) const = default;
};

// The log has this at this place, for ever. Every node announces the places 1, 2, 3, … in this order, and
// again from 1 after a crash.
struct Committed {
  std::uint64_t index = 0;
  std::optional<Entry> entry = {};  // none: the place is void, or repeats a command of an earlier place
  bool operator==(const Committed&) const = default;
};
struct Leading {  // this node takes the lead
  std::uint64_t term = 0;
  bool operator==(const Leading&) const = default;
};

struct Spec {
  using Command = std::variant<Propose>;
  using Event = std::variant<Committed, Leading>;

  struct Client {
    NodeId self = {};
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;  // proposals made so far; the serial number of the last
    bool waiting = false;        // for it to be committed
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return !waiting && wishes == 0; }
    std::optional<Command> next() const {
      if (waiting || wishes == 0) return std::nullopt;
      const std::uint64_t serial = requests + 1ull;
      return Propose{serial, 1000ull * self.value + serial};
    }
    bool may(const Command&) const { return !waiting; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client proposes one command at a time");
      waiting = true;
      ++requests;
      if (wishes > 0) --wishes;
    }
    // Nobody is left who waits for the proposal; the log may take it all the same.
    void crash() { waiting = false; }
    void see(const Event& event) {
      const auto* committed = std::get_if<Committed>(&event);
      if (!committed || !committed->entry) return;
      if (committed->entry->client == self && committed->entry->serial == requests) waiting = false;
    }
  };
};

}  // namespace conclave::log
