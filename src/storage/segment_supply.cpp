#include "storage/segment_supply.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/ensure.hpp"

namespace conclave::storage {
namespace {

constexpr std::string_view spare_prefix = "spare-";
// So much is made durable at a time: a log's own fdatasync never waits behind more than this.
constexpr std::uint64_t zeroing_step = 1 << 20;

Result<void> fill_with_zeros(File& file, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += zeroing_step) {
    if (auto done = file.write_zeros(at, std::min(zeroing_step, bytes - at)); !done) return done;
    if (auto done = file.sync(); !done) return done;
  }
  return {};
}

}  // namespace

std::string segment_name(std::uint64_t sequence) { return fmt::format("log-{:016x}", sequence); }

SegmentSupply::SegmentSupply(const Directory& directory, std::uint64_t segment_bytes, std::size_t most_spares,
                             std::chrono::nanoseconds retry_after)
    : directory_(directory),
      segment_bytes_(segment_bytes),
      most_spares_(most_spares),
      retry_after_(retry_after) {}

SegmentSupply::~SegmentSupply() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SegmentSupply::start() {
  ensure(!thread_.joinable(), "a supply starts once");
  thread_ = std::thread([this] { run(); });
}

void SegmentSupply::want(std::uint64_t sequence) {
  const std::scoped_lock lock(mutex_);
  ensure(!wanted_ && !ready_, "one segment is wanted at a time");
  wanted_ = sequence;
  changed_.notify_all();
}

std::optional<ReadySegment> SegmentSupply::take() {
  std::unique_lock lock(mutex_);
  // Something was wanting, and the caller would compete with us for what is there now: it waits for our try.
  if (!ready_ && retry_is_due()) wait_for_outcome(lock);
  return std::exchange(ready_, std::nullopt);
}

Result<ReadySegment> SegmentSupply::wait_and_take() {
  std::unique_lock lock(mutex_);
  wait_for_outcome(lock);
  if (ready_) return *std::exchange(ready_, std::nullopt);
  return std::unexpected(*failure_);
}

void SegmentSupply::wait_for_outcome(std::unique_lock<std::mutex>& lock) {
  if (retry_is_due()) {
    failure_.reset();
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return ready_ || failure_; });
}

void SegmentSupply::give_back(std::uint64_t sequence) {
  const std::scoped_lock lock(mutex_);
  returned_.push_back(sequence);
  changed_.notify_all();
}

void SegmentSupply::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_ && !has_work(); });
}

std::optional<Failure> SegmentSupply::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

bool SegmentSupply::retry_is_due() const {
  return failure_ && failure_->passes() && Clock::now() - failed_at_ >= retry_after_;
}

void SegmentSupply::run() {
  find_spares();
  std::unique_lock lock(mutex_);
  while (true) {
    wait_for_work(lock);
    if (stopping_) return;
    busy_ = true;
    auto done = work(lock);
    busy_ = false;
    if (!done) {
      failure_ = std::move(done.error());
      failed_at_ = Clock::now();
    }
    changed_.notify_all();
  }
}

void SegmentSupply::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto ready = [&] { return stopping_ || has_work(); };
  while (!ready())
    if (!failure_ || !failure_->passes()) {
      changed_.wait(lock);
    } else if (!changed_.wait_until(lock, failed_at_ + retry_after_, ready)) {
      failure_.reset();
    }
}

// Old segments first: one of them may become the next. One that cannot be put away stays the first.
Result<void> SegmentSupply::work(std::unique_lock<std::mutex>& lock) {
  if (!returned_.empty()) {
    const std::uint64_t sequence = returned_.front();
    lock.unlock();
    auto done = retire(sequence);
    lock.lock();
    if (done) returned_.pop_front();
    return done;
  }
  const std::uint64_t sequence = *wanted_;
  lock.unlock();
  auto made = prepare(sequence);
  lock.lock();
  if (!made) return std::unexpected(std::move(made.error()));
  ready_ = std::move(*made);
  wanted_.reset();
  return {};
}

// One after the other, each durable before the next: a crash between two leaves no gap.
Result<void> SegmentSupply::retire(std::uint64_t sequence) {
  const std::string name = segment_name(sequence);
  const auto size = directory_.size_of(name);
  if (!size) return std::unexpected(size.error());
  const bool fits = *size >= segment_bytes_ && *size <= 2 * segment_bytes_;
  if (!fits || spares_.size() >= most_spares_) return directory_.remove(name);
  const std::string spare = fresh_spare_name();
  if (auto done = directory_.rename(name, spare); !done) return done;
  spares_.push_back(spare);
  return {};
}

Result<ReadySegment> SegmentSupply::prepare(std::uint64_t sequence) {
  if (spares_.empty()) return make(sequence, segment_bytes_);
  auto ready = adopt(spares_.back(), sequence);
  if (ready) spares_.pop_back();
  return ready;
}

Result<ReadySegment> SegmentSupply::make(std::uint64_t sequence, std::uint64_t bytes) {
  const std::string name = fresh_spare_name();
  auto file = directory_.open_file(name, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  if (auto done = fill_with_zeros(*file, bytes); !done) {
    // What was taken from a full disk goes back to it.
    if (done.error().passes()) (void)directory_.remove(name);
    return std::unexpected(std::move(done.error()));
  }
  return begin(std::move(*file), name, sequence);
}

Result<ReadySegment> SegmentSupply::adopt(const std::string& name, std::uint64_t sequence) {
  auto file = directory_.open_file(name, O_RDWR);
  if (!file) return std::unexpected(file.error());
  return begin(std::move(*file), name, sequence);
}

Result<ReadySegment> SegmentSupply::begin(File file, const std::string& name, std::uint64_t sequence) {
  const auto size = file.size();
  if (!size) return std::unexpected(size.error());
  alignas(4096) std::array<std::byte, segment_head_bytes> head;
  write_segment_head(head.data(), {{.directory = directory_.id(), .sequence = sequence}, *size});
  if (auto done = file.write_at(0, head); !done) return std::unexpected(done.error());
  if (auto done = file.sync(); !done) return std::unexpected(done.error());
  return ReadySegment{.file = std::move(file), .name = name, .sequence = sequence, .bytes = *size};
}

std::string SegmentSupply::fresh_spare_name() { return fmt::format("{}{}", spare_prefix, ++spare_names_); }

// Half-made ones go; the whole ones serve.
void SegmentSupply::find_spares() {
  const auto names = directory_.names_with(std::string(spare_prefix));
  if (!names) return;
  for (const std::string& name : *names) {
    std::uint64_t number = 0;
    std::from_chars(name.data() + spare_prefix.size(), name.data() + name.size(), number);
    spare_names_ = std::max(spare_names_, number);
    const auto size = directory_.size_of(name);
    const bool fits = size && *size >= segment_bytes_ && *size <= 2 * segment_bytes_;
    if (fits && spares_.size() < most_spares_) {
      spares_.push_back(name);
    } else {
      (void)directory_.remove(name);
    }
  }
}

}  // namespace conclave::storage
