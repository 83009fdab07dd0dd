// One fdatasync covers what came while the previous one ran; who fails says so once.
#include "storage/flusher.hpp"

#include <cerrno>
#include <fstream>
#include <semaphore>
#include <thread>

#include "faulty_disk.hpp"
#include "journal.hpp"

namespace conclave::storage {
namespace {

// An owner that only listens.
struct Owner {
  std::atomic<std::uint64_t> durable = 0;
  std::atomic<int> failures = 0;
  std::atomic<bool> went_back = false;

  Flusher::Events events() {
    return {.durable =
                [this](std::uint64_t upto) {
                  if (upto <= durable.exchange(upto)) went_back = true;
                },
            .failed = [this](const Failure&) { ++failures; }};
  }
  void wait_for(std::uint64_t number) const {
    while (durable < number && failures == 0) std::this_thread::yield();
  }
};

class FlusherTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto opened = journal_.open();
    ASSERT_TRUE(opened) << opened.error().text;
    journal_.log->settle();
  }
  void TearDown() override { faulty::heal(); }
  std::uint64_t put(Flusher& flusher, std::uint64_t number, std::size_t extra = 100) {
    const auto bytes = numbered(number, extra);
    flusher.append({bytes}, number);
    return flusher.submit();
  }
  Journal journal_;
  Owner owner_;
};

TEST_F(FlusherTest, ReportsEverythingDurableThatWasSubmitted) {
  {
    Flusher flusher(std::move(journal_.log), {}, owner_.events());
    for (std::uint64_t number = 1; number <= 200; ++number) {
      const std::uint64_t ticket = put(flusher, number);
      EXPECT_EQ(ticket, number);
      if (number % 7 == 0) owner_.wait_for(ticket);
    }
  }
  EXPECT_EQ(owner_.durable, 200u) << "the end waits for what was submitted";
  EXPECT_FALSE(owner_.went_back);
  EXPECT_EQ(owner_.failures, 0);
  ASSERT_TRUE(journal_.open());
  EXPECT_EQ(journal_.replay.numbers, range(1, 200));
}

TEST_F(FlusherTest, CoversManySubmissionsWithOneSync) {
  // While the first batch is being reported, 1,999 more are submitted.
  std::binary_semaphore reported(0);
  std::binary_semaphore go_on(0);
  Flusher::Events events = owner_.events();
  events.durable = [&, told = events.durable](std::uint64_t upto) {
    told(upto);
    if (upto != 1) return;
    reported.release();
    go_on.acquire();
  };
  Flusher flusher(std::move(journal_.log), {}, events);
  put(flusher, 1);
  reported.acquire();
  for (std::uint64_t number = 2; number <= 2000; ++number) put(flusher, number, 0);
  go_on.release();
  owner_.wait_for(2000);
  EXPECT_EQ(flusher.latencies().count(), 2u);
}

TEST_F(FlusherTest, WorksTheSameWhenItSpins) {
  Flusher flusher(std::move(journal_.log), {.spin = std::chrono::microseconds(50)}, owner_.events());
  for (std::uint64_t number = 1; number <= 200; ++number) owner_.wait_for(put(flusher, number));
  EXPECT_EQ(owner_.durable, 200u);
}

TEST_F(FlusherTest, FailsOnceAndForEver) {
  faulty::fail_sync(3, EIO);
  std::uint64_t durable = 0;
  {
    Flusher flusher(std::move(journal_.log), {}, owner_.events());
    for (std::uint64_t number = 1; number <= 50 && owner_.failures == 0; ++number)
      owner_.wait_for(put(flusher, number));
    durable = owner_.durable;
    faulty::heal();
    for (std::uint64_t number = 51; number <= 60; ++number) put(flusher, number);
  }
  EXPECT_EQ(owner_.failures, 1);
  EXPECT_EQ(durable, 2u);
  EXPECT_EQ(owner_.durable, 2u) << "nothing is durable after a failure";
}

TEST_F(FlusherTest, SealsWhenItHasNothingToDo) {
  Flusher flusher(std::move(journal_.log), {.seal_after = std::chrono::milliseconds(1)}, owner_.events());
  const std::uint64_t before = faulty::syncs();
  owner_.wait_for(put(flusher, 1));
  while (faulty::syncs() < before + 2) std::this_thread::yield();
}

TEST_F(FlusherTest, SealsWhenItEnds) {
  {
    Flusher flusher(std::move(journal_.log), {.seal_after = std::chrono::hours(1)}, owner_.events());
    put(flusher, 1);
  }
  journal_.close();
  const std::string path = journal_.file("log-0000000000000001");
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(segment_head_bytes + 32 + record_head_bytes + 20);
    file.put('!');
  }
  const auto opened = journal_.open();
  ASSERT_FALSE(opened) << "the only record is not taken for a write that did not arrive";
  EXPECT_EQ(opened.error().kind, FailureKind::damaged);
}

TEST_F(FlusherTest, ReleasesSegmentsAndShowsWhatIsLeft) {
  std::string preamble;
  {
    Flusher flusher(std::move(journal_.log), {}, owner_.events());
    for (std::uint64_t number = 1; number <= 1000; ++number) {
      owner_.wait_for(put(flusher, number, 300));
      preamble = "after " + std::to_string(number);
      flusher.set_preamble(view_of(preamble));
      if (number % 50 == 0) flusher.release(number);
    }
    EXPECT_LT(flusher.status().segments, 10u);
    EXPECT_FALSE(flusher.congested());
  }
  ASSERT_TRUE(journal_.open());
  const auto& seen = journal_.replay;
  ASSERT_FALSE(seen.numbers.empty());
  EXPECT_EQ(seen.numbers, range(seen.numbers.front(), 1000));
  ASSERT_FALSE(seen.preambles.empty());
  EXPECT_EQ(seen.preambles.front(), "after " + std::to_string(seen.numbers.front() - 1));
}

TEST_F(FlusherTest, SaysWhenTooMuchWaits) {
  Flusher flusher(std::move(journal_.log), {.congested_bytes = 1000}, owner_.events());
  for (std::uint64_t number = 1; number <= 20; ++number) flusher.append({bytes_of(number)}, number);
  EXPECT_FALSE(flusher.congested());
  for (std::uint64_t number = 21; number <= 100; ++number) flusher.append({bytes_of(number)}, number);
  EXPECT_TRUE(flusher.congested());
  owner_.wait_for(flusher.submit());
  EXPECT_FALSE(flusher.congested());
}

}  // namespace
}  // namespace conclave::storage
