#include "storage/snapshots.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/ensure.hpp"
#include "storage/crc32c.hpp"

namespace conclave::storage {
namespace {

constexpr std::string_view prefix = "snapshot-";
constexpr std::string_view draft_suffix = ".draft";      // our own, unfinished
constexpr std::string_view partial_suffix = ".partial";  // another member's, unfinished
constexpr std::size_t kept = 2;

constexpr std::string_view magic = "cnclvsnp";
constexpr std::uint32_t version = 1;
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t identity_offset = 32;
constexpr std::size_t block_head_bytes = 8;
constexpr std::uint64_t stride = snapshot_block_bytes + block_head_bytes;
// So much is made durable at a time: a log's fdatasync never waits behind more than this.
constexpr std::uint64_t sync_step = 1 << 20;

using Head = std::array<std::byte, head_bytes>;

std::string file_name(std::uint64_t tag) { return fmt::format("{}{:016x}", prefix, tag); }

std::optional<std::uint64_t> tag_of(const std::string& name) {
  std::uint64_t tag = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), tag, 16);
  return file_name(tag) == name ? std::optional(tag) : std::nullopt;
}

std::uint32_t sum_of_head(const Head& head, std::size_t identity_bytes) {
  return crc32c({head.data() + identity_offset, identity_bytes}, crc32c({head.data(), 24}));
}

Head head_of(const SnapshotName& name) {
  Head head = {};
  std::memcpy(head.data(), magic.data(), magic.size());
  write_number(&head[8], version);
  write_number(&head[12], static_cast<std::uint32_t>(name.identity.size()));
  write_number(&head[16], name.tag);
  std::memcpy(&head[identity_offset], name.identity.data(), name.identity.size());
  write_number(&head[24], sum_of_head(head, name.identity.size()));
  return head;
}

std::optional<SnapshotName> name_in(const Head& head) {
  const auto length = read_number<std::uint32_t>(&head[12]);
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0 ||
      read_number<std::uint32_t>(&head[8]) != version || length > most_identity_bytes ||
      read_number<std::uint32_t>(&head[24]) != sum_of_head(head, length))
    return std::nullopt;
  return SnapshotName{.tag = read_number<std::uint64_t>(&head[16]),
                      .identity = {reinterpret_cast<const char*>(&head[identity_offset]), length}};
}

// A block cannot be taken for another one of the same or of another snapshot.
std::uint32_t sum_of_block(std::uint64_t tag, std::uint64_t block, ByteView payload) {
  return crc32c(payload, crc32c(bytes_of(block), crc32c(bytes_of(tag))));
}

std::unexpected<Failure> damaged(const File& file, std::uint64_t offset, std::string_view what) {
  return std::unexpected(
      Failure{.kind = FailureKind::damaged,
              .text = fmt::format(
                  "{} is damaged at byte {}: {}. Move it away to start from an older snapshot if there is "
                  "one and the log reaches back to it; otherwise let the member join anew",
                  file.path(), offset, what)});
}

Result<Head> read_head(const File& file) {
  Head head = {};
  const auto got = file.read_at(0, head);
  if (!got) return std::unexpected(got.error());
  return head;
}

Result<void> remove_with(const Directory& directory, std::string_view suffix, const std::string& but = {}) {
  const auto names = directory.names_with(std::string(prefix));
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names)
    if (name.ends_with(suffix) && name != but)
      if (auto done = directory.remove(name); !done) return done;
  return {};
}

}  // namespace

// --- writing ---

SnapshotWriter::~SnapshotWriter() {
  if (file_.descriptor() >= 0 && !finished_ && !resumable_) ::unlink(file_.path().c_str());
}

Result<void> SnapshotWriter::write_head() {
  if (auto done = file_.resize(0); !done) return done;
  return file_.write_at(0, head_of(name_));
}

