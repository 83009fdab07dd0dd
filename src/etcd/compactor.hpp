// When history ends: what whoever leads compacts by itself, so that a cluster that nobody looks after neither
// grows for ever nor stops. docs/decisions/0027 has the reasons.
//
//   etcd::Compactor compactor(self, {.age = 5min}, quota);
//   compactor.applied(store, outcome, now);                                // after every command
//   if (auto command = compactor.next(store, watches, leads, now)) …       // now and then: proposes it
//
// Every member has one, which knows since when it has known which revision, and what the others' watchers
// need; so whoever becomes leader goes on. Time is an argument: there is no clock in here, and no timer.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "kv/store.hpp"
#include "kv/watches.hpp"

namespace conclave::etcd {

struct CompactorOptions {
  enum class Mode { off, age, revisions };
  Mode mode = Mode::age;
  std::chrono::milliseconds age{300'000};  // of changes that go
  kv::Revision revisions = 0;              // in mode revisions: so many stay
  // Younger changes go as well if history takes more than all that lives, and more than this. None: it may
  // have as much as the quota leaves.
  std::optional<std::uint64_t> least_bytes = std::uint64_t{64} << 20;
  // What is younger stays all the same, but for want of space: watchers whose member died come back in this
  // time. So long counts what a member said of its watchers, too.
  std::chrono::milliseconds grace{10'000};
  // A stream that takes nothing for so long is not waited for.
  std::chrono::milliseconds patience{60'000};
};

// "5m", "1h30m", "1000 revisions", "off".
std::string describe_retention(const CompactorOptions& options);

// Counted from the start.
struct CompactorStats {
  std::uint64_t compactions = 0;
  std::uint64_t sweeps = 0;  // entries that did nothing else
  std::uint64_t needs = 0;   // … that said what watchers of this member need
};

class Compactor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Compactor(std::uint32_t self, const CompactorOptions& options, std::uint64_t quota_bytes);

  void applied(const kv::Store& store, const kv::Outcome& outcome, Time now);
  void restored();  // the store is another one
  // What this member should propose now; not again before that was applied, or will not be.
  std::optional<kv::Command> next(const kv::Store& store, kv::Watches& watches, bool leads, Time now);

  // How much of history there may be before it is shortened.
  std::uint64_t bound(const kv::Store& store) const;
  // How far it goes back, as far as this member has been here.
  std::chrono::milliseconds reach(const kv::Store& store, Time now) const;
  const CompactorStats& stats() const { return stats_; }

 private:
  // This was the newest revision then.
  struct Mark {
    Time time = {};
    kv::Revision revision = 0;
    std::uint64_t superseded = 0;  // of the history
  };
  // Somebody's watchers needed this then. What they were told since may not have reached their clients.
  struct Claim {
    kv::Revision revision = 0;
    Time heard = {};
  };

  void note(const kv::Store& store, Time now);
  std::optional<kv::Command> claim(kv::Watches& watches, Time now);
  std::optional<kv::Command> alarm(const kv::Store& store, Time now) const;
  std::optional<kv::Command> compaction(const kv::Store& store, Time now);
  std::optional<kv::Command> sweep(const kv::Store& store, Time now);
  kv::Revision swept_through(const kv::Store& store, Time now) const;

  std::uint64_t history_bytes(const kv::Store& store) const { return store.bytes() - store.live_bytes(); }
  std::uint64_t space(const kv::Store& store) const;
  bool presses(const kv::Store& store) const;
  kv::Revision aged(Time since) const;
  kv::Revision fitting(const kv::Store& store, std::uint64_t bytes) const;
  kv::Revision wanted(const kv::Store& store, Time now) const;
  kv::Revision goal(const kv::Store& store, Time now) const;
  bool would_free(const kv::Store& store, kv::Revision until) const;
  std::chrono::milliseconds haste() const;

  const std::uint32_t self_;
  const CompactorOptions options_;
  const std::uint64_t quota_bytes_;

  std::deque<Mark> marks_;           // ascending; the first may be compacted
  std::deque<Claim> claims_;         // of all members, as they were heard
  kv::Revision needed_ = kv::never;  // by watchers of this member
  Time claimed_ = {};
  std::optional<Time> led_since_;
  Time proposed_ = {};  // the last compaction
  kv::Revision compacted_ = 0;
  Time moved_ = {};  // since when it is that
  CompactorStats stats_ = {};
};

}  // namespace conclave::etcd
