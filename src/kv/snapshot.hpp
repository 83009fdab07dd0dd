// A store as bytes, and back.
//
// The bytes are canonical: equal states have equal snapshots, and the reader refuses whatever the writer
// would not have written. A store may go on applying commands while it is written: the snapshot is of the
// moment when the writer was made.
#pragma once
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/codec.hpp"
#include "kv/store.hpp"

namespace conclave::kv {

// The parts of a snapshot: a header, the leases by id, the records by key and revision, the end.
struct SnapshotAlarm {
  std::uint64_t member = 0;
  AlarmKind kind = AlarmKind::none;
};

struct SnapshotHeader {
  std::string_view format = {};
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  Revision revision = 0;
  Revision compacted = 0;
  Revision log_begin = 0;
  std::uint32_t log_begin_sub = 0;
  std::uint64_t clock_ms = 0;
  std::vector<SnapshotAlarm> alarms = {};
};

struct SnapshotLease {
  LeaseId id = 0;
  std::int64_t ttl = 0;
  std::uint64_t deadline = 0;
};

struct SnapshotRecord {
  std::string_view key = {};  // empty: that of the record before
  Revision create = 0;
  Revision mod = 0;
  std::uint32_t sub = 0;
  std::int64_t version = 0;
  LeaseId lease = 0;
  std::string_view value = {};
};

struct SnapshotEnd {
  Digest digest = 0;
};

// What a header's `format` begins with, whatever the version; and the one that this program writes and reads.
inline constexpr std::string_view snapshot_formats = "conclave-kv-";
inline constexpr std::string_view snapshot_format = "conclave-kv-1";

using SnapshotPart = std::variant<SnapshotHeader, SnapshotLease, SnapshotRecord, SnapshotEnd>;

class SnapshotWriter {
 public:
  // The store outlives the writer, and has one at a time. The leases are copied here: 24 bytes each.
  explicit SnapshotWriter(Store& store);
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  Context at() const { return {header_.index, header_.term}; }
  // Appends some more, until `out` has `about` bytes or the part that reaches this is complete. False: that
  // was the end.
  bool write(Bytes& out, std::size_t about);

 private:
  void write_records(Bytes& out, std::size_t about);
  void write_versions(Key& key, Bytes& out, std::size_t about);

  Store& store_;
  SnapshotHeader header_;
  std::vector<SnapshotLease> leases_;
  Digest digest_;
  std::uint32_t reader_;
  std::size_t next_lease_ = 0;
  bool begun_ = false;
  bool ended_ = false;
  Key* key_ = nullptr;    // whose records are being written
  Revision written_ = 0;  // the last of them
};

enum class SnapshotError {
  malformed,      // not the bytes of a snapshot, or of one that this version knows
  contradictory,  // parts that cannot be those of one store
  truncated,      // it ends too early
  digest,         // the state is not the one that was written
};

std::string_view describe(SnapshotError error);

class SnapshotReader {
 public:
  // What may stand behind a snapshot: files are filled up to whole pages.
  enum class Behind { nothing, zeros };
  explicit SnapshotReader(std::uint64_t table_seed = 0, Behind behind = Behind::nothing);

  // The next bytes, however they are cut. After an error, the reader is of no more use.
  std::expected<void, SnapshotError> feed(std::span<const std::uint8_t> bytes);
  std::expected<std::unique_ptr<Store>, SnapshotError> finish();

  // The end was among the bytes; then, the digest of what was read, which should be the one that was written.
  bool is_complete() const { return stage_ == Stage::complete; }
  Digest digest() const { return store_->digest(); }
  // Of the header; 0 as long as it has not arrived.
  Revision revision() const { return header_.revision; }

 private:
  enum class Stage { header, leases, records, complete };
  bool take(const SnapshotHeader& header);
  bool take(const SnapshotLease& lease);
  bool take(const SnapshotRecord& record);
  bool take(const SnapshotEnd& end);
  bool follows(const SnapshotRecord& record, const Record* before) const;
  bool end_key();
  std::expected<std::size_t, SnapshotError> take_part(std::span<const std::uint8_t> bytes);
  std::expected<std::size_t, SnapshotError> take_parts(std::span<const std::uint8_t> bytes);
  std::expected<std::size_t, SnapshotError> complete_pending(std::span<const std::uint8_t> bytes);

  std::unique_ptr<Store> store_;
  const Behind behind_;
  Bytes pending_;  // the beginning of a part
  Stage stage_ = Stage::header;
  SnapshotHeader header_;
  SnapshotPart part_;
  Record* last_ = nullptr;
  Digest expected_ = 0;
};

}  // namespace conclave::kv
