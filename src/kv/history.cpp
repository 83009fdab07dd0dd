#include "kv/history.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

std::uint64_t bytes_of(const Record& record) { return record_bytes + record.key->size + record.size; }

// Which of the key's versions it is.
std::size_t position(const Key& key, const Record& record) {
  if (key.newest == &record) return key.older.size();
  const auto found = std::lower_bound(key.older.begin(), key.older.end(), record.mod,
                                      [](const Record* other, Revision mod) { return other->mod < mod; });
  return key.older.gone() + static_cast<std::size_t>(found - key.older.begin());
}

RecordRef existing(Record* record) { return RecordRef(record && !record->is_deletion() ? record : nullptr); }

}  // namespace

Record& History::append(Key& key, const Change& change, std::string_view value) {
  Record* record = new_record(key, change, value);
  digest_ += record->digest();
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
  if (key.newest) key.older.push_back(key.newest, key.newest->dropped != 0);
  key.newest = record;
  if (!before && !record->is_deletion()) keys_.note_birth(key);
  if (before && record->is_deletion()) keys_.note_death(key, before->create());
  return *record;
}

void History::put(std::string_view text, std::string_view value, LeaseId lease, std::vector<Event>& events) {
  Key& key = keys_.find_or_add(text);
  const Revision mod = revision_ + 1;
  Record* before = key.exists() ? key.newest : nullptr;
  Record& record = append(key,
                          {.create = before ? before->create() : mod,
                           .mod = mod,
                           .version = before ? before->version() + 1 : 1,
                           .lease = lease,
                           .sub = sub_++},
                          value);
  log_.push_back(&record);
  events.push_back({RecordRef(&record), RecordRef(before)});
}

void History::remove(Key& key, std::vector<Event>& events) {
  ensure(key.exists(), "only what exists is deleted");
  Record* before = key.newest;
  Record& record = append(key, {.mod = revision_ + 1, .sub = sub_++}, {});
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
    const auto after =
        std::upper_bound(key.older.begin(), key.older.end(), revision,
                         [](Revision bound, const Record* other) { return bound < other->mod; });
    found = after == key.older.begin() ? nullptr : *(after - 1);
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
    while (key.version(key.dropped()) != record) drop_first(key);
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
  Record* record = key.version(key.dropped());
  ensure(record->dropped == 0, "a record is dropped once");
  if (record != key.newest) key.older.drop_first();
  record->dropped = readers_->generation;
  readers_->has_dropped = true;
  digest_ -= record->digest();
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
    ensure(key.version(key.older.gone()) == record, "a key's records go in their order");
    if (key.newest == record) {
      key.newest = nullptr;
      keys_.remove(key);
    } else {
      key.older.forget_first();
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
    see({RecordRef(record), i > key.dropped() ? existing(key.version(i - 1)) : RecordRef()});
  }
  return std::max(from, revision_ + 1);
}

Digest History::digest_at(Revision revision) const {
  Digest sum = 0;
  for (Key* key = keys_.first(); key; key = Keys::next(*key)) {
    for (std::size_t i = key->dropped(); i < key->versions(); ++i) {
      const Record& record = *key->version(i);
      if (record.mod > revision) break;
      const bool is_last_below = i + 1 == key->versions() || key->version(i + 1)->mod > compacted_;
      if (record.mod > compacted_ || (is_last_below && !record.is_deletion())) sum += record.digest();
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

void History::begin_restoring(Revision revision, Revision compacted, Place log_begin) {
  revision_ = revision;
  compacted_ = compacted;
  restored_from_ = log_begin;
}

Record& History::restore(Key& key, const Change& change, std::string_view value) {
  Record& record = append(key, change, value);
  if (place_of(record) >= restored_from_) log_.push_back(&record);
  return record;
}

// From its beginning on the log has every change: each revision has some, numbered one after the other. So
// the numbers say where in the log each of them stands, and if no two stand at one place, none is missing.
bool History::finish_restoring() {
  const Place begin = restored_from_;
  const std::deque<Record*> all = std::exchange(log_, {});  // by key
  if (begin.revision > revision_) return begin == log_begin();
  if (begin.revision < 2) return false;
  const auto revisions = static_cast<std::uint64_t>(revision_ - begin.revision) + 1;
  if (revisions > all.size()) return false;
  std::vector<std::size_t> ends(revisions + 1);  // of the revision before each
  const auto nth = [&](const Record* record) {
    return static_cast<std::size_t>(record->mod - begin.revision);
  };
  for (const Record* record : all) ++ends[nth(record) + 1];
  for (std::size_t i = 1; i <= revisions; ++i) ends[i] += ends[i - 1];
  log_.resize(all.size());
  for (Record* record : all) {
    const std::size_t revision = nth(record);
    const std::uint32_t first = revision == 0 ? begin.sub : 0;
    if (record->sub < first) return false;
    const std::size_t place = ends[revision] + record->sub - first;
    if (place >= ends[revision + 1] || log_[place]) return false;
    log_[place] = record;
  }
  // With more changes than revisions, one of these may still have none.
  return std::ranges::adjacent_find(ends) == ends.end();
}

}  // namespace conclave::kv
