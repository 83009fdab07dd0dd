// What stands in the log and what a snapshot puts in its place; what of that a server keeps on its disk, and
// how a step changes it. The whole log would be too much to write with every entry, so a step says only what
// is new.
#pragma once
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/boxed.hpp"
#include "core/bulk.hpp"
#include "protocols/log/spec.hpp"
#include "protocols/raft/log.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/sessions.hpp"
#include "protocols/raft/voting.hpp"

namespace conclave::raft {

using Command = conclave::log::Entry;

// With neither command nor configuration: the entry with which a leader begins its term.
struct Entry {
  Term term = {};
  std::optional<Command> command = {};
  Boxed<Configuration> configuration = {};  // who decides from here on
  bool operator==(const Entry&) const = default;
};

struct Done {  // all there is to answer: the command is in the log
  bool operator==(const Done&) const = default;
};

// Everything up to an entry, in the form that a state machine gave it, with what else a server has to know:
// who the members were, and which commands of whom were taken (sections 7 and 8).
struct Snapshot {
  Position last = {};
  Configuration configuration = {};
  Sessions<NodeId, Done> sessions = {};
  Bulk state = {};
  bool operator==(const Snapshot&) const = default;
};

struct Write {
  // Where the server stood: once this write is on disk, so is the log up to there, as it was in that term.
  struct Mark {
    Term term = {};
    Index end = {};
    bool operator==(const Mark&) const = default;
  };
  // What follows `previous` is now this and nothing else.
  struct Tail {
    Index previous = {};
    std::vector<Entry> entries = {};
    bool operator==(const Tail&) const = default;
  };
  Mark mark = {};
  std::optional<Ballot> ballot = {};
  Boxed<Snapshot> snapshot = {};
  Position base = {};  // with a snapshot: entries up to there are not needed any more
  std::optional<Tail> tail = {};
  bool operator==(const Write&) const = default;
};

struct Durable {
  Ballot ballot = {};
  Boxed<Snapshot> snapshot = {};
  Log<Entry> log = {};
  bool operator==(const Durable&) const = default;

  void take(Write write) {
    if (write.ballot) ballot = *write.ballot;
    if (write.snapshot) {
      log.install(write.snapshot->last, write.base);
      snapshot = std::move(write.snapshot);
    }
    if (write.tail) take(std::move(*write.tail));
  }
  // What stands before the entries. After the last write it is.
  bool known() const { return log.base.index == Index{} || log.base.term != Term{}; }

 private:
  // Where older writes are gone because a snapshot has replaced what they said, the oldest that is left may
  // begin with entries that the snapshot has replaced too; or, where the snapshot is to follow, with entries
  // whose predecessors nobody knows.
  void take(Write::Tail tail) {
    const bool begins_before = !known() && tail.previous < log.base.index;
    if (tail.previous > log.last_index() || begins_before) log = {.base = {{}, tail.previous}};
    const Index from = std::max(tail.previous, log.base.index);
    const std::uint64_t replaced = from.value - tail.previous.value;
    if (replaced > tail.entries.size()) return;
    log.cut_after(from);
    for (Entry& entry : std::span(tail.entries).subspan(replaced)) log.append(std::move(entry));
  }
};

}  // namespace conclave::raft
