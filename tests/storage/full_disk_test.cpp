// A disk that is really full, and a file that may not grow: what the system says there reaches the owner.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <csignal>

#include <thread>

#include "journal.hpp"
#include "storage/flusher.hpp"

namespace conclave::storage {
namespace {

// A file system of one mebibyte, where we may mount one.
class SmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      GTEST_SKIP() << "only root may mount a small disk";
    mounted_ = true;
  }
  void TearDown() override {
    log_.reset();
    directory_.reset();
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  void open(std::uint64_t reserve_bytes) {
    auto directory = Directory::open(folder_.file("data"), {.reserve_bytes = reserve_bytes});
    ASSERT_TRUE(directory) << directory.error().text;
    directory_ = std::move(*directory);
    auto log = SegmentedLog::open(*directory_, options_, [&](const Replayed& record) { replay_(record); });
    ASSERT_TRUE(log) << log.error().text;
    log_ = std::move(*log);
  }
  Result<void> write(std::uint64_t number) {
    const auto bytes = numbered(number, 4000);
    log_->append({bytes}, number);
    return log_->sync();
  }
  std::string newest_segment() const { return directory_->names_with("log-")->back(); }
  // Writes until the disk is full, and says how many records are durable.
  std::uint64_t fill() {
    for (std::uint64_t number = 1; number < 1000; ++number) {
      auto done = write(number);
      if (!done) {  // the next segment may have been half made, and gave its space back
        log_->settle();
        done = log_->sync();
      }
      if (done) continue;
      EXPECT_EQ(done.error().kind, FailureKind::no_space) << done.error().text;
      EXPECT_NE(done.error().text.find("free some space"), std::string::npos) << done.error().text;
      return number - 1;
    }
    ADD_FAILURE() << "the disk was never full";
    return 0;
  }

  cli::TemporaryFolder folder_;
  bool mounted_ = false;
  const LogOptions options_ = {
      .segment_bytes = 64 * 1024, .first_segment_bytes = 16 * 1024, .most_spares = 1};
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<SegmentedLog> log_;
  Replay replay_;
};

TEST_F(SmallDisk, TakesTheSameBatchWhenThereIsSpaceAgain) {
  open(256 * 1024);
  const std::uint64_t durable = fill();
  ASSERT_GT(durable, 50u);
  EXPECT_FALSE(log_->sync()) << "still full";
  ASSERT_TRUE(directory_->release_reserve());
  auto done = log_->sync();
  if (!done) {  // the next segment was being made when there was no space yet
    log_->settle();
    done = log_->sync();
  }
  ASSERT_TRUE(done) << done.error().text;
  ASSERT_TRUE(log_->seal());
  log_.reset();
  directory_.reset();
  open(0);
  EXPECT_EQ(replay_.numbers, range(1, durable + 1));
}

// The batch does not fit where it was begun, but the next segment became ready meanwhile.
TEST_F(SmallDisk, FinishesInTheNextSegmentWhatItBeganInThisOne) {
  const std::string ballast = folder_.file("ballast");
  ASSERT_TRUE(File::open(ballast, O_WRONLY | O_CREAT)->write_zeros(0, 400 * 1024));
  open(128 * 1024);
  const std::uint64_t durable = fill();
  const auto large = numbered(durable + 2, 300'000);
  log_->append({large}, durable + 2);
  const std::string before = newest_segment();
  ASSERT_TRUE(directory_->release_reserve());
  while (newest_segment() == before) {  // the next one is tried again once in a second
    EXPECT_FALSE(log_->sync());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::filesystem::remove(ballast);
  const auto done = log_->sync();
  ASSERT_TRUE(done) << done.error().text;
  log_.reset();
  directory_.reset();
  open(0);
  EXPECT_EQ(replay_.numbers, range(1, durable + 2));
}

TEST_F(SmallDisk, KeepsWhatWasDurableWhenItIsFull) {
  open(0);
  const std::uint64_t durable = fill();
  log_.reset();
  directory_.reset();
  open(0);
  EXPECT_GE(replay_.numbers.size(), durable);
  EXPECT_EQ(replay_.numbers, range(1, replay_.numbers.size()));
}

TEST_F(SmallDisk, WithoutRoomForTheReserveIsRefused) {
  const auto directory = Directory::open(folder_.file("data"), {.reserve_bytes = 8 << 20});
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, FailureKind::no_space);
  EXPECT_NE(directory.error().text.find("8388608 bytes are needed"), std::string::npos)
      << directory.error().text;
}

TEST_F(SmallDisk, MakesAFlusherWaitUntilThereIsRoom) {
  open(256 * 1024);
  std::atomic<std::uint64_t> durable = 0;
  std::atomic<int> asked = 0;
  std::atomic<int> went_on = 0;
  std::atomic<bool> failed = false;
  std::uint64_t last = 0;
  {
    Flusher flusher(std::move(log_), {.retry_after = std::chrono::milliseconds(10)},
                    {.durable = [&](std::uint64_t upto) { durable = upto; },
                     .failed = [&](const Failure&) { failed = true; },
                     .waits =
                         [&](const Failure&) {
                           ++asked;
                           EXPECT_TRUE(directory_->release_reserve());
                         },
                     .goes_on = [&] { ++went_on; }});
    for (std::uint64_t number = 1; number < 1000 && asked == 0; ++number) {
      const auto bytes = numbered(number, 4000);
      flusher.append({bytes}, number);
      last = flusher.submit();
      while (durable < last) std::this_thread::yield();
    }
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(went_on, 1);
  EXPECT_FALSE(failed);
  EXPECT_EQ(durable, last);
  directory_.reset();
  open(0);
  EXPECT_EQ(replay_.numbers, range(1, last));
}

TEST(FileThatMayNotGrow, StopsTheLogForGood) {
  Journal journal;
  journal.options.segment_bytes = 1 << 20;
  ASSERT_TRUE(journal.open());
  journal.log->settle();
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small_files = {.rlim_cur = 6 * 1024, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small_files);
  Result<void> done = {};
  std::uint64_t durable = 0;
  for (; done && durable < 100; ++durable) done = journal.write(durable + 1);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, FailureKind::io);
  EXPECT_FALSE(journal.write(200)) << "although the limit is gone";
  ASSERT_TRUE(journal.open());
  EXPECT_EQ(journal.replay.numbers, range(1, durable - 1));
}

}  // namespace
}  // namespace conclave::storage
