// Whatever stands in a member's small files and in its snapshots, a start refuses it with a sentence or takes
// it as it was written. The first byte chooses the file:
//   S: a snapshot. M: one whose sums are made to fit: the length of its identity, the identity, how many
//      blocks are full, and the last one. P: an unfinished one of another member, that is continued;
//      Q: one whose sums fit, by the same member or by another.
//   D: up to where the log was durable. T: how often a process began, with a sum that fits.
//   V: the version, with a sum that fits, W: as it is. B: the state of a snapshot, with or without the book
//   of members. C: changes of the members in a log, each with its length in front.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cluster/identity.hpp"
#include "live/frames.hpp"
#include "storage/crc32c.hpp"
#include "storage/snapshots.hpp"
#include "storage/starts.hpp"
#include "storage/watermark.hpp"

namespace {

using namespace conclave;
using namespace conclave::storage;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

constexpr std::uint64_t tag = 1;
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t identity_offset = 32;

// Made once: most of what a fuzzer asks is asked of the same directory. In memory, where there is such a
// place.
class Place {
 public:
  Place() {
    std::string path =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/files-fuzz-XXXXXX" : "/tmp/files-fuzz-XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "a folder for files");
    path_ = path;
    open();
    require(directory_ != nullptr, "a new directory can be used");
    auto snapshots = Snapshots::open(*directory_);
    require(snapshots.has_value(), "a directory has snapshots");
    snapshots_ = std::make_unique<Snapshots>(std::move(*snapshots));
    version_ = text_of("VERSION");
  }
  ~Place() {
    for (const std::string& name : {snapshot(), partial(), std::string(starts_file), std::string("VERSION"),
                                    std::string("LOCK"), std::string("RESERVE")})
      ::unlink(file(name).c_str());
    ::rmdir(path_.c_str());
  }

  static std::string snapshot() { return fmt::format("snapshot-{:016x}", tag); }
  static std::string partial() { return snapshot() + ".partial"; }
  const Directory& directory() const { return *directory_; }
  const Snapshots& snapshots() const { return *snapshots_; }

