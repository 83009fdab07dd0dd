#include "faulty_disk.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdarg>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

namespace conclave::storage::faulty {
namespace {

constexpr std::int64_t sector = 512;

std::atomic<int> syncs_left = -1;  // until one fails; negative: none will
std::atomic<int> sync_error = 0;
std::atomic<std::uint64_t> sync_count = 0;
thread_local int writes_left = -1;
thread_local std::function<bool()> sector_arrives;

struct Failing {
  std::atomic<int> calls_before = 0;
  std::atomic<int> times = 0;
  std::atomic<int> error = 0;
};
std::array<Failing, 5> failing;
std::atomic<bool> interrupts = false;
std::atomic<bool> shortens = false;
std::atomic<std::uint64_t> strikes = 0;
thread_local bool was_interrupted = false;

bool is_interrupted() {
  if (!interrupts || std::exchange(was_interrupted, !was_interrupted)) return false;
  ++strikes;
  errno = EINTR;
  return true;
}

bool fails(Call call) {
  if (is_interrupted()) return true;
  Failing& one = failing[static_cast<std::size_t>(call)];
  if (one.times <= 0 || one.calls_before-- > 0) return false;
  if (one.times-- <= 0) return false;
  ++strikes;
  errno = one.error;
  return true;
}

std::size_t taken_of(std::size_t bytes) {
  if (!shortens || bytes < 2) return bytes;
  ++strikes;
  return bytes / 2;
}

// Where the disk stands still; empty: nowhere.
std::mutex stall_mutex;
std::condition_variable stall_ends;
std::string stalled_folder;
int stalled_syncs = 0;

bool is_in(const std::string& folder, int file) {
  std::error_code none;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), none);
  return !folder.empty() && path.string().starts_with(folder + "/");
}

void wait_while_stalled(int file) {
  std::unique_lock lock(stall_mutex);
  if (!is_in(stalled_folder, file)) return;
  ++stalled_syncs;
  stall_ends.wait(lock, [&] { return !is_in(stalled_folder, file); });
  --stalled_syncs;
}

bool sync_fails() {
  if (is_interrupted()) return true;
  ++sync_count;
  if (syncs_left < 0) return false;
  if (syncs_left > 1) return --syncs_left, false;
  errno = sync_error;
  return true;
}

void write_whole(int file, const char* bytes, std::int64_t count, std::int64_t offset) {
  if (count > 0 && ::pwrite(file, bytes, static_cast<std::size_t>(count), offset) != count) std::abort();
}

void write_some_sectors(int file, const std::vector<char>& bytes, std::int64_t offset) {
  const auto end = offset + static_cast<std::int64_t>(bytes.size());
  for (std::int64_t at = offset; at < end;) {
    const std::int64_t next = std::min(end, (at / sector + 1) * sector);
    if (sector_arrives()) write_whole(file, &bytes[static_cast<std::size_t>(at - offset)], next - at, at);
    at = next;
  }
}

}  // namespace

void fail_sync(int nth, int error) {
  sync_error = error;
  syncs_left = nth;
}

void crash_in_write(int nth, std::function<bool()> arrives) {
  writes_left = nth;
  sector_arrives = std::move(arrives);
}

void stall(std::string folder) {
  const std::scoped_lock lock(stall_mutex);
  stalled_folder = std::filesystem::canonical(folder).string();
}

bool stalls() {
  const std::scoped_lock lock(stall_mutex);
  return stalled_syncs > 0;
}

void fail(Call call, int nth, int times, int error) {
  Failing& one = failing[static_cast<std::size_t>(call)];
  one.error = error;
  one.calls_before = nth - 1;
  one.times = times;
}

void interrupt() { interrupts = true; }
void shorten() { shortens = true; }
std::uint64_t struck() { return strikes; }

void heal() {
  syncs_left = -1;
  writes_left = -1;
  for (Failing& one : failing) one.times = 0;
  interrupts = shortens = false;
  strikes = 0;
  const std::scoped_lock lock(stall_mutex);
  stalled_folder.clear();
  stall_ends.notify_all();
}

std::uint64_t syncs() { return sync_count; }

}  // namespace conclave::storage::faulty

using namespace conclave::storage;

extern "C" int fdatasync(int file) {
  faulty::wait_while_stalled(file);
  return faulty::sync_fails() ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file));
}

extern "C" int fsync(int file) {
  faulty::wait_while_stalled(file);
  return faulty::sync_fails() ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  if (faulty::writes_left > 0 && --faulty::writes_left == 0) {
    std::vector<char> bytes;
    for (int i = 0; i < count; ++i) {
      const char* base = static_cast<const char*>(pieces[i].iov_base);
      bytes.insert(bytes.end(), base, base + pieces[i].iov_len);
    }
    faulty::write_some_sectors(file, bytes, offset);
    faulty::writes_left = -1;
    throw faulty::Crash{};
  }
  if (faulty::fails(faulty::Call::write)) return -1;
  if (!faulty::shortens) return ::syscall(SYS_pwritev, file, pieces, count, offset, 0);
  // A half of the first piece that has any bytes.
  while (count > 1 && pieces->iov_len == 0) ++pieces, --count;
  const iovec half = {pieces->iov_base, faulty::taken_of(pieces->iov_len)};
  return ::syscall(SYS_pwritev, file, &half, 1, offset, 0);
}

extern "C" ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) {
  if (faulty::fails(faulty::Call::read)) return -1;
  return ::syscall(SYS_pread64, file, into, faulty::taken_of(bytes), offset);
}

extern "C" int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  if (faulty::fails(faulty::Call::open)) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" int ftruncate(int file, off_t bytes) noexcept {
  return faulty::fails(faulty::Call::write) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  return faulty::fails(faulty::Call::rename) ? -1 : static_cast<int>(::syscall(SYS_rename, from, to));
}

extern "C" int unlink(const char* path) noexcept {
  return faulty::fails(faulty::Call::remove) ? -1 : static_cast<int>(::syscall(SYS_unlink, path));
}
