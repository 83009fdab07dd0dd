// One simulated run: what to run it with, and what came of it.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/judge.hpp"
#include "core/ticks.hpp"
#include "sim/delay.hpp"
#include "sim/faults.hpp"
#include "sim/script.hpp"

namespace conclave::sim {

// Ticks from the beginning of one synchronous round to the next; messages take less.
inline constexpr std::uint64_t round_length = 100;

// The hardware clocks of protocols that read them. A server's clock shows the true time.
struct ClockModel {
  Ticks offset_most = {};           // at the start a clock is ahead by up to this
  std::int64_t drift_ppb_most = 0;  // it gains or loses up to so many parts in 10^9
  std::int64_t wander_ppb = 0;      // its rate changes by up to this, as the temperature does,
  Ticks wander_every = {};          // so often
  bool operator==(const ClockModel&) const = default;
};

struct Options {
  std::uint32_t nodes = 5;              // clients; an algorithm with a server has one node more
  std::optional<NodeSet> members = {};  // instead of 1 … nodes
  std::uint32_t entries = 3;            // per client: how often it acts by itself
  std::uint32_t starters = 0;           // how many clients do, drawn from the seed; 0: all
  Delay think = {Delay::Shape::uniform, 0, 100};
  Delay hold = {Delay::Shape::uniform, 1, 20};
  DelayModel delay = {};
  double chatter = 0;  // chance that a request is followed by an application message
  Faults faults = {};
  std::uint64_t seed = 1;
  std::optional<Script> script = {};  // instead of clients of their own accord and faults from the seed
  std::uint32_t most_crashes = 0;     // in a plan of faults; 0: as it comes
  bool detector = true;               // tells clients that listen of crashes and recoveries,
  Delay detect = {Delay::Shape::uniform, 1, 20};  // after this long
  bool ranked = false;  // at equal times: crashes, then deliveries, then timers, then all else
  ClockModel clocks = {};
  std::optional<bool> fifo = {};  // whether links keep the order; else as the algorithm assumes
  std::uint64_t sync_ticks = 0;   // how long persisting takes
  std::uint64_t step_limit = 50'000'000;
  std::uint32_t round_limit = 10'000;
  Ticks until = {};  // a protocol that never rests ends so long after the faults; 0: when clients are content
  Ticks patience = {};  // and is given up if they are not by then; 0: long after they should be
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
  std::uint64_t bounced = 0;    // came back because the receiver was down
  std::uint32_t rounds = 0;     // begun
  std::uint64_t steps = 0;      // everything that happened, messages among it
  Ticks end = {};
  Ticks window = {};               // until when faults were injected
  bool quiet = false;              // nothing was under way any more
  bool content = false;            // every client got all it wanted
  bool looked_inside = false;      // at all processes together, now and then,
  std::vector<Wrong> wrongs = {};  // and this was found: the first of each property
  std::string broken = {};         // the belief that failed, if a protocol broke its own rules
  Script done = {};                // if recorded
};

// Long enough for the clients to meet the faults: twice the time that their entries take by themselves.
inline Ticks fault_window(const Options& options) {
  const std::uint64_t one_entry =
      options.think.mean() + options.hold.mean() + 8 * std::max<std::uint64_t>(1, options.delay.usual.mean());
  return {2 * one_entry * std::max<std::uint32_t>(1, options.entries)};
}

// When the second act begins. Whatever a script broke is mended after its last action.
inline Ticks end_of_faults(const Options& options) {
  if (!options.script) return options.faults.any() ? fault_window(options) : Ticks{};
  Ticks end = {};
  for (const Action& action : *options.script) end = std::max(end, action.at);
  return end;
}

}  // namespace conclave::sim
