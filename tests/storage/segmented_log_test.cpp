// Records come back, in order; segments go round; damage is named.
#include "storage/segmented_log.hpp"

#include <cerrno>
#include <fstream>

#include "faulty_disk.hpp"
#include "journal.hpp"

namespace conclave::storage {
namespace {

namespace fs = std::filesystem;

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> files_with(const Journal& journal, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(journal.path()))
    if (entry.path().filename().string().starts_with(prefix))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Log : public testing::Test {
 protected:
  void TearDown() override { faulty::heal(); }
  void open() {
    const auto opened = journal_.open();
    ASSERT_TRUE(opened) << opened.error().text;
  }
  void write(std::uint64_t from, std::uint64_t to, std::size_t extra = 100) {
    for (; from <= to; ++from) {
      const auto done = journal_.write(from, extra);
      ASSERT_TRUE(done) << done.error().text;
    }
  }
  // Insists that opening is refused for damage, at this file and byte.
  void expect_damage(const std::string& name, std::uint64_t at) {
    const auto opened = journal_.open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, FailureKind::damaged);
    EXPECT_NE(opened.error().text.find(name + " is damaged at byte " + std::to_string(at)), std::string::npos)
        << opened.error().text;
    EXPECT_NE(opened.error().text.find("Restore"), std::string::npos) << "and says what to do";
    journal_.close();
  }
  void flip(const std::string& name, std::size_t byte) {
    auto bytes = read_file(journal_.file(name));
    bytes.at(byte) = static_cast<char>(bytes[byte] ^ 1);
    write_file(journal_.file(name), bytes);
  }
  Journal journal_;
};

TEST_F(Log, GivesBackWhatItWasGiven) {
  open();
  EXPECT_TRUE(journal_.replay.numbers.empty());
  write(1, 3);
  journal_.append(4, 0);
  journal_.append(5, 1);
  journal_.append(6, 777);
  ASSERT_TRUE(journal_.log->sync());
  journal_.append(7, 10);  // never made durable
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 6));
  EXPECT_EQ(journal_.log->repaired(), "");
  write(7, 8);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 8));
}

TEST_F(Log, NeedsOneWriteAndOneSyncForABatch) {
  open();
  write(1, 1);
  journal_.log->settle();
  const std::uint64_t before = faulty::syncs();
  for (std::uint64_t number = 2; number < 12; ++number) journal_.append(number, 50);
  ASSERT_TRUE(journal_.log->sync());
  EXPECT_EQ(faulty::syncs() - before, 1u);
  ASSERT_TRUE(journal_.log->sync());
  EXPECT_EQ(faulty::syncs() - before, 1u) << "nothing to do, nothing done";
}

TEST_F(Log, GoesOnInTheNextSegment) {
  open();
  for (std::uint64_t number = 1; number <= 200; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  EXPECT_GE(journal_.log->status().segments, 4u);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 200));
}

TEST_F(Log, GrowsWhileTheNextSegmentIsNotReady) {
  open();
  // No pause: the thread that prepares has hardly a chance, and nothing waits for it.
  for (std::uint64_t number = 1; number <= 400; ++number) write(number, number, 300);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 400));
}

TEST_F(Log, TakesRecordsLargerThanASegment) {
  open();
  write(1, 1);
  write(2, 2, 100'000);
  journal_.log->settle();
  write(3, 3, 200'000);
  journal_.log->settle();
  write(4, 5);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 5));
}

TEST_F(Log, RefusesToBeMisused) {
  open();
  EXPECT_THROW(journal_.log->append({}, 1), std::logic_error);
  const std::vector<std::byte> much(most_record_bytes + 1);
  EXPECT_THROW(journal_.log->append({much}, 1), std::logic_error);
  const ByteView most = ByteView(much).first(most_record_bytes);
  journal_.log->append({most}, 1);
  EXPECT_THROW(journal_.log->append({most}, 2), std::logic_error)
      << "heads and all, two of them are too much";
}