  void write(const std::string& name, ByteView bytes) {
    const int out = ::open(file(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(out >= 0 && ::write(out, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file can be written");
    ::close(out);
  }
  void write(const std::string& name, const std::string& text) {
    write(name, std::as_bytes(std::span(text)));
  }
  void remove(const std::string& name) { ::unlink(file(name).c_str()); }

  // Another process of the same directory, with this version: what came of it.
  std::string open_with(const std::string& version) {
    directory_.reset();
    write("VERSION", version);
    open();
    std::string said = directory_ ? "" : error_;
    require(!directory_ || directory_->stamp().size() <= most_stamp_bytes, "a stamp is bounded");
    require(directory_ || !said.empty(), "a directory is refused with a sentence");
    if (!directory_) {
      write("VERSION", version_);
      open();
      require(directory_ != nullptr, "a directory whose version was put back can be used");
    }
    snapshots_ = std::make_unique<Snapshots>(std::move(*Snapshots::open(*directory_)));
    return said;
  }

 private:
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::array<char, 4096> text;
    const int in = ::open(file(name).c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = ::read(in, text.data(), text.size());
    ::close(in);
    require(got > 0, "a file can be read");
    return {text.data(), static_cast<std::size_t>(got)};
  }
  void open() {
    auto opened = Directory::open(path_, {.reserve_bytes = 0, .spare_descriptors = 0});
    if (!opened) error_ = opened.error().text;
    directory_ = opened ? std::move(*opened) : nullptr;
  }

  std::string path_;
  std::string error_;
  std::string version_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Snapshots> snapshots_;
};

Place& place() {
  static Place one;
  return one;
}

// ---- snapshots

std::vector<std::byte> all_of(SnapshotReader& reader) {
  std::vector<std::byte> state(reader.size());
  const auto got = reader.read(0, state);
  if (!got) return {};
  require(*got == state.size(), "a snapshot is read up to its end");
  return state;
}

void read_snapshot(ByteView bytes, bool fits) {
  place().write(Place::snapshot(), bytes);
  auto reader = place().snapshots().read(tag);
  require(reader || !reader.error().text.empty(), "a snapshot is refused with a sentence");
  require(reader || !fits, "a snapshot whose sums fit is taken");
  if (!reader) return;
  require(reader->size() <= bytes.size(), "a snapshot has no more than its file");
  const bool whole = reader->verify().has_value();
  require(whole || !fits, "a snapshot whose sums fit is whole");
  if (whole) require(all_of(*reader).size() == reader->size(), "a snapshot that is whole can be read");
}

void put(std::vector<std::byte>& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
template <class T>
void put_number(std::vector<std::byte>& to, T value) {
  put(to, bytes_of(value));
}

// As a writer would have made it.
std::vector<std::byte> mended(ByteView rest) {
  const auto take = [&](std::size_t most) {
    const ByteView some = rest.first(std::min(most, rest.size()));
    rest = rest.subspan(some.size());
    return some;
  };
  const auto next = [&] { return rest.empty() ? 0u : std::to_integer<unsigned>(take(1)[0]); };
  const ByteView identity = take(next() * 4);
  std::vector<std::byte> file(head_bytes);
  std::memcpy(file.data(), "cnclvsnp", 8);
  write_number(&file[8], std::uint32_t{1});
  write_number(&file[12], static_cast<std::uint32_t>(identity.size()));
  write_number(&file[16], tag);
  std::ranges::copy(identity, file.begin() + identity_offset);
  write_number(&file[24], crc32c(identity, crc32c({file.data(), 24})));
  const unsigned full = next() % 3;
  for (std::uint64_t block = 0; block <= full; ++block) {
    const std::vector<std::byte> same(snapshot_block_bytes, std::byte(block));
    const ByteView payload = block < full ? ByteView(same) : take(snapshot_block_bytes - 1);
    put_number(file, static_cast<std::uint32_t>(payload.size()));
    put_number(file, crc32c(payload, crc32c(bytes_of(block), crc32c(bytes_of(tag)))));
    put(file, payload);
  }
  return file;
}

// However far an earlier process came, and whatever is wrong with it: it is finished, and then it is whole.
void go_on_with(ByteView bytes, bool fits) {
  place().remove(Place::snapshot());
  place().write(Place::partial(), bytes);
  const std::string identity(
      reinterpret_cast<const char*>(bytes.data()) + std::min(identity_offset, bytes.size()),
      bytes.size() < head_bytes
          ? 0
          : std::min<std::size_t>(read_number<std::uint32_t>(&bytes[12]), most_identity_bytes));
  auto writer = place().snapshots().receive({.tag = tag, .identity = fits ? identity : "another"});
  require(writer.has_value(), "an unfinished snapshot is continued or begun anew");
  const std::uint64_t before = writer->offset();
  require(before <= bytes.size(), "nobody came further than the file has bytes");
  const std::string end = "the end";
  require(writer->append(std::as_bytes(std::span(end))) && writer->finish(), "a snapshot can be finished");
  auto reader = place().snapshots().read(tag);
  require(reader && reader->size() == before + end.size() && reader->verify(), "what was finished is whole");
}

// ---- texts, and the rest

// Lines, and the sum that fits them.
std::string with_sum(ByteView bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.ends_with('\n')) text += '\n';
  return text + fmt::format("crc32c {:08x}\n", crc32c(std::as_bytes(std::span(text))));
}

void read_starts(const std::string& text) {
  place().write(starts_file, text);
  const auto last = last_start(place().directory());
  if (!last) return require(!last.error().text.empty(), "starts are refused with a sentence");
  if (*last == UINT64_MAX) return;
  const auto next = begin_start(place().directory(), 1);
  const auto again = last_start(place().directory());
  require(next && again && *next > *last && *again == *next, "the next start is another one");
}

void read_durable(ByteView bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  file.resize(watermark_bytes);
  if (file.size() > 36 && std::memcmp(file.data(), "cnclvmrk", 8) == 0)
    write_number(&file[32], crc32c({file.data(), 32}));
  const auto position = read_watermark(file, 7);
  if (!position) return;
  std::vector<std::byte> again(watermark_bytes);
  write_watermark(again.data(), 7, *position);
  require(read_watermark(again, 7) == position, "a place is read as it was written");
}

// What comes of it when it comes in two.
std::optional<Bytes> machine_in_parts(std::span<const std::uint8_t> state) {
  cluster::StateParts parts;
  Bytes machine;
  const std::size_t cut = state.empty() ? 0 : state.front() % (state.size() + 1);
  for (const auto part : {state.first(cut), state.subspan(cut)}) {
    const auto taken = parts.take(part);
    if (taken.next == cluster::StateParts::Next::wrong) return std::nullopt;
    machine.insert(machine.end(), taken.rest.begin(), taken.rest.end());
  }
  machine.insert(machine.end(), parts.left().begin(), parts.left().end());
  return machine;
}

// As a leader goes by it: those who are to vote do, and the book learns of it.
cluster::Book go_by(cluster::Book book) {
  const auto has_caught_up = [](NodeId id) { return id.value % 2 == 0; };
  const cluster::Book::Wish wish = book.wish(book.voters, has_caught_up);
  for (const NodeId id : wish.voters) require(book.contains(id), "only members are to vote");
  if (!wish.voters.empty()) book.settle(wish.voters, wish.learners);
  return book;
}

void read_state(ByteView bytes) {
  const std::span<const std::uint8_t> state(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            bytes.size());
  const auto parts = cluster::split_state(Bulk(Payload(state)));
  const auto machine = machine_in_parts(state);
  if (!parts) return;
  const Payload whole = parts->machine.whole();
  Bytes again = parts->book ? cluster::preface_of(*parts->book) : Bytes();
  require(machine && std::ranges::equal(*machine, whole.bytes()), "in parts it says the same");
  again.insert(again.end(), whole.bytes().begin(), whole.bytes().end());
  require(std::ranges::equal(again, state), "a state that was split is put together as it was");
  if (parts->book) (void)go_by(*parts->book);
}

void change_members(ByteView bytes) {
  cluster::Book book;
  while (!bytes.empty()) {
    const std::size_t length = std::min(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 1);
    const auto change = decode<cluster::BookChange>(live::numbers_of(bytes.subspan(1, length)));
    bytes = bytes.subspan(1 + length);
    if (!change) continue;
    if (const auto done = book.apply(*change); !done)
      require(!describe(done.error()).empty(), "a change is refused with a sentence");
    require(book.members.size() <= cluster::most_members, "members are bounded");
    book = go_by(std::move(book));
    const Bytes state = cluster::preface_of(book);
    const auto parts = cluster::split_state(Bulk(Payload(state)));
    require(parts && parts->book == book && parts->machine.empty(), "a book is read as it was written");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0]) {
    case 'S': read_snapshot(bytes, false); break;
    case 'M': read_snapshot(mended(bytes), true); break;
    case 'P': go_on_with(bytes, true); break;
    case 'Q': go_on_with(mended(bytes), bytes.size() % 2 == 0); break;
    case 'D': read_durable(bytes); break;
    case 'T': read_starts(with_sum(bytes)); break;
    case 'V': place().open_with(with_sum(bytes)); break;
    case 'C': change_members(bytes); break;
    case 'W': place().open_with({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); break;
    default: read_state(bytes); break;
  }
  return 0;
}
