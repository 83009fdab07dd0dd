// Where workers wait for each other after every piece of work. Pieces are short and alike: who comes first
// looks for a while whether the others are there before it goes to sleep, because waking up takes longer than
// that.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

namespace conclave::check {

class PatientBarrier {
 public:
  explicit PatientBarrier(std::uint32_t workers)
      : workers_(workers),
        most_looks_(workers <= std::thread::hardware_concurrency() ? 5000 : 0),
        missing_(workers) {}

  void arrive_and_wait() {
    arrive_and_wait([] {});
  }
  // Whoever comes last does this alone, before anybody goes on.
  template <class Task>
  void arrive_and_wait(Task&& alone) {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      alone();
      missing_.store(workers_, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return round_.notify_all();
    }
    for (int looks = 0; looks < most_looks_; ++looks) {
      if (round_.load(std::memory_order_acquire) != round) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    round_.wait(round, std::memory_order_acquire);
  }

 private:
  const std::uint32_t workers_;
  // A tenth to a quarter of a millisecond; of no use where those who are waited for need the processor.
  const int most_looks_;
  alignas(64) std::atomic<std::uint32_t> missing_;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
};

}  // namespace conclave::check
