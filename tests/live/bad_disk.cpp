// Preloaded: the disk below one folder is as bad as a file says, at every call. `BAD_DISK` names that file,
// `BAD_DISK_FOLDER` the folder. A line for each fault, and the file may change at any time:
//
//   CALL FAULT [NUMBER]
//
// CALL is open, read, write, sync or any. FAULT is one of
//
//   eio, enospc, emfile, enfile, enomem: the call fails, NUMBER times (left out: as long as the line is
//   there) eintr: every other call of a thread is interrupted short: a read or write takes half of what it
//   was given, but at least a byte slow: it takes NUMBER milliseconds longer stuck: it does not come back
//   while the line is there lies: (sync) it says that it is done and does nothing noted: nothing is wrong,
//   but from now on the power may fail
//
// From the first line with `noted` or `lies` on, what the writes since the last true sync of a file took the
// place of is kept in BAD_DISK.undo. A process that starts finds it, as after a power cut: it puts everything
// back, the last first, and removes the notes. Remove them before the start to try a crash without a power
// cut. Each fault that strikes for the first time since the file changed leaves its line in BAD_DISK.fired,
// and so does a power cut that took something back.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Rule {
  std::string call = {};
  std::string fault = {};
  long number = 0;
  long struck = 0;
};

std::recursive_mutex mutex;
std::vector<Rule> rules;
timespec read_at = {};
ino_t read_inode = 0;
bool takes_notes = false;
thread_local bool interrupt_next = false;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}
const std::string control = variable("BAD_DISK");
const std::string folder = variable("BAD_DISK_FOLDER");

int open_plainly(const std::string& path, int flags) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600));
}

