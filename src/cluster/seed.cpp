#include "cluster/seed.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cluster/identity.hpp"
#include "core/ensure.hpp"
#include "protocols/raft/durable.hpp"
#include "storage/segmented_log.hpp"
#include "storage/snapshots.hpp"

namespace conclave::cluster {
namespace {

namespace fs = std::filesystem;
using Error = std::unexpected<std::string>;

constexpr const char* unfinished = "a restore that was not finished: remove the directory and restore again";
constexpr std::size_t piece_bytes = 1 << 20;

std::string what_is_there(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) return fmt::format("{} is a file", path);
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().filename() != "lost+found")
      return fmt::format("{} is not empty (it has {})", path, entry.path().filename().string());
  return error ? fmt::format("{}: {}", path, error.message()) : std::string();
}

storage::Result<void> write_state(const storage::Directory& directory, const Seed& seed) {
  auto snapshots = storage::Snapshots::open(directory);
  if (!snapshots) return std::unexpected(snapshots.error());
  auto writer = snapshots->begin({.tag = seed.index});
  if (!writer) return std::unexpected(writer.error());
  Bytes piece = preface_of(seed.book);
  for (bool more = true; more;) {
    more = seed.state(piece, piece_bytes);
    if (auto done = writer->append(std::as_bytes(std::span(piece))); !done) return done;
    piece.clear();
  }
  return writer->finish();
}

// What is found by a member that has just installed a snapshot. The log is there first: a snapshot without
// one is damage.
storage::Result<void> write_all(const storage::Directory& directory, const Seed& seed) {
  auto log = storage::SegmentedLog::open(directory, {}, [](const storage::Replayed&) {});
  if (!log) return std::unexpected(log.error());
  if (auto done = write_state(directory, seed); !done) return done;
  const raft::Position last = {{seed.term}, {seed.index}};
  const raft::Write write = {.mark = {.term = last.term, .end = last.index},
                             .ballot = raft::Ballot{.term = last.term},
                             .snapshot = raft::Snapshot{.last = last,
                                                        .configuration = {.voters = seed.book.voters,
                                                                          .learners = seed.book.learners}},
                             .base = last};
  const Bytes bytes = encode(write);
  const storage::ByteView view = std::as_bytes(std::span(bytes));
  (*log)->set_preamble(view);
  (*log)->append({view}, seed.index);
  if (auto done = (*log)->sync(); !done) return done;
  return (*log)->seal();
}

}  // namespace

std::expected<void, std::string> seed(const Seed& seed) {
  ensure(seed.book.founded && seed.book.voters.contains(seed.self) && seed.index > 0 && seed.term > 0,
         "a cluster begins with members and a place in the log");
  if (const std::string there = what_is_there(seed.data); !there.empty())
    return Error(there + "; a restore makes a new directory, and never overwrites one");
  auto directory = storage::Directory::open(seed.data, {.stamp = unfinished});
  if (!directory) return Error(directory.error().text);
  if (auto done = write_all(**directory, seed); !done) return Error(done.error().text);
  if (auto done = (*directory)->restamp(stamp_of(seed.group, seed.self)); !done)
    return Error(done.error().text);
  return {};
}

}  // namespace conclave::cluster
