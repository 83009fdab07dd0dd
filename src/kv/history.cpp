#include "kv/history.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

std::uint64_t bytes_of(const Record& record) { return sizeof(Record) + record.key->size + record.size; }

// Which of the key's versions it is.
std::size_t position(const Key& key, const Record& record) {
  if (key.newest == &record) return key.older.size();
  const auto first = key.older.begin() + key.gone;
  const auto found = std::lower_bound(first, key.older.end(), record.mod,
                                      [](const Record* other, Revision mod) { return other->mod < mod; });
  return static_cast<std::size_t>(found - key.older.begin());
}

RecordRef existing(Record* record) { return RecordRef(record && !record->is_deletion() ? record : nullptr); }

}  // namespace

Record& History::append(Key& key, std::string_view value, const Record& fields) {
  Record* record = new_record(key, value);
  record->create = fields.create;
  record->mod = fields.mod;
  record->version = fields.version;
  record->lease = fields.lease;
  record->sub = fields.sub;
  record->digest = record->digest_of_contents();
  digest_ += record->digest;
  bytes_ += bytes_of(*record);
  ++records_;
  const Record* before = key.exists() ? key.newest : nullptr;
  const std::uint64_t replaced = before ? bytes_of(*before) : 0;
  live_bytes_ -= replaced;
  superseded_ += replaced;
  if (record->is_deletion())
    superseded_ += bytes_of(*record) + sizeof(Key);
  else
    live_bytes_ += bytes_of(*record);
  if (key.newest) key.older.push_back(key.newest);
  key.newest = record;
  if (!before && !record->is_deletion()) keys_.note_birth(key);
  if (before && record->is_deletion()) keys_.note_death(key, before->create);
  return *record;
}

void History::put(std::string_view text, std::string_view value, LeaseId lease, std::vector<Event>& events) {
  Key& key = keys_.find_or_add(text);
  const Revision mod = revision_ + 1;
  Record* before = key.exists() ? key.newest : nullptr;
  Record fields = {};
  fields.create = before ? before->create : mod;
  fields.mod = mod;
  fields.version = before ? before->version + 1 : 1;
  fields.lease = lease;
  fields.sub = sub_++;
  Record& record = append(key, value, fields);
  log_.push_back(&record);
  events.push_back({RecordRef(&record), RecordRef(before)});
}

void History::remove(Key& key, std::vector<Event>& events) {
  ensure(key.exists(), "only what exists is deleted");
  Record* before = key.newest;
  Record fields = {};
  fields.mod = revision_ + 1;
  fields.sub = sub_++;
  Record& record = append(key, {}, fields);
  log_.push_back(&record);
  events.push_back({RecordRef(&record), RecordRef(before)});
}

bool History::commit() {
  if (sub_ == 0) return false;
  ++revision_;
  sub_ = 0;
  return true;
}

void History::skip_to(Revision revision) {
  ensure(revision >= revision_ && sub_ == 0, "revisions grow, between commands");
  revision_ = revision;
}

Record* History::at(const Key& key, Revision revision) {
  Record* found = key.newest;
  if (found && found->mod > revision) {
    const auto first = key.older.begin() + key.gone;
    const auto after =
        std::upper_bound(first, key.older.end(), revision,
                         [](Revision bound, const Record* other) { return bound < other->mod; });
    found = after == first ? nullptr : *(after - 1);
  }
  return found && !found->is_deletion() ? found : nullptr;
}

bool History::is_swept(Revision through) const {
  return log_.empty() || log_.front()->mod >= (through < compacted_ ? compacted_ : compacted_ + 1);
}

// Of the mark itself all changes are there, or what is there is of no use. Nothing ever was at the first one.
Revision History::first_watchable() const {
  return compacted_ > 1 && log_begin() > Place{compacted_, 0} ? compacted_ + 1 : compacted_;
}

void History::sweep(std::size_t records, Revision through) {
  for (std::size_t left = records; left > 0 && !is_swept(through); --left) {
    Record* record = log_.front();
    log_.pop_front();
    Key& key = *record->key;
    // Whoever reads at the mark or later sees this record, or a later one, and none before.
    while (key.version(key.dropped) != record) drop_first(key);
    if (record->is_deletion()) drop_first(key);
  }
  tidy(2 * records);
}

