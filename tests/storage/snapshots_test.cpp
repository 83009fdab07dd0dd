// Snapshots: whole or not there, checked byte by byte, continued where they broke off.
#include "storage/snapshots.hpp"

#include <fstream>

#include "faulty_disk.hpp"
#include "journal.hpp"

namespace conclave::storage {
namespace {

namespace fs = std::filesystem;

class SnapshotsTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override { faulty::heal(); }
  void open() {
    snapshots_.reset();
    directory_.reset();
    auto directory = Directory::open(folder_.file("data"), {.reserve_bytes = 0});
    ASSERT_TRUE(directory) << directory.error().text;
    directory_ = std::move(*directory);
    const auto snapshots = Snapshots::open(*directory_);
    ASSERT_TRUE(snapshots);
    snapshots_ = *snapshots;
  }
  void write(std::uint64_t tag, std::size_t size) {
    auto writer = snapshots_->begin({.tag = tag, .identity = "term 3"});
    ASSERT_TRUE(writer);
    const auto bytes = numbered(tag, size - 8);
    ASSERT_TRUE(writer->append(bytes));
    const auto done = writer->finish();
    ASSERT_TRUE(done) << done.error().text;
  }
  static std::vector<std::byte> all_of(SnapshotReader& reader) {
    std::vector<std::byte> bytes(reader.size() + 10);
    const auto got = reader.read(0, bytes);
    EXPECT_TRUE(got) << got.error().text;
    bytes.resize(got.value_or(0));
    return bytes;
  }
  std::string file(const std::string& name) const { return folder_.file("data/" + name); }

  cli::TemporaryFolder folder_;
  std::unique_ptr<Directory> directory_;
  std::optional<Snapshots> snapshots_;
};

TEST_F(SnapshotsTest, OfAnySizeAreReadAsTheyWereWritten) {
  EXPECT_FALSE(snapshots_->newest()->has_value());
  std::uint64_t tag = 0;
  for (const std::size_t size :
       {std::size_t{8}, snapshot_block_bytes - 1, snapshot_block_bytes, snapshot_block_bytes + 1,
        5 * snapshot_block_bytes, std::size_t{3'000'000}}) {
    write(++tag, size);
    auto reader = snapshots_->newest();
    ASSERT_TRUE(reader && *reader) << size;
    EXPECT_EQ((*reader)->name(), (SnapshotName{.tag = tag, .identity = "term 3"}));
    EXPECT_EQ((*reader)->size(), size);
    EXPECT_TRUE((*reader)->verify());
    EXPECT_EQ(all_of(**reader), numbered(tag, size - 8));
    std::array<std::byte, 1000> part;
    for (const std::uint64_t at : {std::uint64_t{0}, size / 2, size - 1, size, size + 5}) {
      const auto got = (*reader)->read(at, part);
      ASSERT_TRUE(got);
      EXPECT_EQ(*got, at >= size ? 0 : std::min<std::size_t>(1000, size - at));
      EXPECT_TRUE(
          std::equal(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*got),
                     numbered(tag, size - 8).begin() + static_cast<std::ptrdiff_t>(std::min(at, size))));
    }
  }
}

TEST_F(SnapshotsTest, MayBeEmpty) {
  auto writer = snapshots_->begin({.tag = 1});
  ASSERT_TRUE(writer && writer->finish());
  auto reader = snapshots_->newest();
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ((*reader)->size(), 0u);
  EXPECT_TRUE(all_of(**reader).empty());
}