std::string text_of(const std::string& path) {
  const int file = open_plainly(path, O_RDONLY);
  std::string text;
  char part[4096];
  for (long got = 0; file >= 0 && (got = ::syscall(SYS_read, file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  if (file >= 0) ::close(file);
  return text;
}

void append(const std::string& path, const std::string& bytes) {
  const int file = open_plainly(path, O_WRONLY | O_CREAT | O_APPEND);
  if (file < 0) return;
  (void)::syscall(SYS_write, file, bytes.data(), bytes.size());
  ::close(file);
}

// Read anew when it changed; while no descriptor is to be had, what was read last stays.
void look() {
  struct stat about = {};
  if (::stat(control.c_str(), &about) != 0) return rules.clear();
  const timespec& at = about.st_mtim;
  if (at.tv_sec == read_at.tv_sec && at.tv_nsec == read_at.tv_nsec && about.st_ino == read_inode) return;
  const std::string text = text_of(control);
  if (text.empty() && about.st_size > 0) return;
  read_at = at;
  read_inode = about.st_ino;
  rules.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Rule rule;
    if (!(words >> rule.call >> rule.fault)) continue;
    words >> rule.number;
    takes_notes |= rule.fault == "lies" || rule.fault == "noted";
    rules.push_back(rule);
  }
}

int error_of(const std::string& fault) {
  if (fault == "eio") return EIO;
  if (fault == "enospc") return ENOSPC;
  if (fault == "emfile") return EMFILE;
  if (fault == "enfile") return ENFILE;
  if (fault == "enomem") return ENOMEM;
  return 0;
}

void strike(Rule& rule) {
  if (rule.struck++ == 0) append(control + ".fired", rule.call + " " + rule.fault + "\n");
}

// What shall become of a call.
struct Fate {
  int error = 0;
  bool halved = false;
  bool lies = false;
};

// The first line that waits is waited for without the lock; false when there was none.
bool wait_once(const std::string& call) {
  long pause = 0;
  {
    const std::scoped_lock lock(mutex);
    look();
    for (Rule& rule : rules) {
      if (rule.call != call && rule.call != "any") continue;
      if (rule.fault != "stuck") continue;
      strike(rule);
      pause = 5;
    }
  }
  if (pause > 0) ::usleep(static_cast<unsigned>(pause * 1000));
  return pause > 0;
}

Fate fate_of(const std::string& call) {
  while (wait_once(call)) continue;
  Fate fate;
  long pause = 0;
  {
    const std::scoped_lock lock(mutex);
    for (Rule& rule : rules) {
      if (rule.call != call && rule.call != "any") continue;
      if (rule.fault == "noted") continue;
      if (rule.fault == "slow") {
        pause += rule.number;
      } else if (rule.fault == "short") {
        fate.halved = true;
      } else if (rule.fault == "lies") {
        fate.lies = true;
      } else if (rule.fault == "eintr") {
        interrupt_next = !interrupt_next;
        if (!interrupt_next) continue;
        fate.error = EINTR;
      } else if (const int error = error_of(rule.fault);
                 error == 0 || (rule.number > 0 && rule.struck >= rule.number)) {
        continue;
      } else {
        fate.error = error;
      }
      strike(rule);
    }
  }
  if (pause > 0) ::usleep(static_cast<unsigned>(pause * 1000));
  return fate;
}

bool is_ours(const std::string& path) {
  return !control.empty() && !folder.empty() && path.starts_with(folder + "/");
}
bool is_ours(int file) {
  if (control.empty()) return false;
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  if (length <= 0) return false;
  const std::string name(path, static_cast<std::size_t>(length));
  return is_ours(name) || name == folder;
}

// --- what a power cut takes back ---

// Of a write: what stood there before.
struct Note {
  std::uint64_t inode = 0;
  std::int64_t size = 0;  // of the file
  std::int64_t offset = 0;
  std::int64_t length = 0;  // of the bytes that follow
};

struct Kept {
  Note head = {};
  std::string bytes = {};
};
std::vector<Kept> unsynced;  // what stands in the file of notes

std::string text_of(const Kept& kept) {
  return std::string(reinterpret_cast<const char*>(&kept.head), sizeof kept.head) + kept.bytes;
}

// Another one takes its place at once, so that a process that is killed leaves the old notes or the new ones.
void write_notes() {
  const std::string draft = control + ".undo.new";
  ::unlink(draft.c_str());
  std::string text;
  for (const Kept& kept : unsynced) text += text_of(kept);
  append(draft, text);
  ::rename(draft.c_str(), (control + ".undo").c_str());
}

// What was noted of the same place before is older, and what comes back.
bool is_noted(std::uint64_t inode, std::int64_t offset, std::int64_t length) {
  return std::any_of(unsynced.begin(), unsynced.end(), [&](const Kept& kept) {
    return kept.head.inode == inode && kept.head.offset == offset && kept.head.length == length;
  });
}

// What a write is about to replace.
void note(int file, std::int64_t offset, std::int64_t length) {
  const std::scoped_lock lock(mutex);
  if (!takes_notes) return;
  struct stat about = {};
  if (::fstat(file, &about) != 0 || is_noted(about.st_ino, offset, length)) return;
  std::string old(static_cast<std::size_t>(length), '\0');
  const long got = length > 0 ? ::syscall(SYS_pread64, file, old.data(), old.size(), offset) : 0;
  old.resize(static_cast<std::size_t>(std::max(got, 0L)));
  unsynced.push_back({{about.st_ino, about.st_size, offset, static_cast<std::int64_t>(old.size())}, old});
  append(control + ".undo", text_of(unsynced.back()));
}

void forget_notes(int file) {
  const std::scoped_lock lock(mutex);
  if (!takes_notes) return;
  struct stat about = {};
  if (::fstat(file, &about) != 0) return;
  const auto before = unsynced.size();
  std::erase_if(unsynced, [&](const Kept& kept) { return kept.head.inode == about.st_ino; });
  if (unsynced.size() != before) write_notes();
}

std::string path_of(std::uint64_t inode) {
  std::string found;
  DIR* const listing = ::opendir(folder.c_str());
  while (const dirent* entry = listing ? ::readdir(listing) : nullptr)
    if (entry->d_ino == inode) found = folder + "/" + entry->d_name;
  if (listing) ::closedir(listing);
  return found;
}

void take_back(const Note& note, const char* bytes) {
  const std::string path = path_of(note.inode);
  const int file = path.empty() ? -1 : open_plainly(path, O_RDWR);
  if (file < 0) return;
  (void)::syscall(SYS_pwrite64, file, bytes, static_cast<std::size_t>(note.length), note.offset);
  (void)::syscall(SYS_ftruncate, file, note.size);
  ::close(file);
}

struct AtTheStart {
  AtTheStart() {
    if (control.empty()) return;
    const std::string notes = text_of(control + ".undo");
    std::vector<std::pair<Note, const char*>> found;
    for (std::size_t at = 0; at + sizeof(Note) <= notes.size();) {
      Note note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      at += sizeof note;
      const auto length = static_cast<std::size_t>(std::max<std::int64_t>(note.length, 0));
      if (notes.size() - at < length) break;
      found.emplace_back(note, notes.data() + at);
      at += length;
    }
    for (std::size_t i = found.size(); i > 0; --i) take_back(found[i - 1].first, found[i - 1].second);
    if (!found.empty()) append(control + ".fired", "power cut\n");
    ::unlink((control + ".undo").c_str());
  }
} at_the_start;

int failed(int error) {
  errno = error;
  return -1;
}

bool needs_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

int open_at(int where, const char* path, int flags, mode_t mode) {
  if (is_ours(std::string(path)))
    if (const Fate fate = fate_of("open"); fate.error != 0) return failed(fate.error);
  return static_cast<int>(::syscall(SYS_openat, where, path, flags, mode));
}

int sync(long number, int file) {
  if (!is_ours(file)) return static_cast<int>(::syscall(number, file));
  const Fate fate = fate_of("sync");
  if (fate.error != 0) return failed(fate.error);
  if (fate.lies) return 0;
  const auto done = static_cast<int>(::syscall(number, file));
  if (done == 0) forget_notes(file);
  return done;
}

// The first `most` bytes of the pieces.
std::vector<iovec> begin_of(const iovec* pieces, int count, std::size_t most) {
  std::vector<iovec> kept;
  for (int i = 0; i < count && most > 0; ++i) {
    kept.push_back({pieces[i].iov_base, std::min(pieces[i].iov_len, most)});
    most -= kept.back().iov_len;
  }
  return kept;
}

std::size_t bytes_in(const iovec* pieces, int count) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return bytes;
}

std::size_t half(std::size_t bytes) { return bytes > 1 ? bytes / 2 : bytes; }

ssize_t write_pieces(int file, const iovec* pieces, int count, off_t offset) {
  if (!is_ours(file)) return ::syscall(SYS_pwritev, file, pieces, count, offset, 0);
  const Fate fate = fate_of("write");
  if (fate.error != 0) return failed(fate.error);
  const std::size_t bytes = bytes_in(pieces, count);
  const auto kept = begin_of(pieces, count, fate.halved ? half(bytes) : bytes);
  note(file, offset, static_cast<std::int64_t>(bytes_in(kept.data(), static_cast<int>(kept.size()))));
  return ::syscall(SYS_pwritev, file, kept.data(), kept.size(), offset, 0);
}

}  // namespace

// The program must not see that these stand before those of the C library.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = needs_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int where, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = needs_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(where, path, flags, mode);
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) {
  if (is_ours(file)) {
    const Fate fate = fate_of("read");
    if (fate.error != 0) return failed(fate.error);
    if (fate.halved) bytes = half(bytes);
  }
  return ::syscall(SYS_pread64, file, into, bytes, offset);
}

ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  return write_pieces(file, pieces, count, offset);
}

ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  const iovec piece = {const_cast<void*>(bytes), count};
  return write_pieces(file, &piece, 1, offset);
}

int ftruncate(int file, off_t bytes) noexcept {
  if (is_ours(file)) {
    const Fate fate = fate_of("write");
    if (fate.error != 0) return failed(fate.error);
    struct stat about = {};
    if (::fstat(file, &about) == 0) note(file, bytes, std::max<off_t>(about.st_size - bytes, 0));
  }
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
  if (is_ours(file))
    if (const Fate fate = fate_of("write"); fate.error != 0) return fate.error;
  return ::syscall(SYS_fallocate, file, 0, offset, bytes) == 0 ? 0 : errno;
}

int fdatasync(int file) { return sync(SYS_fdatasync, file); }
int fsync(int file) { return sync(SYS_fsync, file); }

}  // extern "C"
