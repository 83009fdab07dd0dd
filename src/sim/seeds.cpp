#include "sim/seeds.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace conclave::sim {

SeedsOutcome run_seeds(std::uint64_t first, std::uint64_t count, unsigned jobs,
                       const std::function<std::optional<std::string>(std::uint64_t)>& run,
                       const std::function<void(std::uint64_t)>& progress) {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> stop_at = count;  // the least seed known to fail, as an offset
  std::mutex guard;
  std::condition_variable finished;
  std::optional<SeedFailure> failure;
  unsigned working = std::max(1u, jobs);

  const auto work = [&] {
    for (std::uint64_t offset = next++; offset < stop_at; offset = next++) {
      const auto why = run(first + offset);
      ++done;
      if (!why) continue;
      const std::lock_guard lock(guard);
      if (offset < stop_at) {
        stop_at = offset;
        failure = {first + offset, *why};
      }
    }
    const std::lock_guard lock(guard);
    --working;
    finished.notify_one();
  };

  std::vector<std::jthread> threads;
  for (unsigned i = working; i > 0; --i) threads.emplace_back(work);
  {
    std::unique_lock lock(guard);
    while (!finished.wait_for(lock, std::chrono::milliseconds(500), [&] { return working == 0; })) {
      lock.unlock();
      progress(done);
      lock.lock();
    }
  }
  threads.clear();
  return {done, failure};
}

Script shrink(Script script, const std::function<bool(const Script&)>& fails) {
  for (std::size_t piece = std::max<std::size_t>(1, script.size() / 2); !script.empty();) {
    bool dropped = false;
    for (std::size_t at = 0; at < script.size();) {
      Script without = script;
      const auto begin = without.begin() + static_cast<std::ptrdiff_t>(at);
      without.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, without.size() - at)));
      if (fails(without)) {
        script = std::move(without);
        dropped = true;
      } else {
        at += piece;
      }
    }
    if (piece == 1 && !dropped) break;
    if (!dropped || piece > script.size()) piece = std::max<std::size_t>(1, piece / 2);
  }
  return script;
}

}  // namespace conclave::sim
