// One simulated run: what to run it with, and what came of it.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "core/ticks.hpp"
#include "sim/delay.hpp"
#include "sim/faults.hpp"
#include "sim/script.hpp"

namespace conclave::sim {

struct Options {
  std::uint32_t nodes = 5;    // clients; an algorithm with a server has one node more
  std::uint32_t entries = 3;  // per client
  Delay think = {Delay::Shape::uniform, 0, 100};
  Delay hold = {Delay::Shape::uniform, 1, 20};
  DelayModel delay = {};
  double chatter = 0;  // chance that a request is followed by an application message
  Faults faults = {};
  std::uint64_t seed = 1;
  std::optional<Script> script = {};  // instead of clients of their own accord and faults from the seed
  bool break_fifo = false;            // unordered links for an algorithm that assumes FIFO
  std::uint64_t sync_ticks = 0;       // how long persisting takes
  std::uint64_t step_limit = 50'000'000;
  bool run_on = false;  // go on to the step limit although every client is content
  bool record = false;  // write down everything that was done to the run
};

struct Report {
  std::map<std::string, std::uint64_t> sent;  // messages by type
  std::uint64_t messages = 0;                 // their sum
  std::uint64_t application_messages = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t held_back = 0;  // by a cut, until it healed
  std::uint64_t steps = 0;      // everything that happened, messages among it
  Ticks end = {};
  Ticks window = {};        // until when faults were injected
  bool quiet = false;       // nothing was under way any more
  bool content = false;     // every client got all it wanted
  std::string broken = {};  // the belief that failed, if a protocol broke its own rules
  Script done = {};         // if recorded
};

// Long enough for the clients to meet the faults: twice the time that their entries take by themselves.
inline Ticks fault_window(const Options& options) {
  const std::uint64_t one_entry =
      options.think.mean() + options.hold.mean() + 8 * std::max<std::uint64_t>(1, options.delay.usual.mean());
  return {2 * one_entry * std::max<std::uint32_t>(1, options.entries)};
}

}  // namespace conclave::sim
