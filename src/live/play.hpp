// A run between real processes, as one of them takes part in it: who it is, how it behaves, what came of it.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ticks.hpp"
#include "live/members.hpp"

namespace conclave::live {

// A tick is a millisecond.
struct Casting {
  NodeId self = {};
  std::vector<Peer> members = {};                // this one too
  std::uint32_t entries = 0;                     // how often its client acts by itself
  TickRange think = {{0}, {20}};                 // before it acts
  TickRange hold = {{1}, {5}};                   // inside
  std::uint64_t seed = 1;                        // of the above, of timers and of coins
  std::optional<std::uint32_t> dies_after = {};  // kills itself after so many entries
  bool others_die = false;                       // somebody else does
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  std::string shared = {};  // of programs over shared registers: the file that all map
  std::string data = {};    // of algorithms with a disk: the directory
};

struct Played {
  std::string problem = {};  // empty if it was there to the end
};

}  // namespace conclave::live
