// A key, and what was written under it: one record for each change, kept until it is compacted away.
//
// Records do not change, so reads, watchers and snapshots share them by counting references instead of
// copying. The counts are plain numbers: a store, and everything that was read from it, belong to one thread.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/digest.hpp"
#include "kv/tree.hpp"

namespace conclave::kv {

using Revision = std::int64_t;
using LeaseId = std::int64_t;

inline constexpr Revision never = std::numeric_limits<Revision>::max();

struct Key;

struct Record {
  Key* key;
  Revision create;  // 0: this record says that the key was deleted
  Revision mod;
  std::int64_t version;  // counts the changes since `create`, from 1
  LeaseId lease;         // 0: none
  Digest digest;
  std::uint32_t sub;  // its place among the changes of its revision
  std::uint32_t size;
  std::uint32_t references = 0;
  std::uint32_t dropped = 0;  // which generation of readers may still need it; 0: it is part of the state

  bool is_deletion() const { return create == 0; }
  std::string_view value() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  Digest digest_of_contents() const;
};

struct Key {
  TreeLinks<Key> links = {};
  Key* next_in_bucket = nullptr;
  std::uint64_t hash = 0;  // of the table
  Digest digest = 0;
  Revision oldest = never;  // the least create revision of the keys from here down
  std::uint32_t alive = 0;  // how many keys from here down exist now
  std::uint32_t size = 0;
  std::uint32_t references = 0;
  std::uint32_t gone = 0;     // of `older`, from the front: no longer there
  std::uint32_t dropped = 0;  // of all versions, from the front: no longer part of the state
  Record* newest = nullptr;
  std::vector<Record*> older = {};  // ascending

  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  bool exists() const { return newest && !newest->is_deletion(); }
  Record* version(std::size_t i) const { return i < older.size() ? older[i] : newest; }

  bool refresh() {
    const std::uint32_t alive_before = alive;
    const Revision oldest_before = oldest;
    const bool here = exists();
    alive = here ? 1 : 0;
    oldest = here ? newest->create : never;
    for (const Key* below : {links.left, links.right}) {
      if (!below) continue;
      alive += below->alive;
      if (below->oldest < oldest) oldest = below->oldest;
    }
    return alive != alive_before || oldest != oldest_before;
  }
};

Key* new_key(std::string_view text, std::uint64_t hash);
Record* new_record(Key& key, std::string_view value);
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
