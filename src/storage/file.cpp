#include "storage/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "storage/uninterrupted.hpp"

namespace conclave::storage {
namespace {

iovec piece(ByteView bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

alignas(4096) constexpr std::array<std::byte, 64 * 1024> zeros = {};

}  // namespace

Result<File> File::open(std::string path, int flags) {
  File file;
  file.descriptor_ = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); });
  if (file.descriptor_ < 0) return std::unexpected(system_failure("open", path, errno));
  file.path_ = std::move(path);
  return file;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::uint64_t> File::size() const {
  struct stat about = {};
  if (::fstat(descriptor_, &about) != 0) return std::unexpected(system_failure("look at", path_, errno));
  return static_cast<std::uint64_t>(about.st_size);
}

Result<void> File::write_at(std::uint64_t offset, ByteView first, ByteView second) {
  while (!first.empty() || !second.empty()) {
    const std::array<iovec, 2> pieces = {piece(first), piece(second)};
    const ssize_t put =
        uninterrupted([&] { return ::pwritev(descriptor_, pieces.data(), 2, static_cast<off_t>(offset)); });
    if (put <= 0) return std::unexpected(system_failure("write", path_, offset, put < 0 ? errno : ENOSPC));
    const auto count = static_cast<std::size_t>(put);
    const std::size_t of_first = std::min(count, first.size());
    first = first.subspan(of_first);
    second = second.subspan(count - of_first);
    offset += count;
  }
  return {};
}

Result<void> File::write_zeros(std::uint64_t offset, std::uint64_t count) {
  while (count > 0) {
    const std::size_t part = std::min<std::uint64_t>(count, zeros.size());
    if (auto done = write_at(offset, ByteView(zeros).first(part)); !done) return done;
    offset += part;
    count -= part;
  }
  return {};
}

Result<void> File::resize(std::uint64_t bytes) {
  if (uninterrupted([&] { return ::ftruncate(descriptor_, static_cast<off_t>(bytes)); }) != 0)
    return std::unexpected(system_failure("resize", path_, errno));
  return {};
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(descriptor_, into.data() + filled, into.size() - filled,
                     static_cast<off_t>(offset + filled));
    });
    if (got < 0) return std::unexpected(system_failure("read", path_, offset + filled, errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

Result<void> File::sync() {
  // An interrupted one has reported no lost write: that report still waits for the next.
  if (uninterrupted([&] { return ::fdatasync(descriptor_); }) != 0)
    return std::unexpected(sync_failure(path_, errno));
  return {};
}

void File::send() const { (void)::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE); }

Result<void> File::sync_and_forget() {
  if (auto done = sync(); !done) return done;
  if (const int error = ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); error != 0)
    return std::unexpected(system_failure("read anew", path_, error));
  return {};
}

Result<void> sync_directory(const std::string& path) {
  auto directory = File::open(path, O_RDONLY | O_DIRECTORY);
  if (!directory) return std::unexpected(directory.error());
  return sync_directory(*directory);
}

Result<void> sync_directory(const File& directory) {
  if (uninterrupted([&] { return ::fsync(directory.descriptor()); }) != 0)
    return std::unexpected(sync_failure(directory.path(), errno));
  return {};
}

}  // namespace conclave::storage