TEST_F(SnapshotsTest, AreKeptByTwo) {
  for (std::uint64_t tag = 1; tag <= 5; ++tag) write(tag, 100);
  EXPECT_EQ(*snapshots_->tags(), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_TRUE(snapshots_->read(4));
  EXPECT_FALSE(snapshots_->read(3));
}

TEST_F(SnapshotsTest, ThatWereNotFinishedAreNotThere) {
  write(1, 100);
  {
    auto writer = snapshots_->begin({.tag = 2});
    ASSERT_TRUE(writer && writer->append(numbered(2, 500'000)));
    EXPECT_EQ(*snapshots_->tags(), (std::vector<std::uint64_t>{1}));
  }
  EXPECT_FALSE(fs::exists(file("snapshot-0000000000000002.draft")));
  std::ofstream(file("snapshot-0000000000000009.draft")) << "a crash left this";
  open();
  EXPECT_FALSE(fs::exists(file("snapshot-0000000000000009.draft")));
  EXPECT_EQ(*snapshots_->tags(), (std::vector<std::uint64_t>{1}));
}

TEST_F(SnapshotsTest, ThatArriveInPiecesGoOnWhereTheyBrokeOff) {
  const SnapshotName name = {.tag = 7, .identity = "term 4"};
  const auto bytes = numbered(7, 1'000'000);
  const ByteView all = bytes;
  {
    auto writer = snapshots_->receive(name);
    ASSERT_TRUE(writer);
    EXPECT_EQ(writer->offset(), 0u);
    ASSERT_TRUE(writer->append(all.first(300'000)));
    EXPECT_EQ(writer->offset(), 300'000u);
  }
  open();
  std::uint64_t from = 0;
  {
    auto writer = snapshots_->receive(name);
    ASSERT_TRUE(writer);
    from = writer->offset();
    EXPECT_EQ(from, 300'000 / snapshot_block_bytes * snapshot_block_bytes) << "whole blocks are kept";
    ASSERT_TRUE(writer->append(all.subspan(from)));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = snapshots_->newest();
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ(all_of(**reader), bytes);
  EXPECT_FALSE(fs::exists(file("snapshot-0000000000000007.partial")));
}

TEST_F(SnapshotsTest, ThatWereReceivedInPartCanBeGivenUp) {
  write(1, 100);
  {
    auto writer = snapshots_->receive({.tag = 7});
    ASSERT_TRUE(writer && writer->append(numbered(7, 300'000)));
  }
  ASSERT_TRUE(fs::exists(file("snapshot-0000000000000007.partial")));
  ASSERT_TRUE(snapshots_->drop_received());
  EXPECT_FALSE(fs::exists(file("snapshot-0000000000000007.partial")));
  EXPECT_EQ(*snapshots_->tags(), (std::vector<std::uint64_t>{1}));
}

TEST_F(SnapshotsTest, AreContinuedOnlyByTheSameOne) {
  const auto bytes = numbered(7, 300'000);
  for (const SnapshotName& other : {SnapshotName{7, "another term"}, SnapshotName{8, "term 4"}}) {
    {
      auto writer = snapshots_->receive({.tag = 7, .identity = "term 4"});
      ASSERT_TRUE(writer && writer->append(bytes));
    }
    const auto writer = snapshots_->receive(other);
    ASSERT_TRUE(writer);
    EXPECT_EQ(writer->offset(), 0u);
  }
  EXPECT_FALSE(fs::exists(file("snapshot-0000000000000007.partial"))) << "one at a time";
}

TEST_F(SnapshotsTest, ThatArrivedDamagedAreContinuedBeforeTheDamage) {
  const SnapshotName name = {.tag = 7};
  const auto bytes = numbered(7, 300'000);
  {
    auto writer = snapshots_->receive(name);
    ASSERT_TRUE(writer && writer->append(bytes));
  }
  {
    std::fstream partial(file("snapshot-0000000000000007.partial"),
                         std::ios::in | std::ios::out | std::ios::binary);
    partial.seekp(4096 + 8 + snapshot_block_bytes + 1000);
    partial.put('!');
  }
  auto writer = snapshots_->receive(name);
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->offset(), snapshot_block_bytes);
  ASSERT_TRUE(writer->append(ByteView(bytes).subspan(snapshot_block_bytes)));
  ASSERT_TRUE(writer->finish());
  auto reader = snapshots_->newest();
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ(all_of(**reader), bytes);
}

TEST_F(SnapshotsTest, WithAnyChangedByteAreRefused) {
  write(3, 300);
  const std::string path = file("snapshot-0000000000000003");
  const auto size = fs::file_size(path);
  const auto refused = [&] {
    auto reader = snapshots_->newest();
    if (reader && !(*reader)->verify()) return true;
    return !reader && reader.error().kind == FailureKind::damaged &&
           reader.error().text.find("snapshot-0000000000000003 is damaged") != std::string::npos;
  };
  const auto flip = [&](std::uint64_t at) {
    std::fstream change(path, std::ios::in | std::ios::out | std::ios::binary);
    change.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(change.get());
    change.seekp(static_cast<std::streamoff>(at));
    change.put(static_cast<char>(was ^ 4));
  };
  for (std::uint64_t at = 0; at < size; ++at) {
    if (at == 38) at = 4096;  // nobody reads the rest of the first page
    if (at == 28) at = 32;
    flip(at);
    EXPECT_TRUE(refused()) << at;
    flip(at);
  }
  EXPECT_FALSE(refused());
  for (std::uint64_t shorter = size - 1; shorter > size - 320; --shorter) {
    fs::resize_file(path, shorter);
    EXPECT_TRUE(refused()) << shorter;
  }
  fs::resize_file(path, 10);
  EXPECT_TRUE(refused());
}

TEST_F(SnapshotsTest, WithBlocksInAnotherOrderAreRefused) {
  write(3, 4 * snapshot_block_bytes);
  const std::string path = file("snapshot-0000000000000003");
  std::vector<char> first(snapshot_block_bytes + 8);
  std::vector<char> second(snapshot_block_bytes + 8);
  {
    std::fstream swap(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamsize>(first.size());
    swap.seekg(4096);
    swap.read(first.data(), size).read(second.data(), size);
    swap.seekp(4096);
    swap.write(second.data(), size).write(first.data(), size);
  }
  ASSERT_NE(first, second);
  const auto verified = snapshots_->newest()->value().verify();
  ASSERT_FALSE(verified);
  EXPECT_NE(verified.error().text.find("at byte 4096"), std::string::npos) << verified.error().text;
}

TEST_F(SnapshotsTest, AreNotThereIfTheyCouldNotBeMadeDurable) {
  write(1, 100);
  auto writer = snapshots_->begin({.tag = 2});
  ASSERT_TRUE(writer && writer->append(numbered(2, 100)));
  faulty::fail_sync(1, EIO);
  EXPECT_FALSE(writer->finish());
  faulty::heal();
  EXPECT_EQ(*snapshots_->tags(), (std::vector<std::uint64_t>{1}));
}

}  // namespace
}  // namespace conclave::storage
