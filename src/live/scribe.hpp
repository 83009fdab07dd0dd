// What one process of one protocol run writes of it: its part of a trace, in the form of every other world.
//
//   live::Scribe<P> scribe(header, self, observer);        // only while somebody traces
//   scribe.deliver(node, out, from, message, stamp, [&] { node.on_message(out, from, which); });
//   … encode(scribe.stamp(i), bytes) travels with the i-th of out.sends
//
// The process keeps a Lamport clock and a vector clock of its own; a stamp travels with every message, so
// that the parts of all processes can be joined (`conclave trace merge`). Steps are numbered per process,
// and the cause of a delivery is the sender's number of the step that sent it. Time is in microseconds since
// 1970, by this process's clock: for reading, not for ordering. docs/trace.md describes the file.
#pragma once
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "core/codec.hpp"
#include "core/ensure.hpp"
#include "core/protocol.hpp"
#include "trace/tell.hpp"

namespace conclave::live {

// What travels with a message while its sender traces: when it was sent, and its id.
struct Stamp {
  std::uint64_t lamport = 0;
  VectorClock vector = {};  // the sender's entry is the number of the step that sent it
  std::uint64_t message = 0;
  bool operator==(const Stamp&) const = default;
};

// What a trace calls the run of a lock or an election in an epoch of its: "printer@3". Bytes that are no
// printable ASCII are spelled %0a.
std::string run_name(std::string_view name, std::uint64_t epoch);

// Microseconds since 1970.
Ticks unix_time();

// How far the part had come of a process that died. Whoever takes its place goes on from there.
struct Bookmark {
  trace::Step last = {};
  std::uint64_t message = 0;  // the greatest number that it gave to one
};

// Where a process writes its part, and from where on.
struct Page {
  trace::Header header = {};
  trace::Observer* reader = nullptr;
  std::optional<Bookmark> bookmark = {};
};

// Whatever the protocol: clocks, numbers, and who reads along.
class Notebook {
 public:
  using Now = Ticks (*)();

  // Shows the header. `header.nodes` are all processes of the run; `header.run` is its name where several
  // runs share a file, as "printer@3".
  Notebook(trace::Header header, NodeId self, trace::Observer& observer, Now now = unix_time);
  // Or, of a part that is there already, that its process crashed; the next step is how it comes back.
  Notebook(Page page, NodeId self, Now now = unix_time);
  Notebook(const Notebook&) = delete;
  Notebook& operator=(const Notebook&) = delete;

  // A stamp that came from that process, or what is wrong with it: strangers' words are not merged into our
  // clocks.
  std::expected<Stamp, std::string> read_stamp(NodeId from, std::span<const std::uint8_t> bytes) const;
  // … of one that was decoded already; empty if nothing is.
  std::string wrong_with(NodeId from, const Stamp& stamp) const;

  // Of the nth message of the step that was taken last.
  Stamp stamp(std::size_t nth) const;
  // The number of the step that was taken last: the cause of the timers that it started.
  std::uint64_t last_step() const { return step_.number; }

  // Nothing more will be written of this run. `quiet` says that this process waits for nothing: no timer
  // runs.
  void end(bool quiet, std::string broken = {});

 protected:
  struct Input {
    trace::Kind kind;
    trace::Item what = {};
    std::optional<NodeId> from = {};
    const std::optional<Stamp>* stamp = nullptr;
    std::optional<std::uint64_t> cause = {};
  };
  void begin_step(Input input);
  void show_step() { observer_.see(step_); }
  std::uint64_t next_message() { return ++sent_ << place_bits_ | place_; }

  trace::Step step_ = {};

 private:
  void go_on(const Bookmark& bookmark);
  std::uint64_t place_of(NodeId node) const;

  NodeSet all_;
  NodeId self_;
  trace::Observer& observer_;
  Now now_;
  trace::LogicalClock clock_ = {};
  unsigned place_bits_;  // ids of messages end with the place of their sender, so that no two are alike
  std::uint64_t place_;
  std::uint64_t sent_ = 0;
};

// Each function runs one handler as one step, and writes the step down; `out` is cleared before. A rule that
// the handler breaks is an exception, as always; the step that broke it is in the trace.
template <Protocol P>
class Scribe : public Notebook {
 public:
  using Out = Effects<P>;
  using Notebook::Notebook;

  template <class Handler>
  void start(P& node, Out& out, Handler&& handler) {
    step(node, out, {.kind = trace::Kind::start}, handler);
  }
  template <class Handler>
  void command(P& node, Out& out, const typename P::Spec::Command& command, Handler&& handler) {
    step(node, out, {.kind = trace::Kind::command, .what = trace::item_of(command)}, handler);
  }
  // With what its disk has, or without anything.
  template <class Handler>
  void recover(P& node, Out& out, bool durable, Handler&& handler) {
    step(node, out, {.kind = trace::Kind::recover, .what = {durable ? "durable" : "fresh", {}}}, handler);
  }
  // The disk has what so many of its steps wrote, the oldest that it had not.
  template <class Handler>
  void synced(P& node, Out& out, std::uint64_t steps, Handler&& handler) {
    step(node, out, {.kind = trace::Kind::synced, .what = {trace::steps_on_disk(steps), {}}}, handler);
  }
  // Without a stamp if the sender does not trace.
  template <class Handler>
  void deliver(P& node, Out& out, NodeId from, const typename P::Message& message,
               const std::optional<Stamp>& stamp, Handler&& handler) {
    step(node, out,
         {.kind = trace::Kind::deliver, .what = trace::item_of(message), .from = from, .stamp = &stamp},
         handler);
  }
  // `cause` is what last_step() was when the timer was armed.
  template <class Handler>
  void fire(P& node, Out& out, typename P::Timer timer, std::uint64_t cause, Handler&& handler) {
    step(node, out,
         {.kind = trace::Kind::timer, .what = {std::string(enumerator_name(timer)), {}}, .cause = cause},
         handler);
  }
  template <class Handler>
  void toss(P& node, Out& out, unsigned face, Handler&& handler) {
    step(node, out, {.kind = trace::Kind::choice, .what = {std::to_string(face), {}}}, handler);
  }

 private:
  // Out of line: whoever does not trace has a branch in front of it, and nothing else.
  template <class Handler>
  [[gnu::noinline]] void step(P& node, Out& out, Input input, Handler& handler) {
    out.clear();
    begin_step(std::move(input));
    const P before = node;
    try {
      handler();
    } catch (const InvariantViolation&) {
      show_step();
      throw;
    }
    trace::tell_effects(step_, out, true, [&] { return next_message(); });
    step_.changed = trace::told_change(step_, before, node);
    show_step();
  }
};

}  // namespace conclave::live
