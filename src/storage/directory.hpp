// A member's data directory: one process at a time, a version, a stamp that says whose data this is, some
// space kept back for the day when the disk is full, and some descriptors for the hour when the process has
// no other. docs/storage-format.md names every file.
//
//   auto data = storage::Directory::open("/var/lib/conclave", {.stamp = "cluster 7 member 2"});
//   if (!data) return complain(data.error().text);
//
// What changes names is durable when the function returns. Functions may be called from several threads, but
// those about the reserve only from one.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/file.hpp"

namespace conclave::storage {

inline constexpr unsigned format_version = 1;
inline constexpr std::size_t most_stamp_bytes = 256;

struct DirectoryOptions {
  // Whose data: written when the directory is made, compared when it is opened. Printable, in one line;
  // empty: whatever is there.
  std::string stamp = {};
  std::uint64_t reserve_bytes = 16 << 20;  // 0: nothing is kept back
  std::size_t spare_descriptors = 4;       // likewise
};

class Directory {
 public:
  // Opens it, or makes it if there is none or an empty one. Refuses directories with somebody else's files.
  static Result<std::unique_ptr<Directory>> open(const std::string& path, DirectoryOptions options = {});

  const std::string& path() const { return path_; }
  const std::string& stamp() const { return stamp_; }
  std::uint64_t id() const { return id_; }  // drawn when it was made: its files carry it
  bool is_new() const { return is_new_; }

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // As File::open, but when the process has no descriptor left, a spare one is given up for it.
  Result<File> open_file(const std::string& name, int flags) const;
  // Closes it; if a spare one was given up, its descriptor is the next, and nobody else's in between.
  void close_file(File file) const;
  std::size_t spare_descriptors() const;
  Result<std::vector<std::string>> names_with(const std::string& prefix) const;  // in order
  Result<std::uint64_t> size_of(const std::string& name) const;
  // Says anew whose data it is: who fills a directory that is not to be used before it is full says that
  // first.
  Result<void> restamp(const std::string& stamp);
  Result<void> rename(const std::string& from, const std::string& to) const;
  Result<void> remove(const std::string& name) const;

  // Gives the space that was kept back to whoever writes next, so that a member on a full disk can end in
  // order; take_reserve keeps it back again.
  Result<void> release_reserve();
  Result<void> take_reserve();
  bool has_reserve() const { return has_reserve_; }
  Result<std::uint64_t> free_bytes() const;  // besides the reserve

 private:
  explicit Directory(std::string path) : path_(std::move(path)) {}
  Result<File> open_in_need(const std::string& path, int flags) const;
  void renew_spare() const;
  Result<void> lock();
  Result<void> make(const std::string& stamp);
  Result<void> write_version(const std::string& stamp);
  Result<void> read_version(const std::string& stamp);

  std::string path_;
  std::string stamp_;
  std::uint64_t id_ = 0;
  std::uint64_t reserve_bytes_ = 0;
  bool has_reserve_ = false;
  bool is_new_ = false;
  File lock_;     // held as long as this lives
  File listing_;  // the directory itself, to make its names durable
  std::size_t most_spares_ = 0;
  mutable std::mutex spares_mutex_;
  mutable std::vector<File> spares_;
};

}  // namespace conclave::storage
