// Preloaded: the wall clock is what the file CLOCK_STEP says, at every look. Timers and the other clocks are
// right. (libfaketime also bends the timers that have a file descriptor.) The file has one of
//
//   SECONDS                 the clock is off by so many
//   @SECONDS [SEED]         the process began at this time of the epoch, whenever that was: a frozen image.
//                           With a seed, its random numbers are the same at every start, too
//   SECONDS asleep SECONDS  it is off by so many, and the monotonic clock stood still for so long, as it does
//                           while a machine is suspended: written while the process is stopped
//
// and may change at any time. What a process saw for the first time it adds to CLOCK_STEP.fired.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>

namespace {

struct Said {
  long seconds = 0;
  bool frozen = false;
  std::uint64_t seed = 0;
  long asleep = 0;
};

std::mutex mutex;
Said said;
timespec read_at = {};
ino_t read_inode = 0;
std::uint64_t drawn = 0;
std::atomic<long> asleep = 0;  // seconds

timespec look_at(clockid_t clock) {
  timespec now = {};
  ::syscall(SYS_clock_gettime, clock, &now);
  return now;
}
const timespec began = look_at(CLOCK_BOOTTIME);

const char* control() {
  static const char* const path = std::getenv("CLOCK_STEP");
  return path;
}

void note(const char* text) {
  const std::string path = std::string(control()) + ".fired";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string line = std::to_string(::getpid()) + " " + text;
  (void)!::write(file, line.data(), line.size());
  ::close(file);
}

// Whoever has no descriptor left goes on with what was read last.
Said look() {
  const std::scoped_lock lock(mutex);
  struct stat about = {};
  if (control() == nullptr || ::stat(control(), &about) != 0) return said;
  if (about.st_mtim.tv_sec == read_at.tv_sec && about.st_mtim.tv_nsec == read_at.tv_nsec &&
      about.st_ino == read_inode)
    return said;
  const int file = ::open(control(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return said;
  char text[64] = {};
  const bool read = ::read(file, text, sizeof text - 2) > 0;
  ::close(file);
  if (!read) return said;
  read_at = about.st_mtim;
  read_inode = about.st_ino;
  said = {};
  unsigned long long seed = 0;
  said.frozen = text[0] == '@';
  if (std::sscanf(text + (said.frozen ? 1 : 0), "%ld %llu", &said.seconds, &seed) < 1) said = {};
  said.seed = seed;
  if (const char* const word = std::strstr(text, "asleep ")) said.asleep = std::atol(word + 7);
  asleep = said.asleep;
  if (std::strchr(text, '\n') == nullptr) std::strcat(text, "\n");
  note(text);
  return said;
}

bool draw(void* into, std::size_t bytes) {
  const std::uint64_t seed = look().seed;
  if (seed == 0) return false;
  const std::scoped_lock lock(mutex);
  for (std::size_t at = 0; at < bytes; ++at) {
    std::uint64_t word = seed * 0x9e3779b97f4a7c15u + ++drawn;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    static_cast<unsigned char*>(into)[at] = static_cast<unsigned char>(word >> 32);
  }
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Asked many times in a turn of a loop: the file is looked at again once some time has passed, and so by
// every process that was stopped.
void wake_up(timespec& now) {
  constexpr std::int64_t every = 20'000'000;
  static std::atomic<std::int64_t> looked = 0;
  const std::int64_t at = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  if (at - looked.load(std::memory_order_relaxed) > every) {
    looked = at;
    look();
  }
  now.tv_sec -= asleep.load(std::memory_order_relaxed);
}

}  // namespace

// The program must not see that these stand before those of the libraries.
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_MONOTONIC) wake_up(*now);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  const Said what = look();
  if (!what.frozen) {
    now->tv_sec += what.seconds;
    return result;
  }
  const timespec since = look_at(CLOCK_BOOTTIME);
  const long nanoseconds = since.tv_nsec - began.tv_nsec;
  now->tv_sec = what.seconds + since.tv_sec - began.tv_sec - (nanoseconds < 0 ? 1 : 0);
  now->tv_nsec = nanoseconds + (nanoseconds < 0 ? 1'000'000'000 : 0);
  return result;
}

// Where randomness comes from: the kernel, OpenSSL, and std::random_device.
ssize_t getrandom(void* into, std::size_t bytes, unsigned flags) {
  return draw(into, bytes) ? static_cast<ssize_t>(bytes) : ::syscall(SYS_getrandom, into, bytes, flags);
}
int getentropy(void* into, std::size_t bytes) {
  if (draw(into, bytes)) return 0;
  return ::syscall(SYS_getrandom, into, bytes, 0) == static_cast<long>(bytes) ? 0 : -1;
}
int RAND_bytes(unsigned char* into, int bytes) {
  if (draw(into, static_cast<std::size_t>(bytes))) return 1;
  static const auto real = next<int (*)(unsigned char*, int)>("RAND_bytes");
  return real(into, bytes);
}
unsigned _ZNSt13random_device9_M_getvalEv(void* self) {
  unsigned value = 0;
  if (draw(&value, sizeof value)) return value;
  static const auto real = next<unsigned (*)(void*)>("_ZNSt13random_device9_M_getvalEv");
  return real(self);
}

}  // extern "C"
