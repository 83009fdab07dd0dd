// Preloaded: the wall clock is off by so many seconds as the file CLOCK_STEP says, at every look. Timers and
// the other clocks are right. (libfaketime also bends the timers that have a file descriptor.)
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

static long step() {
  const char* path = std::getenv("CLOCK_STEP");
  std::FILE* file = path ? std::fopen(path, "re") : nullptr;
  if (!file) return 0;
  long seconds = 0;
  if (std::fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  std::fclose(file);
  return seconds;
}

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += step();
  return result;
}
