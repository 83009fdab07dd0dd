// Physical clock synchronisation as its users see it: what an application asks of its clock, what it is
// told, and what happens to the clock meanwhile. One tick is one microsecond.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::timesync {

// The application asks what time it is.
struct Read {
  bool operator==(const Read&) const = default;
};

// The answer: the time, and how far off it may be. Of an algorithm with a time server, from true time; of
// one without, from the time on which the clocks agreed.
struct Reading {
  std::int64_t time = 0;
  std::uint64_t bound = 0;
  bool operator==(const Reading&) const = default;
};
// The clock was corrected.
struct Adjusted {
  std::int64_t before = 0;  // what the clock showed
  std::int64_t after = 0;   // what it shows in the same instant, after the correction
  std::int64_t offset = 0;  // what it lacks, or has too much: applied at once or little by little
  std::uint64_t bound = 0;  // how far off the correction may be
  NodeId source = {};       // whose word it is
  std::uint64_t round = 0;  // of the source: corrections of one round lead to one time
  bool first = false;       // nobody had read the clock: it was set, not corrected
  bool operator==(const Adjusted&) const = default;
};

struct Spec {
  using Command = std::variant<Read>;
  using Event = std::variant<Reading, Adjusted>;

  // An application that reads the clock a number of times. A clock that was never set does not answer, so
  // the first reading may have to wait.
  struct Client {
    bool waiting = false;
    std::uint32_t wishes = 0;    // readings it still wants to make
    std::uint32_t requests = 0;  // made so far
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return !waiting && wishes == 0; }
    std::optional<Command> next() const {
      if (waiting || wishes == 0) return std::nullopt;
      return Read{};
    }
    bool may(const Command&) const { return !waiting; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client waits for its answer");
      waiting = true;
      ++requests;
      if (wishes > 0) --wishes;
    }
    void crash() { waiting = false; }
    void see(const Event& event) {
      if (!std::holds_alternative<Reading>(event)) return;
      ensure(waiting, "only who asked is answered");
      waiting = false;
    }
  };
};

}  // namespace conclave::timesync
