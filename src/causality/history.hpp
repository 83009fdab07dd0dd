// What happened, and what happened before what: the events of all processes with their vector times, kept
// small enough for logs of many millions of events.
//
// Events are taken in any order that keeps each process's own events near theirs; logs of different
// processes may stand one after the other. An event is *settled* as soon as every event it knows of is
// settled: only then can it be checked and its causal chain be measured. Events are checked for what makes
// vector clocks right: the own entry grows by one, no entry falls, whoever knows an event knows what that
// event knew, and every event that is known of happened. Then e → f if and only if V(e) < V(f).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "causality/dense_clock.hpp"
#include "causality/event_id.hpp"
#include "causality/timeline.hpp"

namespace conclave::causality {

// One entry of an event's clock.
struct Known {
  std::uint32_t process = 0;
  std::uint32_t count = 0;
};

// What is wrong with the clock of an event.
struct Flaw {
  enum class Kind : std::uint8_t {
    repeats,           // the own entry was there before
    jumps,             // the own entry leaves out some events: `expected` was due
    falls,             // the entry of `other` was greater before
    never_happened,    // knows of `other`, which is not in the history
    knows_too_little,  // knows of `other`, but not of everything that it knew
    circular,          // it and `other` know of each other
  };
  Kind kind = Kind::repeats;
  EventId event = {};
  std::uint64_t line = 0;
  EventId other = {};
  std::uint32_t expected = 0;
};

class History {
 public:
  explicit History(std::uint32_t processes = 0) { grow(processes); }

  std::uint32_t processes() const { return static_cast<std::uint32_t>(tracks_.size()); }
  std::uint64_t events() const { return events_; }
  std::uint32_t events_of(std::uint32_t process) const { return tracks_[process].line.size(); }
  bool has(EventId event) const {
    return event.process < processes() && event.number >= 1 && event.number <= events_of(event.process);
  }

  // At least so many processes.
  void grow(std::uint32_t processes);
  // An event, with all that its clock says; entries of 0 may be left out, no process may occur twice.
  void add(EventId event, std::span<const Known> clock, std::uint64_t line = 0);
  // No more events come.
  void finish();

  // Of the flaw on the first line; none: the clocks are vector clocks. Known after finish().
  const std::optional<Flaw>& flaw() const { return flaw_; }
  std::uint64_t flaws() const { return flaws_; }

  // What follows is right only without flaws.

  DenseClock clock(EventId event) const;
  std::uint64_t line(EventId event) const;
  bool happened_before(EventId a, EventId b) const;
  // The last events of other processes that the event learnt of: who sent what it received.
  std::vector<EventId> senders(EventId event) const;
  // How many receipts the clocks tell of.
  std::uint64_t messages() const { return messages_; }
  // Pairs of events of which neither happened before the other.
  std::uint64_t concurrent_pairs() const;
  std::uint64_t ordered_pairs() const { return ordered_pairs_; }

  // Length of the longest causal chain that ends in the event: its scalar time.
  std::uint32_t chain(EventId event) const { return tracks_[event.process].chain[event.number - 1]; }
  std::uint32_t longest_chain() const { return chain_end_.number == 0 ? 0 : chain(chain_end_); }
  std::vector<Stretch> longest_chain_path() const;
  // Some way from a to b, both included; empty if a did not happen before b.
  std::vector<Stretch> path(EventId a, EventId b) const;
  // The first event of a process that knows of `known`, if any does.
  std::optional<EventId> first_to_know(std::uint32_t process, EventId known) const;

  std::uint64_t bytes() const;

 private:
  struct Early {
    std::vector<Known> clock;
    std::uint64_t line;
  };
  struct Track {
    Timeline line = {};
    std::uint32_t known_processes = 0;          // entries of the last event that are not 0
    std::map<std::uint32_t, Early> early = {};  // events whose predecessors have not come yet
    // Settled so far.
    Timeline::Cursor settled = {};
    std::vector<std::uint32_t> now = {};  // clock of the last settled event, without the own entry
    std::uint64_t known_events = 0;       // sum of `now`
    std::vector<std::uint32_t> chain = {};
    std::optional<EventId> waits_for = {};
    std::vector<std::uint32_t> waiting = {};  // processes that wait for this one
    std::uint32_t next_wanted = UINT32_MAX;   // the least event they wait for
  };
  struct Candidate {
    EventId event = {};
    std::uint32_t chain = 0;
    bool covered = false;
  };

  void append(EventId event, std::span<const Known> clock, std::uint64_t line);
  void settle_from(std::uint32_t process);
  bool settle_next(std::uint32_t process);
  void wake(std::uint32_t process);
  std::uint32_t meet_senders(EventId event, std::uint64_t line);
  void report(const Flaw& flaw);
  void report_stuck(std::uint32_t process, bool missing);

  std::vector<Track> tracks_;
  std::uint64_t events_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t ordered_pairs_ = 0;
  EventId chain_end_ = {};
  std::optional<Flaw> flaw_ = {};
  std::uint64_t flaws_ = 0;
  // Kept between events so that steady reading allocates nothing.
  std::vector<Growth> growths_;
  std::vector<Growth> settling_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> restored_;
  std::vector<std::uint32_t> ready_;
};

// In one sentence; `name` says what a process is called.
std::string in_words(const Flaw& flaw, std::span<const std::string> names);
std::string name_of(EventId event, std::span<const std::string> names);

}  // namespace conclave::causality