// How far an earlier writer came: every block of it is checked.
Result<void> SnapshotWriter::find_blocks() {
  std::vector<std::byte> block(stride);
  while (true) {
    const auto got = file_.read_at(head_bytes + blocks_ * stride, block);
    if (!got) return std::unexpected(got.error());
    const ByteView payload = ByteView(block).subspan(block_head_bytes);
    if (*got < stride || read_number<std::uint32_t>(block.data()) != snapshot_block_bytes ||
        read_number<std::uint32_t>(&block[4]) != sum_of_block(name_.tag, blocks_, payload))
      return {};
    ++blocks_;
  }
}

Result<void> SnapshotWriter::append(ByteView bytes) {
  ensure(!finished_, "a finished snapshot does not change");
  buffer_.reserve(snapshot_block_bytes);
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), snapshot_block_bytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes = bytes.subspan(part);
    if (buffer_.size() < snapshot_block_bytes) continue;
    if (auto done = write_block(); !done) return done;
    ++blocks_;
    buffer_.clear();
  }
  return {};
}

Result<void> SnapshotWriter::write_block() {
  std::array<std::byte, block_head_bytes> head;
  write_number(head.data(), static_cast<std::uint32_t>(buffer_.size()));
  write_number(&head[4], sum_of_block(name_.tag, blocks_, buffer_));
  if (auto done = file_.write_at(head_bytes + blocks_ * stride, head, buffer_); !done) return done;
  unsynced_ += buffer_.size();
  if (unsynced_ < sync_step) return {};
  unsynced_ = 0;
  return file_.sync();
}

// The last block is a short one, possibly empty: it says that nothing is missing.
Result<void> SnapshotWriter::write_end() {
  ensure(!finished_, "a snapshot is finished once");
  if (auto done = write_block(); !done) return done;
  const std::uint64_t end = head_bytes + blocks_ * stride + block_head_bytes + buffer_.size();
  return file_.resize(end);
}

Result<void> SnapshotWriter::finish() {
  if (auto done = write_end(); !done) return done;
  if (auto done = file_.sync(); !done) return done;
  const std::string draft = file_.path().substr(file_.path().rfind('/') + 1);
  if (auto done = directory_->rename(draft, file_name(name_.tag)); !done) return done;
  finished_ = true;

  const auto names = directory_->names_with(std::string(prefix));
  if (!names) return std::unexpected(names.error());
  std::vector<std::string> whole;
  std::ranges::copy_if(*names, std::back_inserter(whole),
                       [](const auto& name) { return tag_of(name).has_value(); });
  for (std::size_t i = 0; i + kept < whole.size(); ++i)
    if (auto done = directory_->remove(whole[i]); !done) return done;
  return {};
}

Result<SnapshotReader> SnapshotWriter::finish_and_read() {
  if (auto done = finish(); !done) return std::unexpected(done.error());
  file_.renamed(directory_->file(file_name(name_.tag)));
  return SnapshotReader::of(std::move(file_), name_.tag);
}

Result<SnapshotReader> SnapshotWriter::lend() {
  if (auto done = write_end(); !done) return std::unexpected(done.error());
  if (::unlink(file_.path().c_str()) != 0)
    return std::unexpected(system_failure("remove", file_.path(), errno));
  finished_ = true;
  return SnapshotReader::of(std::move(file_), name_.tag);
}

// --- reading ---

Result<std::size_t> SnapshotReader::read(std::uint64_t offset, std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size() && offset + filled < size_) {
    const std::uint64_t at = offset + filled;
    if (auto done = load(at / snapshot_block_bytes); !done) return std::unexpected(done.error());
    const ByteView rest = ByteView(buffer_).subspan(at % snapshot_block_bytes);
    const std::size_t part = std::min(rest.size(), into.size() - filled);
    std::copy_n(rest.begin(), part, into.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += part;
  }
  return filled;
}

Result<void> SnapshotReader::verify() {
  for (std::uint64_t block = 0; block <= size_ / snapshot_block_bytes; ++block)
    if (auto done = load(block); !done) return done;
  return {};
}

