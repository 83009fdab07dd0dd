// One step of one node, as every world reports it. Monitors, counts and diagrams read steps and nothing
// else, so they work alike on simulated, checked and production runs. docs/trace.md describes the JSON.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/node_set.hpp"
#include "core/ticks.hpp"
#include "core/vector_clock.hpp"

namespace conclave::trace {

enum class Kind : std::uint8_t {
  start,      // the node begins
  command,    // its client asks something
  deliver,    // a message arrives
  tell,       // the application sends a message of its own
  hear,       // … and receives one
  timer,      // a timer fires
  choice,     // a coin falls
  crash,      // the node stops
  recover,    // … and comes back
  pause,      // the node stands still
  resume,     // … and goes on
  partition,  // links break; no node's step
  heal,       // … and mend
  clock,      // a local clock changes its rate or jumps
  lose,       // a message is lost; no node's step
  duplicate,  // a message will arrive twice; no node's step
  bounce,     // a message comes back: its receiver is down
  round,      // a synchronous round begins
  access,     // a shared register is read or written
  synced,     // the disk has what the node wrote
  disk,       // the disk stands still, or goes on
  event,      // whatever the log of another program says
};

struct Item {
  std::string type;     // "Request", "Granted", "Acquire"
  std::string content;  // its fields as JSON; empty where nobody asked for them
};

struct Sent {
  NodeId to = {};
  std::uint64_t id = 0;  // of this message, unique in the run
  Item what = {};
};

struct Step {
  std::uint64_t number = 0;
  Ticks at = {};
  Kind kind = Kind::start;
  std::optional<NodeId> node = {};  // none for what happens to links
  std::uint64_t lamport = 0;
  VectorClock vector = {};
  std::optional<std::uint64_t> cause = {};  // the step that sent the message or set the timer
  // What came in: a message, command, timer, coin or fault.
  std::optional<NodeId> from = {};
  std::optional<std::uint64_t> message = {};  // its id
  Item input = {};
  // What went out.
  std::vector<Sent> sends = {};
  std::vector<Item> events = {};
  std::vector<std::string> notes = {};
  std::string changed = {};  // JSON object of the fields that changed; empty where nobody asked
};

// What the first line of a trace says of the run.
struct Header {
  std::string protocol = {};
  std::string variant = {};
  std::string world = {};
  NodeSet nodes = {};
  std::uint64_t seed = 0;
  // Of what one process wrote of a run that several took part in, each in a file of its own.
  std::string run = {};                      // the name of the run, where a file holds several
  std::optional<NodeId> node = {};           // the process
  std::map<NodeId, std::string> names = {};  // where nodes have names of their own; not written to files
};

// How it ended.
struct End {
  Ticks at = {};
  bool quiet = false;       // nothing was under way any more
  std::string broken = {};  // the belief that failed, if a protocol broke its own rules
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const Header&) {}
  virtual void see(const Step& step) = 0;
  virtual void end(const End&) {}
  // Contents and states cost time to describe; only who prints them needs them.
  virtual bool wants_contents() const { return false; }
  // Vector clocks cost one number per node and step; without them EM3 cannot be judged.
  virtual bool wants_vectors() const { return true; }
};

}  // namespace conclave::trace
