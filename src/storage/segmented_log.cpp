#include "storage/segmented_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/ensure.hpp"

namespace conclave::storage {
namespace {

constexpr std::string_view log_prefix = "log-";
constexpr std::uint64_t most_growth = 4;  // segments may have so many times their size before anybody waits

std::unexpected<Failure> damaged(const Directory& directory, const std::string& path, std::uint64_t offset,
                                 const std::string& what) {
  return std::unexpected(Failure{
      .kind = FailureKind::damaged,
      .text =
          fmt::format("{} is damaged at byte {}: {}. Nothing was changed. Restore {} from a backup of this "
                      "member, or remove it and let the member join anew",
                      path, offset, what, directory.path())});
}

// The segments there are, ascending and without gaps.
Result<std::vector<std::uint64_t>> find_segments(const Directory& directory) {
  const auto names = directory.names_with(std::string(log_prefix));
  if (!names) return std::unexpected(names.error());
  std::vector<std::uint64_t> sequences;
  for (const std::string& name : *names) {
    std::uint64_t sequence = 0;
    std::from_chars(name.data() + log_prefix.size(), name.data() + name.size(), sequence, 16);
    if (segment_name(sequence) != name) continue;  // somebody's copy
    if (!sequences.empty() && sequence != sequences.back() + 1)
      return damaged(directory, directory.file(segment_name(sequences.back() + 1)), 0, "the file is missing");
    sequences.push_back(sequence);
  }
  return sequences;
}

// A snapshot without a log: somebody removed it, and with it what this member has promised.
Result<void> check_fresh(const Directory& directory) {
  const auto names = directory.names_with("snapshot-");
  if (!names) return std::unexpected(names.error());
  if (names->empty()) return {};
  return damaged(directory, directory.file(segment_name(1)), 0,
                 "there is no segment of the log, but " + names->front());
}

Result<void> read_whole(const File& file, std::vector<std::byte>& into) {
  const auto size = file.size();
  if (!size) return std::unexpected(size.error());
  into.resize(*size);
  const auto got = file.read_at(0, into);
  if (!got) return std::unexpected(got.error());
  into.resize(*got);
  return {};
}

// What must hold for a segment that is not the last: the next one was begun, so all of it was durable. Where
// it ends, the next one's opening says, if that was written.
Result<void> check_complete(const Directory& directory, const std::string& path, const Scan& scan,
                            const Scan& next) {
  if (scan.remains != 0)
    return damaged(
        directory, path, scan.end,
        fmt::format("a record is not what was written, but byte {} and the next segment prove that "
                    "it was durable",
                    scan.remains));
  if (!scan.batch_ended)
    return damaged(directory, path, scan.end, "a batch has no end, although a later segment was begun");
  if (next.previous_end && *next.previous_end != scan.end)
    return damaged(directory, path, scan.end,
                   fmt::format("the next segment says that its records end at byte {}", *next.previous_end));
  return {};
}

}  // namespace

Result<std::unique_ptr<SegmentedLog>> SegmentedLog::open(const Directory& directory, LogOptions options,
                                                         const Visitor& visit) {
  ensure(options.first_segment_bytes > segment_head_bytes && options.segment_bytes > segment_head_bytes,
         "a segment is larger than its head");
  const auto sequences = find_segments(directory);
  if (!sequences) return std::unexpected(sequences.error());
  std::unique_ptr<SegmentedLog> log(new SegmentedLog(directory, options));
  auto done = log->open_watermark();
  if (done) done = sequences->empty() ? log->begin_first() : log->replay(*sequences, visit);
  if (!done) return std::unexpected(done.error());
  log->supply_.start();
  log->supply_.want(log->current_.sequence + 1);
  return log;
}

// One that cannot be made is no reason not to start: a directory of an earlier version has none either.
Result<void> SegmentedLog::open_watermark() {
  auto opened = Watermark::open(directory_);
  if (opened) return void(watermark_.emplace(std::move(*opened))), Result<void>();
  return opened.error().passes() ? Result<void>() : std::unexpected(std::move(opened.error()));
}

Result<void> SegmentedLog::begin_first() {
  if (auto done = check_fresh(directory_); !done) return done;
  if (watermark_ && watermark_->position().segment != 0)
    return damaged(directory_, directory_.file(segment_name(watermark_->position().segment)), 0,
                   fmt::format("the file is missing, but {} says that it was written", watermark_file));
  auto first = supply_.make(1, options_.first_segment_bytes);
  if (!first) return std::unexpected(first.error());
  if (auto done = directory_.rename(first->name, segment_name(1)); !done) return done;
  file_ = std::move(first->file);
  file_.renamed(directory_.file(segment_name(1)));
  current_ = {.sequence = 1, .bytes = first->bytes};
  return {};
}

Result<void> SegmentedLog::replay(const std::vector<std::uint64_t>& sequences, const Visitor& visit) {
  std::vector<std::byte> bytes;
  std::string path;
  Scan scan;
  for (const std::uint64_t sequence : sequences) {
    const bool is_first = sequence == sequences.front();
    const bool is_last = sequence == sequences.back();
    auto file = directory_.open_file(segment_name(sequence), O_RDWR);
    if (!file) return std::unexpected(file.error());
    // Only the last one can hold what was never made durable, and nobody may act on that before it is.
    if (is_last)
      if (auto done = file->sync_and_forget(); !done) return done;
    if (auto done = read_whole(*file, bytes); !done) return done;
    const SegmentIdentity identity = {.directory = directory_.id(), .sequence = sequence};
    if (auto done = check_file(*file, bytes, sequence); !done) return done;

    const Scan before = std::exchange(
        scan, scan_segment(bytes, identity, [&](ByteView payload, std::uint64_t tag, bool is_preamble) {
          visit({.bytes = payload, .tag = tag, .is_preamble = is_preamble});
        }));
    if (!is_first) {
      if (auto done = check_complete(directory_, path, before, scan); !done) return done;
      older_.push_back(current_);
    }
    if (auto done = check_watermark(file->path(), sequence, scan); !done) return done;
    path = file->path();
    current_ = {.sequence = sequence,
                .bytes = bytes.size(),
                .greatest_tag = scan.greatest_tag,
                .previous_end = is_first ? 0 : before.end,
                .end = scan.end,
                .batch = scan.batch};
    replayed_ += scan.records;
    file_ = std::move(*file);
  }
  if (watermark_ && watermark_->position().segment > current_.sequence)
    return damaged(directory_, directory_.file(segment_name(current_.sequence + 1)), 0,
                   fmt::format("the file is missing, but {} says that the log reached segment {}",
                               watermark_file, watermark_->position().segment));
  return repair(scan);
}

// Its head, and its length: a segment is written in full before it gets its name.
Result<void> SegmentedLog::check_file(const File& file, ByteView bytes, std::uint64_t sequence) const {
  const auto head = read_segment_head(bytes);
  if (!head || head->identity != SegmentIdentity{.directory = directory_.id(), .sequence = sequence})
    return damaged(directory_, file.path(), 0, "this is not the head of that segment of this directory");
  if (bytes.size() < head->bytes)
    return damaged(directory_, file.path(), bytes.size(),
                   fmt::format("the file ends here, but had {} bytes when it was made", head->bytes));
  return {};
}

Result<void> SegmentedLog::check_watermark(const std::string& path, std::uint64_t sequence,
                                           const Scan& scan) const {
  if (!watermark_ || watermark_->position().segment != sequence || watermark_->position().end <= scan.end)
    return {};
  return damaged(directory_, path, scan.end,
                 fmt::format("the records end here, but {} says that they were durable up to byte {}",
                             watermark_file, watermark_->position().end));
}

// Cuts what the last batch left. First the remains go, so that the batch's number can be used again; then the
// records of it that are kept get an end.
Result<void> SegmentedLog::repair(const Scan& scan) {
  if (scan.proof)
    return damaged(
        directory_, file_.path(), scan.end,
        fmt::format("a record is not what was written, but byte {} proves that it was durable", *scan.proof));
  if (scan.remains != 0) {
    const std::uint64_t to = scan.remains + record_head_bytes;
    if (auto done = file_.write_zeros(scan.end, to - scan.end); !done) return done;
    if (auto done = file_.sync(); !done) return done;
  }
  sealed_ = scan.sealed;
  if (scan.remains == 0 && scan.batch_ended) return current_.batch == 0 ? Result<void>() : raise_watermark();
  repaired_ =
      fmt::format("{}: what follows byte {} was never reported durable, and is cut", file_.path(), scan.end);
  return seal();
}

void SegmentedLog::append(std::span<const ByteView> parts, std::uint64_t tag) {
  if (batch_.empty()) batch_.set_preamble(preamble_);
  batch_.add(parts, tag);
}

Result<void> SegmentedLog::sync() { return commit(batch_); }

Result<void> SegmentedLog::commit(Batch& batch) {
  if (failure_) return std::unexpected(*failure_);
  if (const auto failure = supply_.failure(); failure && !failure->passes()) return broken(*failure);
  if (batch.empty()) return {};
  if (auto done = take_back(); !done) return done;
  if (auto done = make_room(batch.bytes()); !done) return done;
  if (auto done = write(batch); !done) return done;
  sealed_ = false;
  batch.clear();
  return {};
}

Result<void> SegmentedLog::seal() {
  if (failure_) return std::unexpected(*failure_);
  if (sealed_ || current_.batch == 0) return {};
  if (auto done = take_back(); !done) return done;
  Batch seal;
  seal.add({}, 0, RecordKind::seal);
  if (auto done = write(seal); !done) return done;
  sealed_ = true;
  if (!watermark_) return {};
  if (auto done = watermark_->sync(); !done) return broken(done.error());
  return {};
}

// When the next segment is not ready, the current one grows for a while: slower, but nobody waits.
Result<void> SegmentedLog::make_room(std::size_t bytes) {
  if (current_.batch == 0 || current_.end + bytes <= current_.bytes) return {};
  if (!next_) next_ = supply_.take();
  if (next_) return begin_next();
  if (current_.end + bytes <= most_growth * options_.segment_bytes) return {};
  auto next = supply_.wait_and_take();
  if (!next) return put_off(std::move(next.error()));
  next_ = std::move(*next);
  return begin_next();
}

// Everything in the current segment is durable, and the new one has its head; so the name is all it takes.
Result<void> SegmentedLog::begin_next() {
  const std::string name = segment_name(next_->sequence);
  if (auto done = directory_.rename(next_->name, name); !done) return put_off(std::move(done.error()));
  directory_.close_file(std::move(file_));
  file_ = std::move(next_->file);
  file_.renamed(directory_.file(name));
  older_.push_back(current_);
  current_ = {.sequence = next_->sequence, .bytes = next_->bytes, .previous_end = current_.end};
  next_.reset();
  supply_.want(current_.sequence + 1);
  return {};
}

Result<void> SegmentedLog::write(Batch& batch) {
  const std::uint32_t seed =
      SegmentIdentity{.directory = directory_.id(), .sequence = current_.sequence}.seed();
  const std::uint32_t number = current_.batch + 1;
  opening_.clear();
  if (current_.batch == 0) {
    const std::array<ByteView, 2> parts = {bytes_of(current_.previous_end), batch.preamble()};
    opening_.add(parts, 0, RecordKind::opening);
    opening_.place(seed, current_.end, number, false);
  }
  batch.place(seed, current_.end + opening_.bytes(), number);
  const std::uint64_t end = current_.end + opening_.bytes() + batch.bytes();
  if (auto done = file_.write_at(current_.end, opening_.view(), batch.view()); !done) {
    torn_end_ = end;
    (void)take_back();
    return put_off(std::move(done.error()));
  }
  if (auto done = file_.sync(); !done) return broken(done.error());
  current_.end = end;
  current_.bytes = std::max(current_.bytes, current_.end);
  current_.batch = number;
  current_.greatest_tag = std::max(current_.greatest_tag, batch.greatest_tag());
  return raise_watermark();
}

// Of a batch that was put off nothing stays, so that it may be tried again, here or in another segment.
Result<void> SegmentedLog::take_back() {
  if (!torn_end_) return {};
  const std::uint64_t kept = std::min(*torn_end_, current_.bytes);
  auto done = file_.resize(current_.bytes);
  if (done) done = file_.write_zeros(current_.end, kept - current_.end);
  if (done) done = file_.sync();
  if (!done) return put_off(std::move(done.error()));
  torn_end_.reset();
  return {};
}

Result<void> SegmentedLog::raise_watermark() {
  if (!watermark_) return {};
  auto done = watermark_->raise({.segment = current_.sequence, .end = current_.end});
  return done || done.error().passes() ? Result<void>() : broken(std::move(done.error()));
}

Result<void> SegmentedLog::put_off(Failure failure) {
  return failure.passes() && !failure_ ? std::unexpected(std::move(failure)) : broken(std::move(failure));
}

Result<void> SegmentedLog::broken(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
  failure_->kind = FailureKind::io;  // even a full disk, if fdatasync says so: what was written is not known
  return std::unexpected(*failure_);
}

void SegmentedLog::release(std::uint64_t tag) {
  // Until the current segment has its opening, the preamble is in the one before it.
  const std::size_t kept = current_.batch == 0 ? 1 : 0;
  while (older_.size() > kept && older_.front().greatest_tag <= tag) {
    supply_.give_back(older_.front().sequence);
    older_.pop_front();
  }
}

LogStatus SegmentedLog::status() const {
  LogStatus status = {.segments = older_.size() + 1, .bytes = current_.bytes, .supply = supply_.failure()};
  for (const Segment& segment : older_) status.bytes += segment.bytes;
  return status;
}

}  // namespace conclave::storage
