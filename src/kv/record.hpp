// A key, and what was written under it: one record for each change, kept until it is compacted away.
//
// Records do not change, so reads, watchers and snapshots share them by counting references instead of
// copying. The counts are plain numbers: a store, and everything that was read from it, belong to one thread.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "kv/digest.hpp"
#include "kv/older_versions.hpp"
#include "kv/tree.hpp"

namespace conclave::kv {

using Revision = std::int64_t;
using LeaseId = std::int64_t;

inline constexpr Revision never = std::numeric_limits<Revision>::max();

struct Key;

// What a change says besides its key and its value.
struct Change {
  Revision create = 0;  // 0: the key was deleted
  Revision mod = 0;
  std::int64_t version = 0;  // counts the changes since `create`, from 1
  LeaseId lease = 0;         // 0: none
  std::uint32_t sub = 0;     // its place among the changes of its revision
};

// There are very many of them: what most records need not say stands behind the object only where it must,
// and the value behind that.
struct Record {
  Key* key;
  Revision mod;
  std::uint32_t sub;
  std::uint32_t references = 0;
  std::uint32_t dropped = 0;  // which generation of readers may still need it; 0: it is part of the state
  std::uint32_t size : 24 = 0;
  bool deletes : 1 = false;
  bool has_past : 1 = false;  // it did not make the key, so it says who did, and which version it is
  bool has_lease : 1 = false;
  bool has_digest : 1 = false;  // it is long, and working its digest out again would take its time

  bool is_deletion() const { return deletes; }
  Revision create() const { return has_past ? numbers()[0] : deletes ? 0 : mod; }
  std::int64_t version() const { return has_past ? numbers()[1] : deletes ? 0 : 1; }
  LeaseId lease() const { return has_lease ? numbers()[has_past ? 2 : 0] : 0; }
  std::string_view value() const {
    return {reinterpret_cast<const char*>(numbers() + count_of_numbers()), size};
  }
  Digest digest() const {
    return has_digest ? static_cast<Digest>(numbers()[count_of_numbers() - 1]) : digest_of_contents();
  }
  // The same, as memory has it now.
  Digest digest_of_contents() const;

 private:
  friend Record* new_record(Key& key, const Change& change, std::string_view value);
  std::size_t count_of_numbers() const {
    return (has_past ? 2u : 0u) + (has_lease ? 1u : 0u) + (has_digest ? 1u : 0u);
  }
  std::size_t bytes() const { return sizeof(Record) + count_of_numbers() * sizeof(std::int64_t) + size; }
  const std::int64_t* numbers() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
};

// What a record counts as besides its key and its value: itself, and its places in the lists of its key and
// of all changes. A round number, because it decides what is refused, and must be the same everywhere.
inline constexpr std::uint64_t record_bytes = 64;

struct Key {
  TreeLinks<Key> links = {};
  Revision oldest = never;       // the least create revision of the keys from here down
  std::uint32_t alive = 0;       // how many keys from here down exist now
  std::uint32_t references = 0;  // by records, and by the table
  // What a search by name looks at, beside the name itself.
  Key* next_in_bucket = nullptr;
  Record* newest = nullptr;
  OlderVersions older = {};
  std::uint32_t hash = 0;  // of the table
  std::uint32_t size : 24 = 0;
  std::uint8_t height = 1;  // in the tree

  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  bool exists() const { return newest && !newest->is_deletion(); }
  Record* version(std::size_t i) const { return i < older.size() ? older[i] : newest; }
  std::size_t versions() const { return older.size() + (newest ? 1 : 0); }
  // From the front, how many of them are no longer part of the state.
  std::size_t dropped() const { return older.dropped() + (newest && newest->dropped != 0 ? 1 : 0); }

  bool refresh() {
    const std::uint32_t alive_before = alive;
    const Revision oldest_before = oldest;
    const bool here = exists();
    alive = here ? 1 : 0;
    oldest = here ? newest->create() : never;
    for (const Key* below : {links.left, links.right}) {
      if (!below) continue;
      alive += below->alive;
      if (below->oldest < oldest) oldest = below->oldest;
    }
    return alive != alive_before || oldest != oldest_before;
  }
};

Key* new_key(std::string_view text, std::uint32_t hash);
Record* new_record(Key& key, const Change& change, std::string_view value);
void free_record(Record* record);
void forget_key(Key* key);  // gives up one reference

inline void give_up(Record* record) {
  if (--record->references == 0) free_record(record);
}

// A share in a record; empty where there is none.
class RecordRef {
 public:
  RecordRef() = default;
  explicit RecordRef(Record* record) : record_(record) {
    if (record_) ++record_->references;
  }
  RecordRef(const RecordRef& other) : RecordRef(other.record_) {}
  RecordRef(RecordRef&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  RecordRef& operator=(RecordRef other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~RecordRef() {
    if (record_) give_up(record_);
  }

  explicit operator bool() const { return record_ != nullptr; }
  const Record* operator->() const { return record_; }
  const Record& operator*() const { return *record_; }
  std::string_view key() const { return record_->key->text(); }

 private:
  Record* record_ = nullptr;
};

// What happened to a key: `now` is the new record, `before` what it replaced, if that existed.
struct Event {
  RecordRef now = {};
  RecordRef before = {};
};

}  // namespace conclave::kv
