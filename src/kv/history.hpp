// Keys and everything that was written to them since the last compaction, readable at every revision since.
//
// Each change makes one record. It stands twice: among the versions of its key, for reads at a revision, and
// in the log of changes, for watchers. A compaction only moves a mark; what lies below it goes a few records
// at a time, with the commands that follow, so that no command takes long. How far this has come is part of
// the state.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "kv/keys.hpp"

namespace conclave::kv {

// The place of a change in the order of all changes.
struct Place {
  Revision revision = 0;
  std::uint32_t sub = 0;
  auto operator<=>(const Place&) const = default;
};

inline Place place_of(const Record& record) { return {record.mod, record.sub}; }

class History {
  // Generations of readers, and which of them somebody still belongs to.
  struct Readers {
    std::uint32_t generation = 1;
    bool has_dropped = false;  // a record, in this generation
    std::multiset<std::uint32_t> holds = {};
    std::uint32_t next() {
      if (std::exchange(has_dropped, false)) ++generation;
      return generation;
    }
  };

 public:
  explicit History(std::uint64_t table_seed) : keys_(table_seed) {}

  Revision revision() const { return revision_; }
  Revision compacted() const { return compacted_; }
  // The sum of the digests of all records that are part of the state.
  Digest digest() const { return digest_; }
  // Of what can be read from the compacted revision up to another, however far sweeping has come: for members
  // that have not applied equally much. Looks at every record.
  Digest digest_at(Revision revision) const;
  // What these records take, about; and how many there are.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t records() const { return records_; }
  // Of those, the newest of keys that exist: what no compaction frees. All others are history.
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t live_records() const { return keys_.alive(); }
  // What has become history since this object was made: between two moments, how much there would be of it if
  // all before the first were compacted. No part of the state.
  std::uint64_t superseded() const { return superseded_; }
  const Keys& keys() const { return keys_; }

  // Changes belong to the revision after the current one until `commit` makes that the current one; without
  // changes it stays. Each adds its event.
  void put(std::string_view key, std::string_view value, LeaseId lease, std::vector<Event>& events);
  void remove(Key& key, std::vector<Event>& events);
  bool commit();
  void skip_to(Revision revision);  // nothing happened in between

  // Of revisions in [compacted, current]; null if the key did not exist then.
  static Record* at(const Key& key, Revision revision);

  void compact(Revision revision) { compacted_ = revision; }
  // Takes the next few steps of what compactions have left to do: below the mark; and at the mark itself, if
  // `through` has come so far.
  void sweep(std::size_t records, Revision through = 0);
  bool is_swept(Revision through = 0) const;
  // What was dropped and nobody needs goes, a little at a time. True: there is more.
  bool tidy(std::size_t records);
  // From here on, all changes are in the log.
  Place log_begin() const { return log_.empty() ? Place{revision_ + 1, 0} : place_of(*log_.front()); }
  // The first revision with which a watcher may begin.
  Revision first_watchable() const;

  // The changes from a revision (not below `compacted`) on, whole revisions, until `budget` changes have been
  // looked at. Returns the revision to go on from.
  Revision changes(Revision from, std::size_t budget, const std::function<void(const Event&)>& see) const;

  // Who reads at a revision a little at a time holds what can be read there: what drops out of the state
  // from now on stays where it is as long as this lives. It may outlive the history, and is void then.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : readers_(std::exchange(other.readers_, {})), generation_(other.generation_) {}
    Hold& operator=(Hold other) noexcept {
      std::swap(readers_, other.readers_);
      std::swap(generation_, other.generation_);
      return *this;
    }
    ~Hold() {
      if (const auto readers = readers_.lock()) readers->holds.extract(generation_);
    }
    bool is_void() const { return readers_.expired(); }

   private:
    friend class History;
    std::weak_ptr<Readers> readers_ = {};
    std::uint32_t generation_ = 0;
  };
  Hold hold() const;

  // While somebody reads everything bit by bit, no record and no key goes at all.
  // A reader sees those that belonged to the state when it began.
  std::uint32_t begin_reading();
  void end_reading();
  static bool is_seen_by(std::uint32_t reader, const Record& record) {
    return record.dropped == 0 || record.dropped >= reader;
  }

  // From a snapshot, into a history that is empty: what is known of all records, then keys in ascending
  // order, each with its records in theirs.
  void begin_restoring(Revision revision, Revision compacted, Place log_begin);
  Key& restore_key(std::string_view key) { return keys_.add_last(key); }
  Record& restore(Key& key, const Change& change, std::string_view value);
  // False if records contradict each other, or some are missing.
  bool finish_restoring();

 private:
  Record& append(Key& key, const Change& change, std::string_view value);
  void drop_first(Key& key);
  void free_dropped(std::size_t records);
  bool is_held(const Record& record) const;  // after it was dropped: by a reader

  Keys keys_;
  std::deque<Record*> log_;      // ascending
  std::deque<Record*> dropped_;  // still there, for readers, or because nobody has come around to it
  Revision revision_ = 1;
  Revision compacted_ = 0;
  std::uint32_t sub_ = 0;     // of the next change
  Place restored_from_ = {};  // while the history is read from a snapshot
  Digest digest_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t superseded_ = 0;
  std::shared_ptr<Readers> readers_ = std::make_shared<Readers>();
  bool is_read_ = false;
};

}  // namespace conclave::kv