Result<void> SnapshotReader::load(std::uint64_t block) {
  if (loaded_ == block) return {};
  loaded_.reset();
  const std::uint64_t at = head_bytes + block * stride;
  const std::uint64_t length =
      std::min<std::uint64_t>(size_ - block * snapshot_block_bytes, snapshot_block_bytes);
  std::array<std::byte, block_head_bytes> head = {};
  buffer_.resize(length);
  if (const auto got = file_.read_at(at, head); !got) return std::unexpected(got.error());
  if (const auto got = file_.read_at(at + block_head_bytes, buffer_); !got)
    return std::unexpected(got.error());
  if (read_number<std::uint32_t>(head.data()) != length ||
      read_number<std::uint32_t>(&head[4]) != sum_of_block(name_.tag, block, buffer_))
    return damaged(file_, at, "a block is not what was written");
  loaded_ = block;
  return {};
}

// --- all of them ---

Result<Snapshots> Snapshots::open(const Directory& directory) {
  if (auto done = remove_with(directory, draft_suffix); !done) return std::unexpected(done.error());
  return Snapshots(directory);
}

Result<std::vector<std::uint64_t>> Snapshots::tags() const {
  const auto names = directory_->names_with(std::string(prefix));
  if (!names) return std::unexpected(names.error());
  std::vector<std::uint64_t> tags;
  for (const std::string& name : *names)
    if (const auto tag = tag_of(name)) tags.push_back(*tag);
  return tags;
}

Result<std::optional<SnapshotReader>> Snapshots::newest() const {
  const auto all = tags();
  if (!all) return std::unexpected(all.error());
  if (all->empty()) return std::nullopt;
  auto reader = read(all->back());
  if (!reader) return std::unexpected(reader.error());
  return std::optional(std::move(*reader));
}

Result<SnapshotReader> Snapshots::read(std::uint64_t tag) const {
  auto file = directory_->open_file(file_name(tag), O_RDONLY);
  if (!file) return std::unexpected(file.error());
  return SnapshotReader::of(std::move(*file), tag);
}

Result<SnapshotReader> SnapshotReader::of(File file, std::uint64_t tag) {
  SnapshotReader reader;
  reader.file_ = std::move(file);
  const auto head = read_head(reader.file_);
  if (!head) return std::unexpected(head.error());
  auto name = name_in(*head);
  if (!name || name->tag != tag) return damaged(reader.file_, 0, "this is not the head of that snapshot");
  reader.name_ = std::move(*name);

  const auto bytes = reader.file_.size();
  if (!bytes) return std::unexpected(bytes.error());
  const std::uint64_t body = std::max<std::uint64_t>(*bytes, head_bytes) - head_bytes;
  if (body % stride < block_head_bytes) return damaged(reader.file_, *bytes, "it has no end");
  reader.size_ = body / stride * snapshot_block_bytes + body % stride - block_head_bytes;
  if (auto done = reader.load(body / stride); !done) return std::unexpected(done.error());
  return reader;
}

Result<SnapshotWriter> Snapshots::begin(SnapshotName name) const {
  ensure(name.identity.size() <= most_identity_bytes, "an identity is short");
  auto file =
      directory_->open_file(file_name(name.tag) + std::string(draft_suffix), O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  SnapshotWriter writer(*directory_, std::move(name), std::move(*file), false);
  if (auto done = writer.write_head(); !done) return std::unexpected(done.error());
  return writer;
}

Result<SnapshotWriter> Snapshots::receive(SnapshotName name) const {
  ensure(name.identity.size() <= most_identity_bytes, "an identity is short");
  const std::string partial = file_name(name.tag) + std::string(partial_suffix);
  if (auto done = remove_with(*directory_, partial_suffix, partial); !done)
    return std::unexpected(done.error());
  auto file = directory_->open_file(partial, O_RDWR | O_CREAT);
  if (!file) return std::unexpected(file.error());
  const auto head = read_head(*file);
  if (!head) return std::unexpected(head.error());
  const bool is_the_same = name_in(*head) == name;
  SnapshotWriter writer(*directory_, std::move(name), std::move(*file), true);
  auto done = is_the_same ? writer.find_blocks() : writer.write_head();
  if (!done) return std::unexpected(done.error());
  return writer;
}

Result<void> Snapshots::drop_received() const { return remove_with(*directory_, partial_suffix); }

}  // namespace conclave::storage
