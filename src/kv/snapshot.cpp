#include "kv/snapshot.hpp"

#include <algorithm>

#include "core/visit.hpp"

namespace conclave::kv {
namespace {

// No part is longer: a key, a value, and numbers.
constexpr std::size_t max_part = 2 * max_text + max_alarms * 16 + 256;
// A hundred million years, and far from where sums overflow.
constexpr std::uint64_t max_clock_ms = std::uint64_t{1} << 62;
// To the beginning of a part that came before, at a time.
constexpr std::size_t least_added = 512;

void append(Bytes& out, SnapshotPart part) { encode(part, out); }

}  // namespace

SnapshotWriter::SnapshotWriter(Store& store) : store_(store), digest_(store.digest()) {
  const Place log_begin = store.history_.log_begin();
  header_ = {.format = snapshot_format,
             .index = store.applied_.index,
             .term = store.applied_.term,
             .revision = store.revision(),
             .compacted = store.history_.compacted(),
             .log_begin = log_begin.revision,
             .log_begin_sub = log_begin.sub,
             .clock_ms = store.leases_.clock_ms()};
  for (const auto& [member, kind] : store.alarms_) header_.alarms.push_back({member, kind});
  leases_.reserve(store.leases_.all().size());
  for (const auto& [id, lease] : store.leases_.all()) leases_.push_back({id, lease.ttl, lease.deadline});
  reader_ = store.history_.begin_reading();
  key_ = store.history_.keys().first();
}

SnapshotWriter::~SnapshotWriter() { store_.history_.end_reading(); }

bool SnapshotWriter::write(Bytes& out, std::size_t about) {
  if (!begun_) append(out, header_);
  begun_ = true;
  while (next_lease_ < leases_.size() && out.size() < about) append(out, leases_[next_lease_++]);
  write_records(out, about);
  if (key_ || next_lease_ < leases_.size()) return true;
  if (!ended_) append(out, SnapshotEnd{digest_});
  ended_ = true;
  return false;
}

// No key leaves the tree as long as we read, so the one we stand at leads on, whatever came and went around
// it.
void SnapshotWriter::write_records(Bytes& out, std::size_t about) {
  while (key_ && out.size() < about) {
    write_versions(*key_, out, about);
    if (out.size() >= about && written_ < header_.revision) return;
    key_ = Keys::next(*key_);
    written_ = 0;
  }
}

// Leaves `written_` at the snapshot's revision when all are written.
void SnapshotWriter::write_versions(Key& key, Bytes& out, std::size_t about) {
  const auto from =
      std::upper_bound(key.older.begin(), key.older.end(), written_,
                       [](Revision bound, const Record* record) { return bound < record->mod; });
  const auto passed = static_cast<std::size_t>(from - key.older.begin());
  for (std::size_t i = key.older.gone() + passed; i < key.versions(); ++i) {
    const Record& record = *key.version(i);
    if (record.mod > header_.revision) break;
    if (record.mod <= written_ || !History::is_seen_by(reader_, record)) continue;
    if (out.size() >= about) return;
    append(out, SnapshotRecord{.key = written_ == 0 ? key.text() : std::string_view{},
                               .create = record.create(),
                               .mod = record.mod,
                               .sub = record.sub,
                               .version = record.version(),
                               .lease = record.lease(),
                               .value = record.value()});
    written_ = record.mod;
  }
  written_ = header_.revision;
}

std::string_view describe(SnapshotError error) {
  switch (error) {
    case SnapshotError::malformed: return "not a snapshot that this version can read";
    case SnapshotError::contradictory: return "the snapshot contradicts itself";
    case SnapshotError::truncated: return "the snapshot ends too early";
    case SnapshotError::digest: return "the snapshot's contents do not have its digest";
  }
  return "unknown error";
}

SnapshotReader::SnapshotReader(std::uint64_t table_seed, Behind behind)
    : store_(std::make_unique<Store>(table_seed)), behind_(behind) {}

std::expected<void, SnapshotError> SnapshotReader::feed(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto taken = pending_.empty() ? take_parts(bytes) : complete_pending(bytes);
    if (!taken) return std::unexpected(taken.error());
    bytes = bytes.subspan(*taken);
  }
  return {};
}

// What lies whole in the bytes is read where it lies; the beginning of a part waits for the rest of it.
std::expected<std::size_t, SnapshotError> SnapshotReader::take_parts(std::span<const std::uint8_t> bytes) {
  std::span<const std::uint8_t> rest = bytes;
  while (!rest.empty()) {
    const auto taken = take_part(rest);
    if (!taken) return std::unexpected(taken.error());
    if (*taken == 0) {
      pending_.assign(rest.begin(), rest.end());
      break;
    }
    rest = rest.subspan(*taken);
  }
  return bytes.size();
}

// Of the bytes only as many as the part needs, about: those behind it are read where they lie.
std::expected<std::size_t, SnapshotError> SnapshotReader::complete_pending(
    std::span<const std::uint8_t> bytes) {
  const std::size_t before = pending_.size();
  while (pending_.size() - before < bytes.size()) {
    const std::size_t added = pending_.size() - before;
    const std::size_t more = std::min(bytes.size() - added, std::max(pending_.size(), least_added));
    const auto next = bytes.subspan(added, more);
    pending_.insert(pending_.end(), next.begin(), next.end());
    const auto taken = take_part(pending_);
    if (!taken) return std::unexpected(taken.error());
    if (*taken == 0) continue;
    pending_.clear();
    return *taken - before;
  }
  return bytes.size();
}

