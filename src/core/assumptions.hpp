// What an algorithm takes for granted, as data: a driver grants exactly these links, and injects only
// the faults they allow.
#pragma once

namespace conclave {

enum class Links {
  reliable_fifo,       // every message arrives once, in sending order per pair of nodes
  reliable_unordered,  // every message arrives once
  lossy,               // messages may be lost, duplicated, overtaken
  none,                // no messages: the processes share registers
};

enum class Crashes {
  none,     // no process ever fails
  stop,     // a crashed process stays down
  recover,  // a crashed process comes back with what it had persisted
};

enum class Timing {
  asynchronous,  // no bound on delays, speeds or clocks
  synchronous,   // known bounds; silence is information
};

struct Assumptions {
  Links links = Links::reliable_fifo;
  Crashes crashes = Crashes::none;
  Timing timing = Timing::asynchronous;
  bool operator==(const Assumptions&) const = default;
};

}  // namespace conclave
