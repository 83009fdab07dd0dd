// A write-ahead log in segments. It keeps records in order and knows nothing of what they mean.
//
//   auto log = storage::SegmentedLog::open(directory, {}, [&](const auto& record) { state.replay(record); });
//   (*log)->set_preamble(state.term_and_vote());
//   (*log)->append({head, body}, index);
//   if (auto done = (*log)->sync(); !done) stop(done.error());   // one write, one fdatasync
//   (*log)->release(snapshot_index);                             // what the snapshot holds may go
//
// Opening hands out every record that was ever reported durable, and possibly some that were not. What a
// crash left of the last batch is cut; any other missing byte is damage, and refused. docs/storage-format.md
// has the rule. After a failure that does not pass the log does nothing any more: what the disk holds is
// known only to the next start. One thread at a time.
#pragma once
#include <deque>
#include <functional>
#include <memory>

#include "storage/batch.hpp"
#include "storage/scan.hpp"
#include "storage/segment_supply.hpp"
#include "storage/watermark.hpp"

namespace conclave::storage {

struct LogOptions {
  std::uint64_t segment_bytes = 16 << 20;
  std::uint64_t first_segment_bytes = 1 << 20;  // a new member starts without waiting for a large one
  std::size_t most_spares = 2;
  std::chrono::nanoseconds retry_after = std::chrono::seconds(1);  // of a segment that cannot be made now
};

struct Replayed {
  ByteView bytes = {};
  std::uint64_t tag = 0;
  bool is_preamble = false;  // what set_preamble had said when a segment began
};

struct LogStatus {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;             // of the files
  std::optional<Failure> supply = {};  // why the next segment is not ready
};

class SegmentedLog {
 public:
  using Visitor = std::function<void(const Replayed&)>;

  // The directory must outlive the log. If this fails, what was visited counts for nothing.
  static Result<std::unique_ptr<SegmentedLog>> open(const Directory& directory, LogOptions options,
                                                    const Visitor& visit);

  // What a reader must know of all that was appended before, if older segments are gone: copied, and written
  // when a segment begins. To be said after opening, and whenever it changes.
  void set_preamble(ByteView preamble) { preamble_.assign(preamble.begin(), preamble.end()); }

  // Buffers one record, the concatenation of `parts`. `tag` is the greatest index in it.
  void append(std::span<const ByteView> parts, std::uint64_t tag);
  void append(std::initializer_list<ByteView> parts, std::uint64_t tag) {
    append(std::span(parts.begin(), parts.size()), tag);
  }
  // Makes everything appended durable. After a failure that passes it may be called again.
  Result<void> sync();
  // The same for a batch of the caller's, which is cleared.
  Result<void> commit(Batch& batch);
  // Proves to the next start that what was committed is durable: without it, damage to the last batch looks
  // like a write that never finished.
  Result<void> seal();

  // Nothing up to this tag is needed: leading segments without a greater one are recycled.
  void release(std::uint64_t tag);
  void settle() { supply_.settle(); }  // waits for the thread that prepares and recycles
  LogStatus status() const;
  std::uint64_t replayed() const { return replayed_; }       // records that opening found
  const std::string& repaired() const { return repaired_; }  // what opening cut; empty: nothing

 private:
  struct Segment {
    std::uint64_t sequence = 0;
    std::uint64_t bytes = 0;  // of the file
    std::uint64_t greatest_tag = 0;
    std::uint64_t previous_end = 0;  // of the segment before it
    std::uint64_t end = segment_head_bytes;
    std::uint32_t batch = 0;  // the last one's number
  };

  SegmentedLog(const Directory& directory, LogOptions options)
      : directory_(directory),
        options_(options),
        supply_(directory, options.segment_bytes, options.most_spares, options.retry_after) {}
  Result<void> open_watermark();
  Result<void> begin_first();
  Result<void> replay(const std::vector<std::uint64_t>& sequences, const Visitor& visit);
  Result<void> check_file(const File& file, ByteView bytes, std::uint64_t sequence) const;
  Result<void> check_watermark(const std::string& path, std::uint64_t sequence, const Scan& scan) const;
  Result<void> repair(const Scan& scan);
  Result<void> make_room(std::size_t bytes);
  Result<void> begin_next();
  Result<void> write(Batch& batch);
  Result<void> take_back();
  Result<void> raise_watermark();
  Result<void> put_off(Failure failure);
  Result<void> broken(Failure failure);

  const Directory& directory_;
  const LogOptions options_;
  SegmentSupply supply_;
  std::deque<Segment> older_;
  Segment current_;
  File file_;  // of the current segment
  std::optional<ReadySegment> next_;
  std::optional<std::uint64_t> torn_end_;  // of a batch that was put off, and not taken back yet
  std::optional<Watermark> watermark_;     // none: there was no room for it
  Batch batch_;
  Batch opening_;
  std::vector<std::byte> preamble_;
  bool sealed_ = true;  // nothing was committed since the last seal
  std::optional<Failure> failure_;
  std::uint64_t replayed_ = 0;
  std::string repaired_;
};

}  // namespace conclave::storage
