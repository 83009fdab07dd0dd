// Once everything has grown, a record costs no allocation.
#include <gtest/gtest.h>

#include <thread>

#include "cli/temporary_folder.hpp"
#include "counted_new.hpp"
#include "storage/flusher.hpp"

namespace conclave::storage {
namespace {

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = Directory::open(folder_.file("data"), {.reserve_bytes = 0});
    ASSERT_TRUE(directory);
    directory_ = std::move(*directory);
    auto log = SegmentedLog::open(*directory_, {}, [](const Replayed&) {});
    ASSERT_TRUE(log);
    log_ = std::move(*log);
    log_->settle();
  }
  cli::TemporaryFolder folder_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<SegmentedLog> log_;
  const std::array<std::byte, 300> record_ = {};
};

TEST_F(Allocations, OfTheLogAreNoneInASteadyState) {
  log_->set_preamble(ByteView(record_).first(16));
  const auto round = [&] {
    for (std::uint64_t i = 0; i < 20; ++i) {
      for (int k = 0; k < 5; ++k)
        log_->append({ByteView(record_).first(20), ByteView(record_).subspan(20)}, i);
      ASSERT_TRUE(log_->sync());
    }
  };
  round();
  bench::start_counting();
  round();
  bench::stop_counting();
  EXPECT_EQ(bench::counted().count, 0u);
}

TEST_F(Allocations, OfTheFlusherAreNoneInASteadyState) {
  std::atomic<std::uint64_t> durable = 0;
  Flusher flusher(std::move(log_), {.seal_after = std::chrono::hours(1)},
                  {.durable = [&](std::uint64_t upto) { durable = upto; }, .failed = [](const Failure&) {}});
  const auto round = [&] {
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 5; ++k) flusher.append({record_}, 1);
      const std::uint64_t ticket = flusher.submit();
      while (durable < ticket) std::this_thread::yield();
    }
  };
  round();
  bench::start_counting();
  round();
  bench::stop_counting();
  EXPECT_EQ(bench::counted().count, 0u);
}

}  // namespace
}  // namespace conclave::storage
