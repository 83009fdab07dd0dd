// The processes of a model by number: what one of them does with an input is worked out once, by its real
// handlers, and remembered. Handlers are pure functions of the process and the input, so this loses nothing,
// and the search itself needs to know no protocol.
#pragma once
#include <optional>
#include <span>

#include "check/interner.hpp"
#include "check/report.hpp"
#include "core/judge.hpp"

namespace conclave::check {

enum class Input : std::uint8_t { command, deliver, fire, toss, tell, crash, recover, round, tick, access };

// A process with its client and timers, as far as the search must know it.
struct Face {
  bool up : 1 = true;
  bool wants : 1 = false;    // its client would speak
  bool presses : 1 = false;  // … and will have to some day: it holds what others want
  bool content : 1 = true;
  bool waiting : 1 = false;  // its client has asked and has not been answered
  bool holding : 1 = false;
  bool running : 1 = false;  // a timer of it
  bool overdue : 1 = false;  // a timer that may wait no longer
  std::uint8_t coin = 0;     // faces of the coin it has to toss before anything else
  std::uint32_t sent = 0;    // messages so far, where they are counted
  std::uint32_t due = 0;     // timers that may fire, as a set of their numbers
};

// A message under way, whatever kind it is.
struct Envelope {
  enum class Kind : std::uint8_t { message, application, down, up, returned };
  std::uint8_t from = 0;  // the sender; of a notice, whom it is about
  Kind kind = Kind::message;
  std::uint8_t left = 0;  // time until it must have arrived, where that is bounded
};

struct Posted {
  std::uint32_t to = 0;
  Id letter = 0;
};

struct Outcome {
  Id local = 0;
  Id happening = 0;             // what the judge hears of it; 0: nothing
  std::uint32_t complaint = 0;  // a belief that failed, by number from 1
  std::span<const Posted> posted = {};
};

class Locals {
 public:
  // Half a line of the cache.
  struct alignas(32) Facts {
    Fingerprint print = {};
    Face face = {};
  };
  static_assert(sizeof(Facts) == 32);

  virtual ~Locals() = default;

  virtual std::uint32_t size() const = 0;
  virtual NodeId name(std::uint32_t node) const = 0;
  virtual bool is_server(std::uint32_t node) const = 0;

  // Under the lock: whatever adds values.
  virtual Outcome start(std::uint32_t node) = 0;
  virtual Outcome apply(Id local, Input input, std::uint32_t argument) = 0;
  virtual Id first_judge() = 0;
  virtual Id judge(Id judge, Id happening) = 0;
  virtual Id aged(Id letter) = 0;                                       // as it is one unit of time later
  virtual Id notice(std::uint32_t about, bool down) = 0;                // for whoever is told of crashes
  virtual std::optional<Id> returned(Id letter, std::uint32_t to) = 0;  // to its sender, if it hears of that

  // Of values that exist: without the lock.
  const Facts& facts(Id local) const { return facts_[local]; }
  const Face& face(Id local) const { return facts_[local].face; }
  const Envelope& envelope(Id letter) const { return envelopes_[letter]; }
  const Fingerprint& local_print(Id local) const { return facts_[local].print; }
  const Fingerprint& letter_print(Id letter) const { return letter_prints_[letter]; }
  const Fingerprint& judge_print(Id judge) const { return judge_prints_[judge]; }
  bool is_wrong(Id judge) const { return judges_wrong_[judge] != 0; }
  virtual std::vector<Wrong> wrongs(Id judge) const = 0;
  virtual std::vector<Wrong> wrongs_at_end(Id judge, std::span<const Id> locals) const = 0;
  // Of all processes together, beside what clients see of them.
  virtual bool has_invariants() const { return false; }
  virtual std::vector<Wrong> broken_invariants(std::span<const Id>) const { return {}; }
  virtual std::string outcome_of(Id judge, std::span<const Id> locals) const = 0;
  virtual std::string complaint(std::uint32_t number) const = 0;
  virtual bool tells_of_crashes() const = 0;
  virtual bool tosses() const { return false; }  // coins
  virtual bool returns() const = 0;              // senders hear of messages that did not arrive
  virtual std::map<std::string, bool> sometimes() const = 0;
  virtual std::uint64_t bytes() const = 0;
  // For people: what the client would say, what a letter says, what a timer is called.
  virtual std::pair<std::string, std::string> describe_command(Id local) const = 0;
  // … and what it would say on hearing a notice.
  virtual std::pair<std::string, std::string> describe_reaction(Id local, Id notice) const = 0;
  virtual std::pair<std::string, std::string> describe_letter(Id letter) const = 0;
  virtual std::string describe_timer(std::uint32_t timer) const = 0;
  virtual bool has_durable(Id local) const = 0;

  // Names: the same, with every node called what the permutation calls it.
  virtual std::span<const std::vector<std::uint32_t>> permutations() const = 0;
  virtual Id renamed(Id local, std::uint32_t permutation) = 0;
  virtual Id renamed_letter(Id letter, std::uint32_t permutation) = 0;
  virtual Id renamed_judge(Id judge, std::uint32_t permutation) = 0;

 protected:
  Segmented<Facts> facts_;
  Segmented<Envelope> envelopes_;
  Segmented<Fingerprint> letter_prints_, judge_prints_;
  Segmented<std::uint8_t> judges_wrong_;
};

}  // namespace conclave::check
