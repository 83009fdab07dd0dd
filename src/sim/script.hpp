// What is done to a run from outside: requests, application messages and faults, each at its time.
//
// A run from a seed writes down everything it was done, as such a script; the script alone, with the same
// seed for the delays, replays the run. That is what makes a failure shrinkable.
#pragma once
#include <expected>
#include <string>
#include <vector>

#include "core/node_set.hpp"
#include "core/ticks.hpp"

namespace conclave::sim {

struct Action {
  enum class What : std::uint8_t {
    wish,       // node's client wants in, and holds for `amount` ticks
    tell,       // node's application sends a message to `to`
    crash,      // node stops, for good if `forever`; what it had not synced survives if `durable`, else
                // the first `amount` writes of that: the disk was in the midst of them;
                // if `dying`, in the middle of its next step, whose messages reach only `group`
    recover,    // node comes back, with what it persisted if `durable`
    pause,      // node stands still
    resume,     //
    partition,  // links between `group` and the others break
    heal,       // all links mend
    drift,      // node's clock gains `amount` parts per million (negative: loses)
    jump,       // node's clock jumps by `amount` ticks
    jitter,     // node's timers take up to `amount` per cent more or less, each as it is drawn
    stall,      // node's disk stands still: nothing that it writes gets there
    flush,      // … and goes on
    disk,       // all the time, persisting takes `amount` ticks, and now and then much longer
    lose,       // the node's nth message is lost
    duplicate,  // the node's nth message arrives twice, the second time `amount` ticks later
    slow,       // the node's nth message takes `amount` ticks more, in its place in the order
    reorder,    // the node's nth message takes `amount` ticks more, and may be overtaken
  };
  enum class Cut : std::uint8_t {
    two_way,  // nothing passes between the group and the others
    one_way,  // nothing passes from the group to the others
    bridge,   // as two-way, but `node` reaches both sides
  };

  What what = What::wish;
  Ticks at = {};
  NodeId node = {};
  NodeId to = {};
  std::int64_t amount = 0;
  std::uint64_t nth = 0;  // from 1, among the messages the node sends
  bool durable = true;
  bool forever = false;
  bool dying = false;
  Cut cut = Cut::two_way;
  NodeSet group = {};
  bool operator==(const Action&) const = default;

  bool concerns_message() const { return what >= What::lose; }
};

using Script = std::vector<Action>;

std::string to_json(const Action& action);
std::string to_json(const Script& script);
// The script, or one sentence that says which action is wrong and what would be right.
std::expected<Script, std::string> parse_script(const std::string& text, const NodeSet& members);

}  // namespace conclave::sim
