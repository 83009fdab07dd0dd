// States on their way to the disk: a thread of their own writes them, a piece at a time, so that neither
// their owner nor the log waits for it.
//
//   storage::Drafts drafts(snapshots);
//   auto draft = drafts.begin({.tag = index}, {.room = [&] { loop.post(go_on); }, .ended = [&](auto file) { …
//   }}); while (draft->has_room()) draft->append(next_piece());   // then wait for `room`
//   draft->end(Draft::Fate::keep);                           // `ended` tells what came of it
//
// Events are called by the thread. Of a draft that is given up nobody hears any more, and its file is gone.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/bulk.hpp"
#include "storage/snapshots.hpp"

namespace conclave::storage {

class Drafts;

class Draft {
 public:
  struct Events {
    std::function<void()> room = {};  // for more, after there was none
    std::function<void(Result<SnapshotReader>)> ended = {};
  };
  enum class Fate {
    keep,  // it is durable, has its name, and is the newest snapshot
    lend,  // it has no name, and is gone with its reader
  };
  // So much may wait for the disk.
  static constexpr std::size_t most_waiting = 1 << 20;

  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  std::uint64_t tag() const { return tag_; }
  bool has_room() const;
  void wait_for_room() const;
  void append(std::vector<std::uint8_t> piece);
  void end(Fate fate);
  // The same, for those who cannot go on without it.
  Result<SnapshotReader> end_and_wait(Fate fate);

 private:
  friend class Drafts;
  struct Job;
  Draft(Drafts& drafts, std::shared_ptr<Job> job, std::uint64_t tag)
      : drafts_(drafts), job_(std::move(job)), tag_(tag) {}

  Drafts& drafts_;
  std::shared_ptr<Job> job_;
  std::uint64_t tag_;
};

// Outlives its drafts.
class Drafts {
 public:
  explicit Drafts(const Snapshots& snapshots);
  ~Drafts();  // what is not ended is given up
  Drafts(const Drafts&) = delete;
  Drafts& operator=(const Drafts&) = delete;

  // Of our own state, or of one that another member sends.
  Result<std::unique_ptr<Draft>> begin(SnapshotName name, Draft::Events events);
  Result<std::unique_ptr<Draft>> receive(SnapshotName name, Draft::Events events);

 private:
  friend class Draft;
  struct Task {
    std::shared_ptr<Draft::Job> job;
    std::vector<std::uint8_t> piece = {};
    std::optional<Draft::Fate> fate = {};  // none: the piece is written, or the job is given up
  };
  Result<std::unique_ptr<Draft>> begin(Result<SnapshotWriter> writer, std::uint64_t tag,
                                       Draft::Events events);
  void push(Task task);
  void run();
  void carry_out(Task& task);

  const Snapshots& snapshots_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable room_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

// What a reader reads, for whoever takes bytes from anywhere.
Bulk bulk_of(SnapshotReader reader);

}  // namespace conclave::storage
