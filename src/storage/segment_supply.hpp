// Keeps the next segment of a log ready, in a thread of its own, and takes back those that are done with.
//
// A segment is written in full before it is used: overwriting costs an fdatasync half of what growing does,
// and blocks that were only allocated cost as much as growing. One that comes back is kept as a spare, which
// saves even that; beyond `most_spares` it is removed.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "storage/directory.hpp"
#include "storage/record.hpp"

namespace conclave::storage {

std::string segment_name(std::uint64_t sequence);  // log-0000000000000001

// A file whose head is durable, and whose name is not yet that of a segment.
struct ReadySegment {
  File file = {};
  std::string name = {};
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
};

class SegmentSupply {
 public:
  SegmentSupply(const Directory& directory, std::uint64_t segment_bytes, std::size_t most_spares,
                std::chrono::nanoseconds retry_after);
  ~SegmentSupply();

  // Makes a segment now, in the caller's thread.
  Result<ReadySegment> make(std::uint64_t sequence, std::uint64_t bytes);

  void start();                            // the thread; spares of an earlier life are used first
  void want(std::uint64_t sequence);       // the next to be made ready
  std::optional<ReadySegment> take();      // none: not ready yet
  Result<ReadySegment> wait_and_take();    // or the reason why there is none
  void give_back(std::uint64_t sequence);  // in ascending order
  void settle();                           // until nothing is left to do
  // Why it stopped working. What passes is tried again.
  std::optional<Failure> failure() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool has_work() const { return !failure_ && (!returned_.empty() || wanted_); }
  Result<void> work(std::unique_lock<std::mutex>& lock);
  Result<void> retire(std::uint64_t sequence);
  Result<ReadySegment> prepare(std::uint64_t sequence);
  Result<ReadySegment> adopt(const std::string& name, std::uint64_t sequence);
  Result<ReadySegment> begin(File file, const std::string& name, std::uint64_t sequence);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  std::string fresh_spare_name();
  void find_spares();
  bool retry_is_due() const;
  void wait_for_outcome(std::unique_lock<std::mutex>& lock);

  const Directory& directory_;
  const std::uint64_t segment_bytes_;
  const std::size_t most_spares_;
  const std::chrono::nanoseconds retry_after_;
  // The thread's alone, once it runs.
  std::vector<std::string> spares_;
  std::uint64_t spare_names_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::uint64_t> wanted_;
  std::optional<ReadySegment> ready_;
  std::deque<std::uint64_t> returned_;
  std::optional<Failure> failure_;
  Clock::time_point failed_at_ = {};
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace conclave::storage
