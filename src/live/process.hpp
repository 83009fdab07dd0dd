// One process of one protocol, among the members of one epoch. What it runs is hidden from whoever owns it;
// process_of.hpp makes one from a protocol's type.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/node_set.hpp"
#include "core/ticks.hpp"
#include "live/frames.hpp"
#include "live/scribe.hpp"

namespace conclave::live {

// What a process may ask of the member that runs it. Calls may come from inside calls to the process.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // `as_server`: it is the server who speaks, not the process of this member. The stamp is for who traces.
  virtual void send(NodeId to, bool as_server, ByteView message, const std::optional<Stamp>& stamp) = 0;
  virtual void arm(std::uint32_t timer, TickRange after) = 0;
  virtual void disarm(std::uint32_t timer) = 0;
  virtual std::uint64_t draw(std::uint64_t below) = 0;
  // Who reads along, and what the run is called; nobody: null.
  virtual trace::Observer* reader(bool of_server) = 0;
  virtual trace::Header header() const = 0;
  // What the client is told.
  virtual void granted(std::uint64_t fence) = 0;
  virtual void elected(std::optional<NodeId> leader) = 0;
};

class Process {
 public:
  virtual ~Process() = default;

  // `again`: this process takes the place of one that crashed, as far as anybody knows.
  virtual void start(bool again) = 0;
  // False if the bytes are no message of this protocol.
  virtual bool deliver(NodeId from, bool from_server, ByteView message, std::optional<Stamp> stamp) = 0;
  virtual void fire(std::uint32_t timer) = 0;

  // The client's wishes: a lock, or an election; and to leave.
  virtual void wish() = 0;
  virtual void release() = 0;
  virtual void told_down(NodeId node) = 0;
  virtual void told_up(NodeId node) = 0;

  // Nothing more is written of it.
  virtual void end_trace() = 0;

  // Without whose messages it cannot go on, as far as the algorithm knows.
  virtual NodeSet waits_for() const = 0;
};

// How the members of a group decide: one row of the catalogue, bound to this world.
struct Engine {
  std::string name = {};
  std::string variant = "canonical";
  bool elects = false;        // a leader; otherwise it grants a lock
  bool in_epochs = true;      // it assumes that nobody fails, so failures begin a new epoch
  bool regenerates = false;   // a dead member is left out by itself, not by an operator
  bool restless = false;      // messages pass even while nobody wants anything
  std::string on_death = {};  // what happens when a member dies, in a sentence
  std::function<std::unique_ptr<Process>(NodeId self, const NodeSet& members, Surroundings&)> process = {};
};

}  // namespace conclave::live
