#include "storage/flusher.hpp"

namespace conclave::storage {
namespace {

using Clock = std::chrono::steady_clock;

// Tells the core that this thread only waits.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Flusher::Flusher(std::unique_ptr<SegmentedLog> log, FlusherOptions options, Events events)
    : options_(options), events_(std::move(events)), log_(std::move(log)), status_(log_->status()) {
  thread_ = std::thread([this] { run(); });
}

Flusher::~Flusher() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    rung_.store(true, std::memory_order_release);
  }
  wake_.notify_one();
  thread_.join();
}

void Flusher::set_preamble(ByteView preamble) { preamble_.assign(preamble.begin(), preamble.end()); }

void Flusher::append(std::span<const ByteView> parts, std::uint64_t tag) {
  const std::scoped_lock lock(mutex_);
  if (failed_) return;  // the owner hears of it
  if (collecting_.empty()) collecting_.set_preamble(preamble_);
  collecting_.add(parts, tag);
}

std::uint64_t Flusher::submit() {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++submitted_;
    rung_.store(true, std::memory_order_release);
  }
  wake_.notify_one();
  return number;
}

void Flusher::release(std::uint64_t tag) {
  {
    const std::scoped_lock lock(mutex_);
    released_ = std::max(released_.value_or(0), tag);
    rung_.store(true, std::memory_order_release);
  }
  wake_.notify_one();
}

bool Flusher::congested() const {
  const std::scoped_lock lock(mutex_);
  return collecting_.bytes() >= options_.congested_bytes;
}

LogStatus Flusher::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void Flusher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_for_work(lock);
    if (failed_) return;
    if (submitted_ == taken_ && !released_ && stopping_) break;
    if (auto done = flush(lock); !done) return fail(lock, done.error());
  }
  lock.unlock();
  (void)log_->seal();  // a courtesy to the next start
}

void Flusher::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (!has_work() && options_.spin.count() > 0) spin(lock);
  if (has_work()) return;
  if (wake_.wait_for(lock, options_.seal_after, [&] { return has_work(); })) return;
  lock.unlock();
  auto sealed = log_->seal();
  lock.lock();
  if (!sealed && !sealed.error().passes()) return fail(lock, sealed.error());
  wake_.wait(lock, [&] { return has_work(); });
}

void Flusher::spin(std::unique_lock<std::mutex>& lock) {
  rung_.store(false, std::memory_order_relaxed);
  lock.unlock();
  for (const auto until = Clock::now() + options_.spin;
       !rung_.load(std::memory_order_acquire) && Clock::now() < until;)
    relax();
  lock.lock();
}

Result<void> Flusher::flush(std::unique_lock<std::mutex>& lock) {
  std::swap(collecting_, writing_);
  const std::uint64_t number = submitted_;
  const bool has_news = taken_ != number;
  const auto released = std::exchange(released_, std::nullopt);
  taken_ = number;
  lock.unlock();
  const bool writes = !writing_.empty();
  const auto begin = Clock::now();
  auto done = commit();
  if (done && writes) disk_.add(Clock::now() - begin);
  if (done && released) log_->release(*released);
  if (done && has_news) events_.durable(number);
  LogStatus status = log_->status();
  lock.lock();
  status_ = std::move(status);
  return done;
}

Result<void> Flusher::commit() {
  auto done = log_->commit(writing_);
  return done || !done.error().passes() ? done : wait_for_room(std::move(done.error()));
}

Result<void> Flusher::wait_for_room(Failure why) {
  if (events_.waits) events_.waits(why);
  Result<void> done = std::unexpected(std::move(why));
  while (!done && done.error().passes()) {
    std::unique_lock lock(mutex_);
    const bool ends = wake_.wait_for(lock, options_.retry_after, [&] { return stopping_; });
    lock.unlock();
    done = log_->commit(writing_);
    if (ends) break;
  }
  if (done && events_.goes_on) events_.goes_on();
  return done;
}

void Flusher::fail(std::unique_lock<std::mutex>& lock, const Failure& failure) {
  failed_ = true;
  collecting_.clear();
  lock.unlock();
  events_.failed(failure);
  lock.lock();
}

}  // namespace conclave::storage
