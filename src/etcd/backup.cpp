#include "etcd/backup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cluster/identity.hpp"
#include "cluster/seed.hpp"
#include "etcd/sha256.hpp"
#include "kv/snapshot.hpp"
#include "live/members.hpp"

namespace conclave::etcd {
namespace {

using Error = std::unexpected<std::string>;

constexpr std::size_t page_bytes = 512;
constexpr std::size_t piece_bytes = 1 << 20;
// Where a bbolt database has this number, in the byte order of its machine; etcd runs on little ones.
constexpr std::size_t bbolt_magic_at = 16;
constexpr std::array<std::uint8_t, 4> bbolt_magic = {0xed, 0xda, 0x0c, 0xed};

class Input {
 public:
  static std::expected<Input, std::string> open(const std::string& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) return Error(path + ": it is a directory");
    Input input;
    errno = 0;
    input.stream_.open(path, std::ios::binary | std::ios::ate);
    if (!input.stream_) return Error(fmt::format("{}: {}", path, std::strerror(errno)));
    const auto end = input.stream_.tellg();
    if (end < 0) return Error(fmt::format("{}: it is no file", path));
    input.bytes_ = static_cast<std::uint64_t>(end);
    input.stream_.seekg(0);
    if (!input.stream_) return Error(fmt::format("{}: {}", path, std::strerror(errno)));
    return input;
  }
  std::uint64_t bytes() const { return bytes_; }
  // As many as there are.
  std::span<const std::uint8_t> read(std::uint64_t most) {
    buffer_.resize(std::min<std::uint64_t>(most, piece_bytes));
    stream_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(buffer_.size()));
    buffer_.resize(static_cast<std::size_t>(stream_.gcount()));
    return buffer_;
  }
  void back_to_the_beginning() {
    stream_.clear();
    stream_.seekg(0);
  }

 private:
  std::ifstream stream_;
  std::uint64_t bytes_ = 0;
  Bytes buffer_;
};

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_bbolt(std::span<const std::uint8_t> head) {
  return head.size() >= bbolt_magic_at + bbolt_magic.size() &&
         std::ranges::equal(head.subspan(bbolt_magic_at, bbolt_magic.size()), bbolt_magic);
}

// The format's name, as a header of any version has it: behind the part's kind and its own length.
std::string_view format_in(std::span<const std::uint8_t> head) {
  if (head.size() < 2 || head[0] != 0 || head[1] >= 0x80 || head.size() < 2u + head[1]) return {};
  const std::string_view format = text_of(head.subspan(2, head[1]));
  return format.starts_with(kv::snapshot_formats) ? format : std::string_view{};
}

std::expected<BackupFile, std::string> check(const std::string& path, Input& input) {
  BackupFile file = {.bytes = input.bytes()};
  const auto head = input.read(page_bytes);
  if (head.empty()) return Error(path + ": the file is empty");
  const std::string_view format = format_in(head);
  if (is_bbolt(head)) {
    file.kind = BackupKind::etcd;
  } else if (format.empty()) {
    return Error(path + ": not a saved state of conclave's (its beginning is another one)");
  } else if (format != kv::snapshot_format) {
    return Error(fmt::format("{}: saved by another version of conclave, in format {}; this one reads {}",
                             path, format, kv::snapshot_format));
  } else {
    kv::SnapshotReader reader(0, kv::SnapshotReader::Behind::zeros);  // a small state ends in this page
    if (reader.feed(head)) file.revision = reader.revision();
  }
  if (file.bytes % page_bytes != Sha256::size)
    return Error(fmt::format("{}: {}: it has {} bytes, which are not whole pages and a digest", path,
                             file.kind == BackupKind::etcd
                                 ? "a database of etcd's that was copied and not saved, or is cut off"
                                 : "the file is cut off, or something was added",
                             file.bytes));
  input.back_to_the_beginning();
  Sha256 sum;
  for (std::uint64_t left = file.bytes - Sha256::size; left > 0;) {
    const auto piece = input.read(left);
    if (piece.empty()) return Error(path + ": it cannot be read to its end");
    sum.add(piece);
    left -= piece.size();
  }
  const Sha256::Digest digest = sum.finish();
  if (!std::ranges::equal(input.read(Sha256::size), digest))
    return Error(path + ": the file is damaged: its contents do not have the digest at its end");
  for (const std::uint8_t byte : digest) file.sha256 += fmt::format("{:02x}", byte);
  return file;
}

