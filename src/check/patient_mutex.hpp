// A mutex for what is soon over: whoever finds it taken looks again for a while before it goes to sleep.
#pragma once
#include <mutex>

namespace conclave::check {

class PatientMutex {
 public:
  void lock() {
    for (int tries = 0; tries < 1000; ++tries) {
      if (mutex_.try_lock()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace conclave::check
