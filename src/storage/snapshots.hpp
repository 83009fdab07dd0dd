// A member's snapshots: written beside, made durable, then given their name; the newest two are kept.
//
//   auto writer = snapshots.begin(index, "term 7");          // or receive(...), from another member
//   writer->append(bytes); …                                 // any pieces
//   writer->finish();                                        // now it is the newest
//   auto reader = snapshots.newest();                        // none: a value without a reader
//   reader->value().read(offset, buffer);                    // any pieces; every byte was checked
//
// What a snapshot holds is the owner's. `tag` orders them; `identity` says which state it is, so that only
// the same one is continued after a connection or a process broke off. docs/storage-format.md shows the
// bytes. One thread at a time, but each reader and writer may have a thread of its own.
#pragma once
#include <optional>

#include "storage/directory.hpp"

namespace conclave::storage {

inline constexpr std::size_t most_identity_bytes = 1024;
inline constexpr std::size_t snapshot_block_bytes = 64 * 1024;

struct SnapshotName {
  std::uint64_t tag = 0;
  std::string identity = {};
  bool operator==(const SnapshotName&) const = default;
};

class SnapshotReader;

class SnapshotWriter {
 public:
  SnapshotWriter(SnapshotWriter&&) = default;
  SnapshotWriter& operator=(SnapshotWriter&&) = delete;
  ~SnapshotWriter();  // one that was received and not finished can be continued

  std::uint64_t offset() const { return blocks_ * snapshot_block_bytes + buffer_.size(); }
  Result<void> append(ByteView bytes);
  Result<void> finish();
  Result<SnapshotReader> finish_and_read();
  // What was appended, from a file that has no name any more: nothing of it is left when its reader is gone.
  Result<SnapshotReader> lend();

 private:
  friend class Snapshots;
  SnapshotWriter(const Directory& directory, SnapshotName name, File file, bool resumable)
      : directory_(&directory), name_(std::move(name)), file_(std::move(file)), resumable_(resumable) {}
  Result<void> write_head();
  Result<void> write_block();
  Result<void> write_end();
  Result<void> find_blocks();

  const Directory* directory_;
  SnapshotName name_;
  File file_;
  bool resumable_;
  bool finished_ = false;
  std::uint64_t blocks_ = 0;  // written, all of them full
  std::uint64_t unsynced_ = 0;
  std::vector<std::byte> buffer_;  // of the block that is not full yet
};

class SnapshotReader {
 public:
  const SnapshotName& name() const { return name_; }
  std::uint64_t size() const { return size_; }

  // Fills `into` as far as the snapshot reaches, and says how far that was.
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into);
  Result<void> verify();  // reads all of it

 private:
  friend class Snapshots;
  friend class SnapshotWriter;
  SnapshotReader() = default;
  static Result<SnapshotReader> of(File file, std::uint64_t tag);
  Result<void> load(std::uint64_t block);

  File file_;
  SnapshotName name_;
  std::uint64_t size_ = 0;
  std::optional<std::uint64_t> loaded_;  // the block in the buffer
  std::vector<std::byte> buffer_;
};

class Snapshots {
 public:
  // The directory must outlive them. What an interrupted `begin` left is removed.
  static Result<Snapshots> open(const Directory& directory);

  Result<std::vector<std::uint64_t>> tags() const;       // ascending
  Result<std::optional<SnapshotReader>> newest() const;  // refuses a damaged one, and says what to do
  Result<SnapshotReader> read(std::uint64_t tag) const;
  Result<SnapshotWriter> begin(SnapshotName name) const;
  // Continues where an earlier one of the same name ended, at offset(); any other unfinished one is removed.
  Result<SnapshotWriter> receive(SnapshotName name) const;
  // Gives up what was received and not finished, and its space.
  Result<void> drop_received() const;

 private:
  explicit Snapshots(const Directory& directory) : directory_(&directory) {}
  const Directory* directory_;
};

}  // namespace conclave::storage
