// Proof that a lock between processes works: a file that all of them map, changed only inside the section.
// Whoever enters counts; a second one inside, or a fence that does not grow, is noticed and counted too.
#pragma once
#include <atomic>
#include <expected>
#include <memory>
#include <string>

#include "live/play.hpp"
#include "live/register_file.hpp"

namespace conclave::live {

class RegisterTally {
 public:
  // Creates the file if it is not there, with nothing counted.
  static std::expected<std::unique_ptr<RegisterTally>, std::string> open(const std::string& path);
  ~RegisterTally();
  RegisterTally(const RegisterTally&) = delete;
  RegisterTally& operator=(const RegisterTally&) = delete;

  void arrive() { counts_->arrived.fetch_add(1); }
  std::uint64_t arrived() const { return counts_->arrived.load(); }

  // What is done inside. Now and then gives up the processor in the middle of it, so that whoever should not
  // be here comes.
  void count_entry(std::uint64_t fence);

  std::uint64_t entries() const { return counts_->entries; }
  std::uint64_t overlaps() const { return counts_->overlaps.load(); }
  std::uint64_t stale_fences() const { return counts_->stale_fences; }
  std::uint64_t last_fence() const { return counts_->last_fence; }

 private:
  struct Counts {
    std::atomic<std::uint64_t> arrived;
    std::atomic<std::uint64_t> inside;
    std::atomic<std::uint64_t> overlaps;
    // Plain: the lock is what protects them.
    std::uint64_t entries;
    std::uint64_t last_fence;
    std::uint64_t stale_fences;
  };
  explicit RegisterTally(Counts* counts) : counts_(counts) {}
  Counts* counts_;
};

// Where the tally of a lock is.
std::string tally_of(const std::string& lock);

// Waits until so many have come; false if they have not by then.
bool wait_for_all(const RegisterTally& tally, std::size_t all,
                  std::chrono::steady_clock::time_point deadline);

template <Withdraws P>
Played play_registers(const Casting& casting) {
  auto tally = RegisterTally::open(tally_of(casting.shared));
  if (!tally) return {.problem = tally.error()};
  auto lock = open_register_lock<P>(casting.shared, static_cast<std::uint32_t>(casting.members.size()));
  if (!lock) return {.problem = lock.error()};
  (*tally)->arrive();
  const auto deadline = std::chrono::steady_clock::now() + casting.patience;
  if (!wait_for_all(**tally, casting.members.size(), deadline)) return {.problem = "not everybody came"};
  for (std::uint32_t entry = 0; entry < casting.entries; ++entry) {
    if (!lock->try_lock_until(deadline))
      return {.problem = "not done in time, after " + std::to_string(entry) + " entries"};
    (*tally)->count_entry(lock->fence());
    lock->unlock();
  }
  return {};
}

}  // namespace conclave::live
