#include "live/register_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace conclave::live {
namespace {

constexpr std::uint32_t most_participants = 1024;
constexpr std::uint32_t format_version = 1;
constexpr char magic_text[8] = {'c', 'o', 'n', 'c', 'l', 'a', 'v', 'e'};

struct Header {
  char magic[8];  // written last: a file without it was never finished
  std::uint32_t version;
  std::uint32_t participants;
  std::uint64_t registers;
  char program[40];
};
static_assert(sizeof(Header) == sizeof(RegisterCell));

// Locks that belong to the open file, not to the process: two participants of one process exclude each other,
// and closing one does not drop the other's.
bool lock_byte(int file, off_t byte, short type, int command) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result = 0;
  do {
    result = fcntl(file, command, &lock);
  } while (result == -1 && errno == EINTR);
  return result == 0;
}

constexpr off_t creation_byte = 0;  // places have the bytes 1 … N

struct OpenFile {
  int descriptor = -1;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int release() { return std::exchange(descriptor, -1); }
};

std::string failed(const std::string& path, const char* what) {
  return fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno));
}

std::string wrong_with(const Header& header, std::string_view program, std::uint32_t participants) {
  if (std::memcmp(header.magic, magic_text, sizeof magic_text) != 0) return "is no lock of conclave";
  if (header.version != format_version)
    return fmt::format("has format version {}; this program reads version {}", header.version,
                       format_version);
  const std::string_view found(header.program, strnlen(header.program, sizeof header.program));
  if (found != program) return fmt::format("is a lock by {}, not by {}", found, program);
  if (header.participants != participants)
    return fmt::format("is for {} participants, not {}", header.participants, participants);
  return {};
}

}  // namespace

std::expected<std::unique_ptr<RegisterFile>, std::string> RegisterFile::open(
    const std::string& path, std::string_view program, std::uint32_t participants,
    const std::vector<Register>& registers) {
  if (participants < 1 || participants > most_participants)
    return std::unexpected(
        fmt::format("{}: {} participants; a lock is for 1 to {}", path, participants, most_participants));
  if (program.size() >= sizeof Header::program)
    return std::unexpected(fmt::format("{}: the name '{}' is too long", path, program));
  OpenFile file = {::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
  if (file.descriptor < 0) return std::unexpected(failed(path, "open"));
  // One at a time: who comes first writes the header, the others find it.
  if (!lock_byte(file.descriptor, creation_byte, F_WRLCK, F_OFD_SETLKW))
    return std::unexpected(failed(path, "lock"));

  struct stat status = {};
  if (fstat(file.descriptor, &status) != 0) return std::unexpected(failed(path, "look at"));
  if (!S_ISREG(status.st_mode)) return std::unexpected(path + ": is no regular file");
  const std::size_t bytes = sizeof(RegisterCell) * (1 + participants + registers.size());
  Header header = {};
  const ssize_t got = ::pread(file.descriptor, &header, sizeof header, 0);
  if (got < 0) return std::unexpected(failed(path, "read"));
  // Nothing but zeros where the magic stands: empty, or left by somebody who died while creating it.
  static constexpr char blank[sizeof magic_text] = {};
  const bool fresh = std::memcmp(header.magic, blank, sizeof blank) == 0;
  if (!fresh) {
    if (const std::string wrong = wrong_with(header, program, participants); !wrong.empty())
      return std::unexpected(fmt::format("{}: {}", path, wrong));
    if (static_cast<std::size_t>(status.st_size) != bytes || header.registers != registers.size())
      return std::unexpected(fmt::format("{}: has {} bytes, a lock by {} for {} participants has {}", path,
                                         status.st_size, program, participants, bytes));
  } else if (status.st_size != 0 && static_cast<std::size_t>(status.st_size) != bytes) {
    return std::unexpected(path + ": is no lock of conclave");
  } else if (ftruncate(file.descriptor, static_cast<off_t>(bytes)) != 0) {
    return std::unexpected(failed(path, "make room in"));
  }

  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
  if (memory == MAP_FAILED) return std::unexpected(failed(path, "map"));
  auto* const cells = static_cast<RegisterCell*>(memory);
  if (fresh) {
    header = {
        .magic = {}, .version = format_version, .participants = participants, .registers = registers.size()};
    std::memcpy(header.program, program.data(), program.size());
    std::memcpy(memory, &header, sizeof header);
    for (std::size_t i = 1; i <= participants; ++i) new (&cells[i]) RegisterCell;
    for (std::size_t i = 0; i < registers.size(); ++i)
      (new (&cells[1 + participants + i]) RegisterCell)->word.store(registers[i].initial);
    std::memcpy(memory, magic_text, sizeof magic_text);
  }
  // Dropping the creation lock also orders: whoever gets it next sees all of the above.
  lock_byte(file.descriptor, creation_byte, F_UNLCK, F_OFD_SETLK);
  return std::unique_ptr<RegisterFile>(new RegisterFile(file.release(), cells, bytes, participants));
}

RegisterFile::~RegisterFile() {
  munmap(cells_, bytes_);
  ::close(file_);
}

bool RegisterFile::claim(NodeId place) {
  return lock_byte(file_, static_cast<off_t>(place.value), F_WRLCK, F_OFD_SETLK);
}

void RegisterFile::give_back(NodeId place) {
  lock_byte(file_, static_cast<off_t>(place.value), F_UNLCK, F_OFD_SETLK);
}

}  // namespace conclave::live