// Another one for everything that members must have in common, but for the restores of one file with one
// plan.
std::uint64_t lineage_of(const BackupFile& file, const RestorePlan& plan) {
  std::string text = fmt::format("{} {} {} {}", file.sha256, plan.bump, plan.group, plan.token);
  for (const auto& [id, member] : plan.members.members)
    text += fmt::format(" {}={}", id.value, live::in_words({member.host, member.port}));
  Sha256 sum;
  sum.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  const Sha256::Digest digest = sum.finish();
  std::uint64_t lineage = 0;
  for (std::size_t i = 0; i < sizeof lineage; ++i) lineage = lineage << 8 | digest[i];
  return std::max<std::uint64_t>(lineage, 1);
}

}  // namespace

std::expected<BackupFile, std::string> look_at_backup(const std::string& path) {
  auto input = Input::open(path);
  if (!input) return Error(input.error());
  return check(path, *input);
}

std::expected<Backup, std::string> read_backup(const std::string& path) {
  auto input = Input::open(path);
  if (!input) return Error(input.error());
  auto file = check(path, *input);
  if (!file) return Error(file.error());
  if (file->kind == BackupKind::etcd)
    return Error(path +
                 ": this is a database of etcd's (bbolt), not a state of conclave's; etcdutl reads it");
  input->back_to_the_beginning();
  kv::SnapshotReader reader(0, kv::SnapshotReader::Behind::zeros);
  for (std::uint64_t left = file->bytes - Sha256::size; left > 0;) {
    const auto piece = input->read(left);
    if (piece.empty()) return Error(path + ": it cannot be read to its end");
    if (const auto fed = reader.feed(piece); !fed)
      return Error(fmt::format("{}: {}", path, kv::describe(fed.error())));
    left -= piece.size();
  }
  auto store = reader.finish();
  if (!store) return Error(fmt::format("{}: {}", path, kv::describe(store.error())));
  return Backup{std::move(*file), std::move(*store)};
}

BackupContents contents_of(const kv::Store& store) {
  BackupContents contents = {.revision = store.revision(),
                             .compacted = store.history().compacted(),
                             .leases = store.leases().all().size(),
                             .places = store.places().size(),
                             .alarms = store.alarms().size(),
                             .index = store.applied().index,
                             .term = store.applied().term,
                             .digest = store.digest()};
  const kv::Keys& keys = store.history().keys();
  for (kv::Key* key = keys.first(); key; key = kv::Keys::next(*key)) {
    contents.keys += key->exists();
    contents.records += key->versions() - key->dropped();
  }
  return contents;
}

std::expected<Restored, std::string> restore(Backup backup, const RestorePlan& plan) {
  kv::Store& store = *backup.store;
  ensure(plan.bump >= 1 && plan.bump <= most_bump, "revisions grow, and not without end");
  if (store.revision() > kv::never / 2) return Error("no revisions are left for another cluster");
  Restored restored = {.saved = contents_of(store)};
  store.begin_anew(plan.bump);
  restored.now = contents_of(store);
  cluster::Book book = {.lineage = lineage_of(backup.file, plan)};
  if (const auto founded = book.apply(plan.members); !founded)
    return Error(std::string(cluster::describe(founded.error())));
  restored.group = cluster::group_of(plan.group, book.lineage);
  kv::SnapshotWriter writer(store);
  const auto seeded =
      cluster::seed({.data = plan.data,
                     .group = plan.group,
                     .self = plan.self,
                     .book = std::move(book),
                     .index = store.applied().index,
                     .term = store.applied().term,
                     .state = [&](Bytes& out, std::size_t about) { return writer.write(out, about); }});
  if (!seeded) return Error(seeded.error());
  return restored;
}

}  // namespace conclave::etcd
