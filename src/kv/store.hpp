// The replicated state machine of the Raft engine: keys, revisions, leases, lines.
//
// It is a function of the commands it has applied, in their order, and of nothing else: replicas that applied
// the same have the same digest, and write the same snapshot byte for byte. Time is a command like any other.
// docs/kv.md describes it as a whole.
#pragma once
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "kv/answer.hpp"
#include "kv/command.hpp"
#include "kv/history.hpp"
#include "kv/leases.hpp"

namespace conclave::kv {

// Where in Raft's log a command stands.
struct Context {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
};

// The key that is this lease's place in a line.
std::string key_in_line(std::string_view name, LeaseId lease);
// The line in which a key with this lease is a place: the key is named after both. None: it is no place.
std::optional<std::string_view> line_of(std::string_view key, LeaseId lease);

class Store {
 public:
  // The bounds are the same at all replicas.
  struct Bounds {
    std::uint64_t reach = max_reach;
    std::uint64_t answer = max_answer;
  };
  explicit Store(std::uint64_t table_seed = 0) : Store(table_seed, Bounds()) {}
  Store(std::uint64_t table_seed, Bounds bounds) : history_(table_seed), bounds_(bounds) {}

  // `outcome` is cleared first. An entry that cannot be decoded changes nothing; a replica that meets one
  // must stop there, because others may know what it means.
  std::expected<Answer, DecodeError> apply(std::span<const std::uint8_t> entry, Context context,
                                           Outcome& outcome);
  Answer apply(const Command& command, Context context, Outcome& outcome);

  // For a new cluster that begins with this state, which may be older than what clients of the former one
  // have seen. No revision and no fence is given twice: the revision grows by `bump`, everything before is
  // compacted, and whoever stands in a line gets a new fence and keeps the order. Leases begin to run again,
  // so that who holds one has time to come back. Alarms were about members that are no more. The place in
  // the log grows as the revision does, because ids of leases follow from it.
  void begin_anew(Revision bump);

  std::expected<RangeResult, Error> range(const Range& request) const;
  // The one created first, if there is any: the holder of a lock, the leader of an election.
  RecordRef oldest(const KeyRange& range) const;
  // All keys that are places in lines, by creation.
  std::vector<Key*> places() const;

  // How many keys a transaction would look at now while it is applied, at most; `max_reach` is the limit.
  std::uint64_t reach_of(const Txn& txn) const;
  // The same for a read.
  std::uint64_t reach_of(const Range& range) const;
  // How many keys would be deleted now, at most.
  std::uint64_t deletes_of(const Txn& txn) const;
  std::uint64_t deletes_of(const DeleteRange& range) const;
  // How large the answer would be now, at most, whichever branches are taken; `max_answer` is the limit for
  // those that are.
  std::uint64_t answer_of(const Txn& txn) const;
  std::uint64_t answer_of(const DeleteRange& range) const;

  Revision revision() const { return history_.revision(); }
  Context applied() const { return applied_; }
  const Leases& leases() const { return leases_; }
  const History& history() const { return history_; }
  const std::set<std::pair<std::uint64_t, AlarmKind>>& alarms() const { return alarms_; }
  // What all that clients can make grow here takes of memory, about: what a quota is about. No part of the
  // state: what readers hold counts as well.
  std::uint64_t bytes() const;
  // … and without the history: what no compaction could free.
  std::uint64_t live_bytes() const;
  // Gives back some of what the state has dropped, as soon as no reader needs it. No part of the state: a
  // member may do it whenever it likes. True: there is more.
  bool tidy(std::size_t records) { return history_.tidy(records); }

  // Equal on replicas that have applied the same; kept up to date with every command, so asking costs
  // nothing.
  Digest digest() const;
  // The same, worked out anew from every record: tells whether memory still says what was written to it.
  Digest recomputed_digest() const;

 private:
  friend class SnapshotWriter;
  friend class SnapshotReader;
  using Result = decltype(Answer::result);

  Result run(const Put& put);
  Result run(const DeleteRange& range);
  Result run(const Txn& txn);
  Result run(const Compact& compact);
  Result run(const LeaseGrant& grant);
  Result run(const LeaseRevoke& revoke);
  Result run(const LeaseRenew& renew);
  Result run(const Tick& tick);
  Result run(const Lock& lock);
  Result run(const Campaign& campaign);
  Result run(const Alarm& alarm);
  Result run(const Vouch& vouch);
  Result run(const Sweep& sweep);
  Result run(const Need& need);

  bool is_refused_by_alarms(const Command& command, Error& error) const;
  std::optional<Error> problem_of(const Put& put) const;
  std::optional<Error> problem_of(const Range& range) const;
  std::optional<Error> problem_of_branch(const Txn& txn, std::size_t& decision) const;
  bool holds(const Compare& compare) const;
  std::uint64_t reach_of(const Txn& txn, bool deletes) const;
  std::uint64_t reach_of(const std::vector<Op>& ops, bool deletes) const;
  std::uint64_t reach_of(const Range& range, bool deletes) const;
  struct Branches;
  std::uint64_t answer_of(const Branches& branches) const;
  std::uint64_t answer_of(const Range& range, bool deletes, std::uint64_t enough) const;
  std::uint64_t answer_of(const DeleteRange& range, std::uint64_t enough) const;
  void decide(const Txn& txn);

  void write(std::string_view key, std::string_view value, LeaseId lease);
  void erase(Key& key);
  PutResult put(const Put& put);
  DeleteResult delete_range(const DeleteRange& range);
  RangeResult read(const Range& request) const;
  TxnResult run_branch(const Txn& txn, std::size_t& decision);
  void end_lease(LeaseId id);
  Result stand_in_line(std::string_view name, LeaseId lease, std::optional<std::string_view> value);
  Digest digest_from(Digest records) const;

  History history_;
  Leases leases_;
  std::set<std::pair<std::uint64_t, AlarmKind>> alarms_;
  Context applied_ = {};
  Bounds bounds_;
  // Of the command being applied.
  Outcome* outcome_ = nullptr;
  std::vector<bool> decisions_;  // which branch each transaction takes, in the order of meeting them
  std::vector<Key*> doomed_;
};

}  // namespace conclave::kv