bool History::tidy(std::size_t records) {
  if (is_read_) return false;
  free_dropped(records);
  return !dropped_.empty() && !is_held(*dropped_.front());
}

bool History::is_held(const Record& record) const {
  return !readers_->holds.empty() && record.dropped >= *readers_->holds.begin();
}

void History::drop_first(Key& key) {
  Record* record = key.version(key.dropped++);
  ensure(record->dropped == 0, "a record is dropped once");
  record->dropped = readers_->generation;
  readers_->has_dropped = true;
  digest_ -= record->digest;
  bytes_ -= bytes_of(*record);
  --records_;
  dropped_.push_back(record);
}

void History::free_dropped(std::size_t records) {
  for (std::size_t left = records; left > 0 && !dropped_.empty(); --left) {
    Record* record = dropped_.front();
    if (is_held(*record)) return;
    dropped_.pop_front();
    Key& key = *record->key;
    ensure(key.version(key.gone) == record, "a key's records go in their order");
    if (key.newest == record) {
      key.newest = nullptr;
      key.older.clear();
      keys_.remove(key);
    } else if (++key.gone * 2 > key.older.size()) {
      key.older.erase(key.older.begin(), key.older.begin() + key.gone);
      key.dropped -= std::exchange(key.gone, 0);
      if (key.older.empty()) key.older.shrink_to_fit();
    }
    give_up(record);
  }
  if (dropped_.empty() && readers_->holds.empty()) *readers_ = {};
}

History::Hold History::hold() const {
  Hold hold;
  hold.readers_ = readers_;
  hold.generation_ = readers_->next();
  readers_->holds.insert(hold.generation_);
  return hold;
}

Revision History::changes(Revision from, std::size_t budget,
                          const std::function<void(const Event&)>& see) const {
  auto at = std::lower_bound(log_.begin(), log_.end(), from,
                             [](const Record* record, Revision bound) { return record->mod < bound; });
  for (std::size_t seen = 0; at != log_.end(); ++at, ++seen) {
    Record* record = *at;
    if (seen >= budget && record->mod != (*(at - 1))->mod) return record->mod;
    const Key& key = *record->key;
    const std::size_t i = position(key, *record);
    see({RecordRef(record), i > key.dropped ? existing(key.version(i - 1)) : RecordRef()});
  }
  return std::max(from, revision_ + 1);
}

Digest History::digest_at(Revision revision) const {
  Digest sum = 0;
  for (Key* key = keys_.first(); key; key = Keys::next(*key)) {
    for (std::size_t i = key->dropped; i <= key->older.size(); ++i) {
      const Record& record = *key->version(i);
      if (record.mod > revision) break;
      const bool is_last_below = i == key->older.size() || key->version(i + 1)->mod > compacted_;
      if (record.mod > compacted_ || (is_last_below && !record.is_deletion())) sum += record.digest;
    }
  }
  return sum;
}

std::uint32_t History::begin_reading() {
  ensure(!is_read_, "one reads everything at a time");
  is_read_ = true;
  return readers_->next();
}

void History::end_reading() {
  ensure(is_read_, "whoever ends has begun");
  is_read_ = false;
}

Record& History::restore(std::string_view text, const Record& fields, std::string_view value) {
  return append(keys_.find_or_add(text), value, fields);
}

bool History::finish_restoring(Revision revision, Revision compacted, Place begin) {
  revision_ = revision;
  compacted_ = compacted;
  for (Key* key = keys_.first(); key; key = Keys::next(*key)) {
    for (std::size_t i = 0; i <= key->older.size(); ++i)
      if (Record* record = key->version(i); place_of(*record) >= begin) log_.push_back(record);
  }
  const auto in_order = [](const Record* a, const Record* b) { return place_of(*a) < place_of(*b); };
  std::sort(log_.begin(), log_.end(), in_order);
  const auto twins = std::adjacent_find(log_.begin(), log_.end(), [](const Record* a, const Record* b) {
    return place_of(*a) == place_of(*b);
  });
  return twins == log_.end() && log_begin() == begin;
}

}  // namespace conclave::kv