TEST_F(Log, RecyclesSegmentsThatAreReleased) {
  open();
  for (std::uint64_t number = 1; number <= 400; ++number) {
    write(number, number, 300);
    if (number % 20 == 0) journal_.log->release(number - 10);
    journal_.log->settle();
    ASSERT_LE(journal_.log->status().segments, 3u);
  }
  EXPECT_LE(files_with(journal_, "spare-").size(), 3u) << "spares are bounded, and one is ready";
  EXPECT_LE(files_with(journal_, "log-").size(), 3u);
  open();
  ASSERT_FALSE(journal_.replay.numbers.empty());
  EXPECT_LE(journal_.replay.numbers.front(), 391u);
  EXPECT_EQ(journal_.replay.numbers, range(journal_.replay.numbers.front(), 400));
  EXPECT_GT(journal_.replay.numbers.front(), 300u) << "old segments are gone";
}

TEST_F(Log, KeepsFewSparesOfMany) {
  open();
  for (std::uint64_t number = 1; number <= 400; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  ASSERT_GE(journal_.log->status().segments, 6u);
  journal_.log->release(400);
  journal_.log->settle();
  EXPECT_EQ(journal_.log->status().segments, 1u);
  EXPECT_EQ(files_with(journal_, "log-").size(), 1u);
  EXPECT_LE(files_with(journal_, "spare-").size(), journal_.options.most_spares + 1)
      << "and one that is ready";
}

TEST_F(Log, KeepsASegmentWithOneGreaterTag) {
  open();
  write(1'000, 1'000, 300);  // in the first segment
  for (std::uint64_t number = 1; number <= 100; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  journal_.log->release(999);
  journal_.log->settle();
  open();
  EXPECT_EQ(journal_.replay.numbers.size(), 101u);
}

TEST_F(Log, BeginsASegmentWithWhatWasTrueBeforeIt) {
  open();
  for (std::uint64_t number = 1; number <= 200; ++number) {
    write(number, number, 300);
    journal_.log->set_preamble(view_of("state after " + std::to_string(number)));
    journal_.log->settle();
  }
  journal_.log->release(150);
  journal_.log->settle();
  open();
  const std::uint64_t first = journal_.replay.numbers.front();
  ASSERT_GT(first, 1u);
  ASSERT_FALSE(journal_.replay.preambles.empty());
  EXPECT_EQ(journal_.replay.preambles.front(), "state after " + std::to_string(first - 1));
}

TEST_F(Log, OfANewDirectoryNeedsNoLargeFile) {
  journal_.options = {};
  open();
  EXPECT_EQ(fs::file_size(journal_.file("log-0000000000000001")), journal_.options.first_segment_bytes);
  journal_.log->settle();
  const auto spares = files_with(journal_, "spare-");
  ASSERT_EQ(spares.size(), 1u);
  EXPECT_EQ(fs::file_size(journal_.file(spares[0])), journal_.options.segment_bytes);
}

TEST_F(Log, UsesSparesOfAnEarlierLifeAndDropsHalfMadeOnes) {
  open();
  journal_.log->settle();
  journal_.close();
  const auto spares = files_with(journal_, "spare-");
  ASSERT_EQ(spares.size(), 1u);
  write_file(journal_.file("spare-77"), std::vector<char>(1000));
  open();
  journal_.log->settle();
  EXPECT_EQ(files_with(journal_, "spare-"), spares);
}

// --- after a crash ---

TEST_F(Log, CutsATornTailAndGoesOn) {
  open();
  write(1, 3);
  const std::string name = "log-0000000000000001";
  journal_.close();
  const auto before = read_file(journal_.file(name));
  const auto known = read_file(journal_.file(watermark_file));
  open();
  for (std::uint64_t number = 4; number <= 9; ++number) journal_.append(number, 300);
  ASSERT_TRUE(journal_.log->sync());
  journal_.close();
  auto after = read_file(journal_.file(name));
  std::copy_n(before.begin() + 5120, 512, after.begin() + 5120);  // one sector never arrived
  write_file(journal_.file(name), after);
  write_file(journal_.file(watermark_file), known);  // nor did the word that all of them had
  open();
  const auto kept = journal_.replay.numbers;
  ASSERT_GE(kept.size(), 3u);
  ASSERT_LT(kept.size(), 9u);
  EXPECT_NE(journal_.log->repaired().find(name), std::string::npos) << journal_.log->repaired();
  open();
  EXPECT_EQ(journal_.replay.numbers, kept) << "what was cut does not come back";
  EXPECT_EQ(journal_.log->repaired(), "");
  write(kept.size() + 1, 20);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 20));
}

