// Mutual exclusion as its users see it: what a client asks, what it is told, how it behaves.
// One statement of the problem covers every algorithm of this folder.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave::mutex {

// Grows with every grant, whatever the algorithm. A resource that remembers the highest one it has seen
// can refuse a holder who does not know yet that it lost the lock.
struct Fence {
  using Transparent = void;
  std::uint64_t value = 0;
  auto operator<=>(const Fence&) const = default;
};

struct Acquire {
  bool operator==(const Acquire&) const = default;
};
struct Release {
  bool operator==(const Release&) const = default;
};

struct Granted {
  Fence fence = {};
  bool operator==(const Granted&) const = default;
};
struct Denied {  // busy; the request is queued all the same
  bool operator==(const Denied&) const = default;
};
struct Queued {  // the doorway is behind us: who comes later enters later
  bool operator==(const Queued&) const = default;
};

// When a request was made; the id breaks ties, so no two requests are equal.
struct Stamp {
  std::uint64_t counter = 0;
  NodeId node = {};
  auto operator<=>(const Stamp&) const = default;
};

// The fence of algorithms that grant in the order of stamps: the same order, as one number.
inline Fence fence_of(const Stamp& stamp, std::uint64_t greatest_id) {
  return {stamp.counter * (greatest_id + 1) + stamp.node.value};
}

struct Spec {
  using Command = std::variant<Acquire, Release>;
  using Event = std::variant<Granted, Denied, Queued>;

  // One user of the lock: outside, waiting or inside, with some entries still to make.
  struct Client {
    enum class Phase : std::uint8_t { outside, waiting, inside };
    Phase phase = Phase::outside;
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;  // made so far
    bool operator==(const Client&) const = default;

    bool holding() const { return phase == Phase::inside; }
    bool content() const { return phase == Phase::outside && wishes == 0; }

    // What it does next by itself, after thinking or, inside, holding for a while.
    std::optional<Command> next() const {
      if (phase == Phase::inside) return Release{};
      if (phase == Phase::outside && wishes > 0) return Acquire{};
      return std::nullopt;
    }
    bool may(const Command& command) const {
      return std::holds_alternative<Acquire>(command) ? phase == Phase::outside : phase == Phase::inside;
    }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client waits for its turn");
      if (std::holds_alternative<Release>(command)) {
        phase = Phase::outside;
      } else {
        phase = Phase::waiting;
        ++requests;
        if (wishes > 0) --wishes;
      }
    }
    void crash() { phase = Phase::outside; }  // and with it the request, if one was pending
    void see(const Event& event) {
      if (!std::holds_alternative<Granted>(event)) return;
      ensure(phase == Phase::waiting, "only who asked is let in");
      phase = Phase::inside;
    }
  };
};

}  // namespace conclave::mutex
