// A run directed by hand: nothing moves until it is told to. Acceptance scripts and transcripts use it;
// traces and counterexamples are replayed on it (sim/direct.hpp).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_set.hpp"
#include "trace/step.hpp"

namespace conclave::sim {

struct InFlight {
  NodeId from = {};
  NodeId to = {};
  std::string type = {};
  std::string content = {};  // as JSON
};

// Which message under way is meant; of several that fit, the oldest.
struct Which {
  NodeId from = {};
  NodeId to = {};
  std::string_view type = {};
  std::string_view content = {};  // as JSON; empty: any
  std::uint64_t id = 0;           // preferred among those that fit
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual const NodeSet& members() const = 0;
  // Each returns what is wrong if the direction cannot be followed, and an empty string if it was.
  virtual std::string command(NodeId node, std::string_view type) = 0;
  virtual std::string deliver(NodeId from, NodeId to, std::string_view type, bool in_order) = 0;
  virtual std::string tell(NodeId from, NodeId to) = 0;
  virtual std::string crash(NodeId node) = 0;
  // Fires the timer of that node that was started first.
  virtual std::string fire(NodeId node) = 0;
  // Puts a message on its way that nobody sent.
  virtual std::string inject(NodeId from, NodeId to, std::string_view type) = 0;
  // The oldest message of all; false if there is none.
  virtual bool deliver_oldest() = 0;
  // The timer that was started first; false if none runs.
  virtual bool fire_oldest() = 0;
  virtual std::vector<InFlight> in_flight() const = 0;
  virtual std::uint64_t bounced() const = 0;         // messages that came back so far
  virtual std::string state(NodeId node) const = 0;  // as JSON
  virtual bool may(NodeId node, std::string_view command) const = 0;
  virtual void end() = 0;

  // What a trace directs beside that, to the last detail.

  // From now on a message to a node that is down waits until somebody says whether it bounces or is lost.
  // Otherwise it comes back at once.
  virtual void leave_bounces_to_director() {}
  virtual void leave_disks_to_director() {}
  // The time of what happens next; until it is told, time only counts steps.
  virtual void set_time(Ticks now) = 0;
  virtual bool is_up(NodeId node) const = 0;
  // The command as JSON; empty: as its client would put it. What its client would not say may have been said
  // by another, of which nothing else is known.
  virtual std::string command_exactly(NodeId node, std::string_view type, std::string_view content) = 0;
  // With the state that it begins with, as JSON, if that is known: between real processes it alone tells
  // which of the last writes had got to the disk.
  virtual std::string recover(NodeId, bool /* durable */, std::string_view /* state */) {
    return "nobody comes back here";
  }
  virtual std::string fire_timer(NodeId, std::string_view /* name */) { return "there are no timers here"; }
  // The disk has what that many of the node's steps wrote, the oldest that it had not.
  virtual std::string sync(NodeId, std::uint64_t /* steps */) { return "nobody writes anything here"; }
  virtual std::string toss(NodeId, unsigned /* face */) { return "nobody tosses coins here"; }
  virtual std::string begin_round(NodeId, std::uint32_t /* round */) { return "there are no rounds here"; }
  virtual std::string deliver_exactly(const Which&) { return no_messages; }
  virtual std::string lose(const Which&, std::string_view /* why */) { return no_messages; }
  virtual std::string duplicate(const Which&) { return no_messages; }
  virtual std::string bounce(const Which&) { return no_messages; }
  // The two halves of telling.
  virtual std::string send_word(NodeId /* from */, NodeId /* to */) { return no_messages; }
  virtual std::string hear_word(const Which&) { return no_messages; }
  // One step of a program over shared registers, which begins a write if `kind` is "begin". `value` is what a
  // read returns that overlaps a write.
  virtual std::string access(NodeId, std::string_view /* kind */, std::optional<std::uint64_t> /* value */) {
    return "there are no shared registers here";
  }
  // Goes into the trace and moves nothing: who stands still is who gets no directions.
  virtual std::string remark(trace::Kind kind, NodeId node, std::string_view what) = 0;
  virtual std::string remark_on_links(trace::Kind, trace::Item) { return "there are no links here"; }
  // A crash that also takes the last so many writes to disk, because they had not got there.
  virtual std::string crash_losing(NodeId, std::uint64_t /* writes */) { return "nobody has a disk here"; }

 protected:
  static constexpr const char* no_messages = "there are no messages here";
};

}  // namespace conclave::sim