TEST_F(Log, MakesDurableWhatItFindsBeforeAnybodyActsOnIt) {
  open();
  write(1, 3);
  journal_.close();
  faulty::fail_sync(1, EIO);
  const auto directory = Directory::open(journal_.path(), {.reserve_bytes = 0});
  ASSERT_TRUE(directory);
  const auto opened = SegmentedLog::open(**directory, small, [](const Replayed&) {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, FailureKind::io);
}

TEST_F(Log, NamesTheFileAndByteOfDamage) {
  open();
  write(1, 3);
  journal_.close();
  flip("log-0000000000000001", segment_head_bytes + 32 + 30);  // within the first record
  expect_damage("log-0000000000000001", segment_head_bytes + 32);
  expect_damage("log-0000000000000001", segment_head_bytes + 32);  // it was not made worse
}

TEST_F(Log, SealsTheLastBatchAgainstDamage) {
  open();
  write(1, 3);
  ASSERT_TRUE(journal_.log->seal());
  const std::uint64_t before = faulty::syncs();
  ASSERT_TRUE(journal_.log->seal());
  EXPECT_EQ(faulty::syncs(), before) << "one seal is enough";
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 3));
  journal_.close();
  const std::uint64_t last = segment_head_bytes + 32 + 2 * 136;
  flip("log-0000000000000001", last + 40);
  expect_damage("log-0000000000000001", last);
}

TEST_F(Log, RefusesDamageInAnOlderSegment) {
  open();
  for (std::uint64_t number = 1; number <= 100; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  journal_.close();
  const std::string name = "log-0000000000000001";
  const auto whole = read_file(journal_.file(name));
  // Its last batch as a whole, as if it had never been written: the next segment knows better.
  auto bytes = whole;
  std::size_t at = segment_head_bytes + 32;
  while (at + 2 * 336 <= 8192) at += 336;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), '\0');
  write_file(journal_.file(name), bytes);
  expect_damage(name, at);
  bytes = whole;
  bytes[at + 100] ^= 1;
  write_file(journal_.file(name), bytes);
  expect_damage(name, at);
  bytes.resize(at);
  write_file(journal_.file(name), bytes);
  expect_damage(name, at);
  write_file(journal_.file(name), whole);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 100));
}

// A segment that was begun and has no record yet.
class BegunLog : public Log {
 protected:
  void SetUp() override {
    open();
    while (journal_.log->status().segments == 1) {
      journal_.append(++last_, 200);
      journal_.append(++last_, 200);
      ASSERT_TRUE(journal_.log->sync());
      journal_.log->settle();
    }
    last_ -= 2;  // those are in the second segment
    journal_.close();
    const std::string second = journal_.file("log-0000000000000002");
    auto bytes = read_file(second);
    std::fill(bytes.begin() + segment_head_bytes, bytes.end(), '\0');
    write_file(second, bytes);
    fs::remove(journal_.file(watermark_file));
  }
  std::uint64_t last_ = 0;
};

TEST_F(BegunLog, ProvesByItsNameThatTheOneBeforeWasWhole) {
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last_));
  journal_.close();
  const std::size_t end = segment_head_bytes + 32 + last_ * 232;
  const auto whole = read_file(journal_.file("log-0000000000000001"));
  for (const std::size_t back : {1, 2}) {  // the last record of the last batch, or its first
    auto bytes = whole;
    bytes.at(end - back * 232 + 50) ^= 1;
    write_file(journal_.file("log-0000000000000001"), bytes);
    expect_damage("log-0000000000000001", end - back * 232);
  }
}

