// Saved states: files that `Maintenance.Snapshot` gave to a client, and new clusters that begin with one.
//
//   auto backup = etcd::read_backup("saved.db");
//   etcd::restore(std::move(*backup), {.data = "/var/lib/conclave", .self = {1}, .members = …});
//
// A file has the state in whole pages of 512 bytes, and the SHA-256 of those behind them, as etcd's client
// writes it.
#pragma once
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "cluster/book.hpp"
#include "kv/store.hpp"

namespace conclave::etcd {

enum class BackupKind { conclave, etcd };

// What is known without reading the state.
struct BackupFile {
  BackupKind kind = BackupKind::conclave;
  std::uint64_t bytes = 0;
  std::string sha256 = {};    // in hexadecimal
  kv::Revision revision = 0;  // of conclave's
};
// Checks every byte against the digest. One sentence that names the file and what is wrong with it.
std::expected<BackupFile, std::string> look_at_backup(const std::string& path);

struct Backup {
  BackupFile file = {};
  std::unique_ptr<kv::Store> store = {};
};
// Only conclave's.
std::expected<Backup, std::string> read_backup(const std::string& path);

struct BackupContents {
  kv::Revision revision = 0;
  kv::Revision compacted = 0;
  std::uint64_t keys = 0;     // that exist
  std::uint64_t records = 0;  // with those that were replaced since the compaction
  std::uint64_t leases = 0;
  std::uint64_t places = 0;  // in lines of locks and elections
  std::uint64_t alarms = 0;
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  kv::Digest digest = 0;
};
BackupContents contents_of(const kv::Store& store);

struct RestorePlan {
  std::string data = {};
  std::string group = {};
  NodeId self = {};
  cluster::Found members = {};
  // No client has seen a revision of the former cluster that is so much greater than the saved one.
  kv::Revision bump = 1'000'000'000;
  std::string token = {};  // tells two restores of one file apart
};
struct Restored {
  BackupContents saved = {};
  BackupContents now = {};
  std::string group = {};  // what the members call themselves
};
inline constexpr kv::Revision most_bump = 1'000'000'000'000'000;
// The directory of one member. Members that are restored from the same file with the same plan but for their
// id and directory are members of one cluster; all others are strangers to them.
std::expected<Restored, std::string> restore(Backup backup, const RestorePlan& plan);

}  // namespace conclave::etcd
