// A log with a thread of its own: while one fdatasync runs, further records collect, and the next one covers
// them all.
//
//   storage::Flusher flusher(std::move(log), {}, {
//       .durable = [&](std::uint64_t upto) { loop.post([&, upto] { raft.on_durable(upto); }); },
//       .failed = [&](const storage::Failure& why) { loop.post([&, why] { stop(why); }); }});
//   flusher.append({head, body}, index);
//   const std::uint64_t mine = flusher.submit();   // durable(n) with n >= mine will tell
//
// While the disk is full, or something else is wanting that may be there later, it waits and tries again:
// nothing is lost, and nothing becomes durable.
//
// One thread, the owner, calls everything but `latencies`. The events are called by the flusher's thread. An
// owner that prefers to wait itself calls SegmentedLog::sync and has no flusher.
#pragma once
#include <atomic>
#include <functional>

#include "storage/latency.hpp"
#include "storage/segmented_log.hpp"

namespace conclave::storage {

struct FlusherOptions {
  // How long to look for work before sleeping: waking a sleeping thread costs 40 to 50 microseconds, looking
  // costs a core.
  std::chrono::nanoseconds spin = {};
  // After so long without work the log is sealed.
  std::chrono::nanoseconds seal_after = std::chrono::milliseconds(100);
  std::size_t congested_bytes = 32 << 20;
  std::chrono::nanoseconds retry_after = std::chrono::seconds(1);  // what was put off
};

class Flusher {
 public:
  struct Events {
    std::function<void(std::uint64_t durable)> durable;  // all submitted up to this number
    std::function<void(const Failure&)> failed;          // once; nothing becomes durable afterwards
    // A wait begins, and why; later, it is over. May be left out.
    std::function<void(const Failure&)> waits = {};
    std::function<void()> goes_on = {};
  };

  Flusher(std::unique_ptr<SegmentedLog> log, FlusherOptions options, Events events);
  // What was submitted is written and sealed, and the events are told; but nobody waits for room any more.
  ~Flusher();

  void set_preamble(ByteView preamble);
  void append(std::span<const ByteView> parts, std::uint64_t tag);
  void append(std::initializer_list<ByteView> parts, std::uint64_t tag) {
    append(std::span(parts.begin(), parts.size()), tag);
  }
  // Hands over what was appended, and gives it a number.
  std::uint64_t submit();
  void release(std::uint64_t tag);

  // More waits than the disk takes: append no more until it is less. At Batch::most_bytes `append` throws.
  bool congested() const;
  LogStatus status() const;                             // as of the last batch
  const Latencies& latencies() const { return disk_; }  // of a write and its fdatasync

 private:
  void run();
  bool has_work() const { return submitted_ != taken_ || released_ || stopping_; }
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void spin(std::unique_lock<std::mutex>& lock);
  Result<void> flush(std::unique_lock<std::mutex>& lock);
  Result<void> commit();
  Result<void> wait_for_room(Failure why);
  void fail(std::unique_lock<std::mutex>& lock, const Failure& failure);

  const FlusherOptions options_;
  const Events events_;
  // The thread's alone.
  std::unique_ptr<SegmentedLog> log_;
  Batch writing_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> rung_ = false;  // a spinning thread looks at this
  Batch collecting_;
  std::vector<std::byte> preamble_;
  std::uint64_t submitted_ = 0;
  std::uint64_t taken_ = 0;  // by the thread
  std::optional<std::uint64_t> released_;
  LogStatus status_;
  bool stopping_ = false;
  bool failed_ = false;
  Latencies disk_;
  std::thread thread_;
};

}  // namespace conclave::storage