TEST_F(BegunLog, KeepsTheOneBeforeUntilItHasAPreambleOfItsOwn) {
  open();
  journal_.log->release(last_);
  journal_.log->settle();
  EXPECT_TRUE(fs::exists(journal_.file("log-0000000000000001")));
  journal_.log->set_preamble(view_of("all before"));
  write(last_ + 1, last_ + 1);
  journal_.log->release(last_);
  journal_.log->settle();
  EXPECT_FALSE(fs::exists(journal_.file("log-0000000000000001")));
  open();
  EXPECT_EQ(journal_.replay.numbers, range(last_ + 1, last_ + 1));
  EXPECT_EQ(journal_.replay.preambles, (std::vector<std::string>{"all before"}));
}

TEST_F(Log, RefusesAMissingSegmentAndAStrangeOne) {
  open();
  for (std::uint64_t number = 1; number <= 100; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  journal_.close();
  const std::string second = journal_.file("log-0000000000000002");
  fs::rename(second, journal_.file("mine"));
  expect_damage("log-0000000000000002", 0);
  fs::copy_file(journal_.file("log-0000000000000001"), second);
  expect_damage("log-0000000000000002", 0);
  fs::rename(journal_.file("mine"), second);
  flip("log-0000000000000002", 20);
  expect_damage("log-0000000000000002", 0);
  flip("log-0000000000000002", 20);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 100));
}

TEST_F(Log, DoesNotBeginAnewBesideASnapshot) {
  open();
  write(1, 3);
  journal_.close();
  write_file(journal_.file("snapshot-0000000000000002"), {});
  fs::remove(journal_.file("log-0000000000000001"));
  expect_damage("log-0000000000000001", 0);
}

// --- what only the file DURABLE knows ---

// A log of several segments whose last one is far from full; and how it looked ten records before.
class CutLog : public Log {
 protected:
  void SetUp() override {
    open();
    for (std::uint64_t number = 1; journal_.log->status().segments < 3; ++number) {
      write(number, number, 300);
      journal_.log->settle();
      last_ = number;
    }
    write(last_ + 1, last_ + 10, 300);
    known_ = read_file(journal_.file(watermark_file));
    write(last_ + 11, last_ + 20, 300);
    last_ += 20;
    ASSERT_TRUE(journal_.log->seal());
    journal_.close();
    whole_ = read_file(journal_.file(name_));
    const auto position = read_number<std::uint64_t>(
        reinterpret_cast<const std::byte*>(read_file(journal_.file(watermark_file)).data()) + 24);
    end_ = position;
  }
  void zero_from(std::size_t byte) {
    auto bytes = whole_;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(byte), bytes.end(), '\0');
    write_file(journal_.file(name_), bytes);
  }
  // The first is that of record 1 of the segment: 336 bytes each, behind an opening of 32.
  std::size_t start_of_record_before(std::size_t byte) const {
    return segment_head_bytes + 32 + (byte - segment_head_bytes - 32) / 336 * 336;
  }
  const std::string name_ = "log-0000000000000003";
  std::uint64_t last_ = 0;
  std::size_t end_ = 0;
  std::vector<char> whole_;
  std::vector<char> known_;
};

TEST_F(CutLog, IsRefusedWhereverItWasCut) {
  for (std::size_t size = whole_.size() - 1; size > segment_head_bytes; size -= 97) {
    auto bytes = whole_;
    bytes.resize(size);
    write_file(journal_.file(name_), bytes);
    expect_damage(name_, size);
  }
  write_file(journal_.file(name_), whole_);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last_));
}

TEST_F(CutLog, IsRefusedWhereverItIsZeroedFrom) {
  for (std::size_t byte = segment_head_bytes + 32; byte < end_; byte += 113) {
    zero_from(byte);
    const auto opened = journal_.open();
    ASSERT_FALSE(opened) << byte;
    EXPECT_EQ(opened.error().kind, FailureKind::damaged);
    EXPECT_NE(
        opened.error().text.find("DURABLE says that they were durable up to byte " + std::to_string(end_)),
        std::string::npos)
        << opened.error().text;
  }
  zero_from(end_);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last_));
}

