// One open file, and how it is made durable. Every failure names the file, the byte and the reason.
#pragma once
#include <string>
#include <utility>

#include "storage/bytes.hpp"
#include "storage/failure.hpp"

namespace conclave::storage {

class File {
 public:
  // `flags` as for open(2); files that are made belong to this user alone.
  static Result<File> open(std::string path, int flags);
  File() = default;
  File(File&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  Result<std::uint64_t> size() const;

  // Two pieces, one behind the other, in one call of the system unless it takes less than it was given.
  Result<void> write_at(std::uint64_t offset, ByteView first, ByteView second = {});
  Result<void> write_zeros(std::uint64_t offset, std::uint64_t count);
  Result<void> resize(std::uint64_t bytes);
  // Fills `into` as far as the file reaches, and says how far that was.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const;

  // fdatasync. Linux reports a lost write once and then forgets it, so who sees a failure here must give up
  // the file, not try again.
  Result<void> sync();
  // What was written begins its way to the disk; nobody waits, and a failure is for the next sync to tell.
  void send() const;
  // What was written is on the disk, and what is read next comes from there: after a failed write the
  // kernel's memory may still show bytes that the disk never got.
  Result<void> sync_and_forget();

  void renamed(std::string path) { path_ = std::move(path); }  // its name changed under it
  // The caller closes it.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
  std::string path_;
};

// The names in a directory are durable only after this.
Result<void> sync_directory(const std::string& path);
Result<void> sync_directory(const File& directory);

}  // namespace conclave::storage