// Returns how long the first part is; 0: longer than that.
std::expected<std::size_t, SnapshotError> SnapshotReader::take_part(std::span<const std::uint8_t> bytes) {
  if (is_complete() && behind_ == Behind::zeros) {
    const bool fits = std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
    if (!fits) return std::unexpected(SnapshotError::malformed);
    return bytes.size();
  }
  Decoder decoder(bytes);
  walk(decoder, part_);
  if (decoder.failed()) {
    const bool may_go_on =
        decoder.error() == DecodeError::truncated || decoder.error() == DecodeError::too_long;
    if (!may_go_on || bytes.size() > max_part) return std::unexpected(SnapshotError::malformed);
    return 0;
  }
  bool fits = false;
  visit_in_place(part_, [&](const auto& one) { fits = take(one); });
  if (!fits) return std::unexpected(SnapshotError::contradictory);
  return bytes.size() - decoder.rest().size();
}

bool SnapshotReader::take(const SnapshotHeader& header) {
  const bool fits = stage_ == Stage::header && header.format == snapshot_format && header.revision >= 1 &&
                    header.revision < never - 1 && header.compacted >= 0 &&
                    header.compacted <= header.revision && header.clock_ms <= max_clock_ms &&
                    header.alarms.size() <= max_alarms;
  if (!fits) return false;
  stage_ = Stage::leases;
  header_ = header;
  header_.format = {};
  store_->applied_ = {header.index, header.term};
  store_->history_.begin_restoring(header.revision, header.compacted,
                                   {header.log_begin, header.log_begin_sub});
  store_->leases_.restore_clock(header.clock_ms);
  for (const auto& [member, kind] : header.alarms) {
    const std::pair alarm(member, kind);
    auto& all = store_->alarms_;
    if (kind == AlarmKind::none || (!all.empty() && alarm <= *all.rbegin())) return false;
    all.insert(all.end(), alarm);
  }
  return true;
}

bool SnapshotReader::take(const SnapshotLease& lease) {
  const auto& known = store_->leases_.all();
  const bool fits = stage_ == Stage::leases && lease.id != 0 && lease.ttl >= 1 && lease.ttl <= max_ttl &&
                    (known.empty() || known.rbegin()->first < lease.id) &&
                    (lease.deadline == 0 || lease.deadline >= static_cast<std::uint64_t>(lease.ttl) * 1000) &&
                    lease.deadline <= header_.clock_ms + static_cast<std::uint64_t>(lease.ttl) * 1000;
  if (fits) store_->leases_.restore(lease.id, lease.ttl, lease.deadline);
  return fits;
}

// Whether a key can have gone from one of its records to the other. Nothing is known of what came before the
// first.
bool SnapshotReader::follows(const SnapshotRecord& record, const Record* before) const {
  const bool is_deletion = record.create == 0;
  const Place place = {record.mod, record.sub};
  const Place log_begin = {header_.log_begin, header_.log_begin_sub};
  if (record.mod < 2 || record.mod > header_.revision) return false;
  // What was swept left one record for each key that existed.
  if (place < log_begin && (before || is_deletion)) return false;
  if (before && record.mod <= before->mod) return false;
  if (is_deletion)
    return record.version == 0 && record.lease == 0 && record.value.empty() &&
           !(before && before->is_deletion());
  if (before && !before->is_deletion())
    return record.create == before->create() && record.version == before->version() + 1;
  const bool is_first_version = record.create == record.mod && record.version == 1;
  if (before) return is_first_version;
  return is_first_version ||
         (record.create >= 2 && record.create < record.mod && record.version > 1 && record.version < never);
}

bool SnapshotReader::take(const SnapshotRecord& record) {
  if (stage_ != Stage::leases && stage_ != Stage::records) return false;
  stage_ = Stage::records;
  if (record.key.size() > max_text + max_name || record.value.size() > max_text) return false;
  const bool begins_key = !record.key.empty();
  if (begins_key ? last_ && record.key <= last_->key->text() : !last_) return false;
  if (!follows(record, begins_key ? nullptr : last_)) return false;
  if (begins_key && !end_key()) return false;
  History& history = store_->history_;
  last_ = &history.restore(begins_key ? history.restore_key(record.key) : *last_->key,
                           {.create = record.create,
                            .mod = record.mod,
                            .version = record.version,
                            .lease = record.lease,
                            .sub = record.sub},
                           record.value);
  return true;
}

// All records of a key are there: if it exists, it may go with a lease.
bool SnapshotReader::end_key() {
  if (!last_ || last_->lease() == 0) return true;
  if (!store_->leases_.find(last_->lease())) return false;
  store_->leases_.attach(last_->lease(), *last_->key);
  return true;
}

bool SnapshotReader::take(const SnapshotEnd& end) {
  if (stage_ != Stage::leases && stage_ != Stage::records) return false;
  stage_ = Stage::complete;
  expected_ = end.digest;
  return end_key() && store_->history_.finish_restoring();
}

std::expected<std::unique_ptr<Store>, SnapshotError> SnapshotReader::finish() {
  if (stage_ != Stage::complete) return std::unexpected(SnapshotError::truncated);
  if (!pending_.empty()) return std::unexpected(SnapshotError::malformed);
  if (store_->digest() != expected_) return std::unexpected(SnapshotError::digest);
  return std::move(store_);
}

}  // namespace conclave::kv