TEST_F(CutLog, IsRefusedWithoutItsLastSegmentOrAnyAtAll) {
  fs::rename(journal_.file(name_), journal_.file("mine"));
  expect_damage(name_, 0);
  fs::rename(journal_.file("log-0000000000000002"), journal_.file("mine2"));
  fs::rename(journal_.file("log-0000000000000001"), journal_.file("mine1"));
  expect_damage(name_, 0);
}

// After a power cut, the file may be as old as this; what came after it cannot be told from what never
// arrived.
TEST_F(CutLog, IsRefusedUpToWhereTheFileOfAPowerCutSays) {
  write_file(journal_.file(watermark_file), known_);
  zero_from(end_ - 24 - 11 * 336);
  expect_damage(name_, end_ - 24 - 11 * 336);
  zero_from(end_ - 24 - 10 * 336);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last_ - 10));
}

TEST_F(CutLog, NeedsNoFileThatAnEarlierVersionDidNotWrite) {
  fs::remove(journal_.file(watermark_file));
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last_));
  EXPECT_TRUE(fs::exists(journal_.file(watermark_file)));
  journal_.close();
  zero_from(end_ - 400);
  expect_damage(name_, start_of_record_before(end_ - 400));
}

TEST_F(CutLog, RefusesTheFileOfAnotherDirectoryAndADamagedOne) {
  auto bytes = known_;
  for (std::size_t bit = 0; bit < 8 * 36; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    write_file(journal_.file(watermark_file), bytes);
    const auto opened = journal_.open();
    ASSERT_FALSE(opened) << bit;
    EXPECT_NE(opened.error().text.find("DURABLE is damaged at byte 0"), std::string::npos)
        << opened.error().text;
    EXPECT_NE(opened.error().text.find("Remove it to start"), std::string::npos) << "and says what to do";
    bytes = known_;
  }
  for (const std::size_t size : {0, 1, 36, 512, 4095, 4097}) {
    bytes.resize(size);
    write_file(journal_.file(watermark_file), bytes);
    EXPECT_FALSE(journal_.open()) << size;
  }
}

TEST_F(Log, StartsAfterACrashWhileASegmentWasMade) {
  open();
  write(1, 3);
  journal_.log->settle();
  const std::string spare = files_with(journal_, "spare-").front();
  journal_.close();
  for (const std::size_t size : {0, 100, 4096, 8192, 16383}) {
    write_file(journal_.file(spare), std::vector<char>(size));
    write_file(journal_.file("DURABLE.new"), std::vector<char>(size % 50));
    open();
    EXPECT_EQ(journal_.replay.numbers, range(1, 3));
    journal_.log->settle();
    journal_.close();
  }
}

// --- a failing disk ---

TEST_F(Log, NeverTriesAgainAfterAFailedSync) {
  open();
  write(1, 3);
  journal_.log->settle();
  faulty::fail_sync(1, EIO);
  const auto failed = journal_.write(4);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, FailureKind::io);
  EXPECT_NE(failed.error().text.find("log-0000000000000001"), std::string::npos) << failed.error().text;
  faulty::heal();  // the kernel has forgotten the error by now; we have not
  const std::uint64_t before = faulty::syncs();
  EXPECT_FALSE(journal_.write(5));
  EXPECT_FALSE(journal_.log->sync());
  EXPECT_FALSE(journal_.log->seal());
  EXPECT_EQ(faulty::syncs(), before);
}

TEST_F(Log, DoesNotTrustASyncThatFoundTheDiskFull) {
  open();
  write(1, 3);
  journal_.log->settle();
  faulty::fail_sync(1, ENOSPC);
  const auto failed = journal_.write(4);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, FailureKind::io) << "not to be tried again";
}

TEST_F(Log, StopsWhenTheThreadThatPreparesMeetsABrokenDisk) {
  open();
  journal_.log->settle();
  for (std::uint64_t number = 1; number <= 100; ++number) {
    write(number, number, 300);
    journal_.log->settle();
  }
  faulty::fail_sync(1, EIO);
  journal_.log->release(50);
  journal_.log->settle();
  faulty::heal();
  const auto failed = journal_.write(101);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, FailureKind::io);
}

}  // namespace
}  // namespace conclave::storage
