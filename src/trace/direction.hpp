// What happens next in a run that somebody directs: a step of a trace, without what came of it. A trace is
// its list of directions plus their consequences, so following the directions gives the trace again.
#pragma once
#include <expected>
#include <string>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

struct Direction {
  Kind kind = Kind::command;
  NodeId node = {};          // whose step it is; of a lost or copied message, who would have received it
  NodeId from = {};          // deliver, hear, lose, duplicate: the sender; bounce: whom it did not reach;
                             // tell: the receiver
  std::string type = {};     // of the command, message or timer; the round; the face of the coin; durable or
                             // fresh, of a recovery; of an access, the register's kind of step
  std::string content = {};  // of the message, as JSON, to tell it from others of its type; empty: the
                             // oldest; of a recovery, the state
  NodeSet group = {};        // partition: one side
  std::uint64_t at = 0;  // in units of the bound on delays, where there is one; else the number of the step
  // Where they are known, because the run happened before.
  std::uint64_t message = 0;  // the number of the message, to tell it from others that say the same
  std::string why = {};       // lose: how it came about
  bool operator==(const Direction&) const = default;
};

using Directions = std::vector<Direction>;

// Steps that follow from nobody's decision, because every run begins with them.
inline bool is_directed(const Step& step) { return step.kind != Kind::start; }

// What to do to see these steps again: one direction for each of them that is directed. Or one sentence that
// names the step which nobody could repeat.
std::expected<Directions, std::string> directions_of(const std::vector<Step>& steps);

// What the direction asks for, in words: "deliver Request from p1 to p3".
std::string in_words(const Direction& direction);

}  // namespace conclave::trace
