// A space of states as the search sees it: a state is a few numbers, and has successors.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "check/interner.hpp"
#include "check/large_pages.hpp"
#include "check/report.hpp"
#include "check/word_sum.hpp"
#include "core/judge.hpp"

namespace conclave::check {

// The numbers of a state; g++ copies them one by one otherwise.
inline void copy_words(Id* to, const Id* from, std::uint32_t count) {
  for (; count >= 4; count -= 4, to += 4, from += 4) std::memcpy(to, from, 4 * sizeof(Id));
  if (count & 2) {
    std::memcpy(to, from, 2 * sizeof(Id));
    to += 2;
    from += 2;
  }
  if (count & 1) *to = *from;
}

// A state under construction by one worker: no other writes to its lines of the cache.
using Draft = std::vector<Id, LargePages<Id>>;
inline Draft blank_draft(std::uint32_t width) {
  constexpr std::size_t line = 64 / sizeof(Id);
  Draft draft;
  draft.reserve((width + line - 1) / line * line);
  draft.resize(width);
  return draft;
}

// What leads from one state to the next.
struct Move {
  enum class Kind : std::uint8_t {
    command,    // the client of `node` speaks
    deliver,    // letter `what` arrives at `node`
    duplicate,  // … and will arrive once more
    lose,       // letter `what` to `node` gets lost
    vanish,     // letter `what` arrives at `node`, which is down
    fire,       // timer number `what` of `node`
    toss,       // the coin of `node` shows `what`
    tell,       // the application of `node` sends a message to node number `what`
    crash,
    recover,
    round,  // `node` begins a round
    die,    // … and crashes: its messages reach the nodes of the set `what` only
    tick,   // time passes
    part,   // links break between the set `what` and the rest
    heal,
    access,  // `node` takes its next instruction; `what` is the value it reads
    begin,   // … a write to a safe register, which takes effect later
  };
  static constexpr std::uint8_t no_label = 255;

  Kind kind = Kind::command;
  std::uint8_t node = 0;
  // What must not be put off for ever: a link that has something to deliver, a client inside, a timer. Moves
  // with different labels of different nodes are independent.
  std::uint8_t label = no_label;
  bool optional = false;  // fairness does not ask for it: nobody has to want anything, and faults need not be
  std::uint32_t what = 0;
};

// Takes the successors of one state, in an order that depends on the state alone.
class Successors {
 public:
  virtual ~Successors() = default;
  virtual void add(const Id* state, const WordSum& sum, const Move& move, std::uint64_t asleep) = 0;
  // So many moves were left out, because they sleep.
  virtual void skip(std::uint32_t moves) = 0;
  // A process broke its own rules in this step.
  virtual void complain(const Move& move, std::string why) = 0;
};

// Which moves need not be tried, by their labels (Godefroid, Partial-Order Methods for the Verification of
// Concurrent Systems, 1996: sleep sets).
struct Sleep {
  std::uint64_t labels = 0;  // lead only where others have led already
  std::uint64_t only = 0;    // if not 0: these are made up for, and nothing else is tried
  bool never = false;        // nobody asks for labels, nor for what sleeps
};

// What is to be said about one state, beside its successors.
struct Look {
  bool final = false;    // nothing is left to happen
  bool bounded = false;  // more would happen if a budget allowed it
  bool content = false;  // every client has what it wanted
};

class Space {
 public:
  virtual ~Space() = default;
  virtual std::uint32_t width() const = 0;  // numbers per state
  virtual std::vector<Id> initial() = 0;
  // Every worker has its own memory of what it has met.
  virtual void set_workers(unsigned workers) = 0;
  virtual Look expand(const Id* state, Sleep sleep, unsigned worker, Successors& out) = 0;
  // What is wrong in this state; and if the run ends in it.
  virtual bool is_wrong(const Id* state) const = 0;
  virtual std::vector<Wrong> wrongs(const Id* state) const = 0;
  virtual std::vector<Wrong> wrongs_at_end(const Id* state) const = 0;
  // In a word, how a run went that ends here; and how many messages it took.
  virtual std::string outcome_of(const Id* state) const = 0;
  virtual std::uint64_t sent(const Id* state) const = 0;
  // What has happened before the first state.
  virtual trace::Directions prologue() const { return {}; }
  // Who waits, and who has what it waited for.
  virtual std::uint32_t waiting(const Id* state) const = 0;  // as a set of node indices
  virtual std::uint32_t holding(const Id* state) const = 0;
  virtual trace::Directions directions(const Id* before, const Move& move) const = 0;
  virtual std::uint32_t nodes() const = 0;
  virtual NodeId name(std::uint32_t node) const = 0;
  virtual std::map<std::string, bool> sometimes() const = 0;
  virtual std::map<std::string, std::uint64_t> figures() const = 0;
  virtual std::uint64_t bytes() const = 0;
};

}  // namespace conclave::check
