// What a disk and a system may answer, at every call: what passes is waited for, an interruption is not
// noticed, and after anything else the log is at its end. Nothing that was reported durable is ever missing.
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <thread>

#include "faulty_disk.hpp"
#include "journal.hpp"
#include "storage/flusher.hpp"
#include "storage/snapshots.hpp"

namespace conclave::storage {
namespace {

// The process may open no file more, as if others had taken all there are; or as if they took those, too,
// that it closes.
class NoDescriptors {
 public:
  enum class Others { have_all, take_all };
  explicit NoDescriptors(Others others = Others::have_all) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = ::dup(STDIN_FILENO);
    ::close(lowest);
    const auto most = static_cast<rlim_t>(others == Others::take_all ? 0 : lowest);
    const rlimit none = {.rlim_cur = most, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

constexpr LogOptions impatient = {.segment_bytes = 16 * 1024,
                                  .first_segment_bytes = 8 * 1024,
                                  .most_spares = 2,
                                  .retry_after = std::chrono::milliseconds(1)};

class Scarcity : public testing::Test {
 protected:
  void SetUp() override { journal_.options = impatient; }
  void TearDown() override { faulty::heal(); }
  void open() {
    const auto opened = journal_.open();
    ASSERT_TRUE(opened) << opened.error().text;
  }
  Journal journal_;
};

TEST_F(Scarcity, OfDescriptorsDoesNotKeepALogFromRolling) {
  open();
  journal_.log->settle();
  {
    const NoDescriptors none;
    EXPECT_FALSE(File::open("/dev/null", O_RDONLY)) << "there is really none";
    for (std::uint64_t number = 1; number <= 400; ++number) {
      const auto done = journal_.write(number, 300);
      ASSERT_TRUE(done) << done.error().text;
      journal_.log->settle();
    }
    EXPECT_GE(journal_.log->status().segments, 8u);
    EXPECT_FALSE(journal_.log->status().supply) << "one is ready";
  }
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 400));
}

// Nothing is kept back: so it has to wait.
TEST_F(Scarcity, OfDescriptorsMakesALogWaitThatHasNoneKeptBack) {
  journal_.directory_options.spare_descriptors = 0;
  open();
  journal_.log->settle();
  std::atomic<std::uint64_t> durable = 0;
  std::atomic<int> waits = 0;
  std::atomic<int> went_on = 0;
  std::atomic<int> failures = 0;
  std::uint64_t last = 0;
  auto none = std::make_unique<NoDescriptors>(NoDescriptors::Others::take_all);
  {
    Flusher flusher(std::move(journal_.log), {.retry_after = std::chrono::milliseconds(1)},
                    {.durable = [&](std::uint64_t upto) { durable = upto; },
                     .failed = [&](const Failure&) { ++failures; },
                     .waits =
                         [&](const Failure& why) {
                           EXPECT_EQ(why.kind, FailureKind::no_descriptor);
                           EXPECT_NE(why.text.find("raise the limit of open files"), std::string::npos)
                               << why.text;
                           ++waits;
                         },
                     .goes_on = [&] { ++went_on; }});
    while (last < 5000 && waits == 0 && failures == 0) {
      const auto bytes = numbered(++last, 300);
      flusher.append({bytes}, last);
      flusher.submit();
      while (durable < last && waits == 0 && failures == 0) std::this_thread::yield();
    }
    EXPECT_EQ(waits, 1);
    EXPECT_LT(durable, last);
    none.reset();
    while (durable < last && failures == 0) std::this_thread::yield();
    EXPECT_EQ(went_on, 1);
  }
  EXPECT_EQ(failures, 0);
  journal_.directory.reset();
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, last));
}

TEST_F(Scarcity, OfDescriptorsLetsASnapshotBeWrittenAndRead) {
  open();
  const NoDescriptors none;
  const auto snapshots = Snapshots::open(*journal_.directory);
  ASSERT_TRUE(snapshots) << snapshots.error().text;
  for (std::uint64_t tag = 1; tag <= 10; ++tag) {
    auto writer = snapshots->begin({.tag = tag});
    ASSERT_TRUE(writer) << writer.error().text;
    ASSERT_TRUE(writer->append(view_of("state")));
    const auto done = writer->finish();
    ASSERT_TRUE(done) << done.error().text;
    const auto reader = snapshots->newest();
    ASSERT_TRUE(reader && *reader);
  }
}

// --- every call, every error ---

// A life of a log: records in small segments, old ones released, snapshots. What is put off is tried again.
// Returns up to which record it was told that they are durable.
std::uint64_t live(Journal& journal, std::uint64_t from, std::uint64_t to) {
  const auto snapshots = Snapshots::open(*journal.directory);
  std::uint64_t durable = from - 1;
  for (std::uint64_t number = from; number <= to; ++number) {
    journal.append(number, 500);
    auto done = journal.log->sync();
    for (int tries = 0; !done && done.error().passes() && tries < 1000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      done = journal.log->sync();
    }
    if (!done) return durable;
    durable = number;
    if (number % 8 == 0) journal.log->settle();
    if (number % 20 != 0) continue;
    if (snapshots)
      if (auto writer = snapshots->begin({.tag = number}); writer && writer->append(view_of("state")))
        (void)writer->finish();
    journal.log->release(number - 10);
  }
  return durable;
}

void expect_all(Journal& journal, std::uint64_t durable) {
  faulty::heal();
  const auto opened = journal.open();
  ASSERT_TRUE(opened) << opened.error().text;
  const auto& seen = journal.replay.numbers;
  EXPECT_GE(seen.empty() ? 0 : seen.back(), durable);
  if (!seen.empty()) {
    EXPECT_EQ(seen, range(seen.front(), seen.back()));
  }
}

struct Refusal {
  faulty::Call call;
  int error;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  static constexpr std::array names = {"open", "read", "write", "rename", "remove"};
  return out << names[static_cast<std::size_t>(refusal.call)] << ": " << std::strerror(refusal.error);
}

class Passing : public testing::TestWithParam<Refusal> {
 protected:
  void TearDown() override { faulty::heal(); }
};
INSTANTIATE_TEST_SUITE_P(
    Everywhere, Passing,
    testing::Values(Refusal{faulty::Call::open, EMFILE}, Refusal{faulty::Call::open, ENFILE},
                    Refusal{faulty::Call::open, ENOMEM}, Refusal{faulty::Call::open, ENOSPC},
                    Refusal{faulty::Call::write, ENOSPC}, Refusal{faulty::Call::write, ENOMEM},
                    Refusal{faulty::Call::write, EDQUOT}, Refusal{faulty::Call::rename, ENOSPC},
                    Refusal{faulty::Call::rename, ENOMEM}, Refusal{faulty::Call::remove, ENOSPC},
                    Refusal{faulty::Call::remove, ENOMEM}));

TEST_P(Passing, RefusalIsWaitedForWhereverItComes) {
  int struck = 0;
  for (int nth = 1; nth <= 40; ++nth) {
    SCOPED_TRACE(nth);
    Journal journal;
    journal.options = impatient;
    ASSERT_TRUE(journal.open());
    faulty::fail(GetParam().call, nth, 1 + nth % 5, GetParam().error);
    const std::uint64_t durable = live(journal, 1, 60);
    struck += faulty::struck() > 0;
    EXPECT_EQ(durable, 60u) << "it ended instead of waiting";
    expect_all(journal, durable);
    if (HasFailure()) return;
  }
  EXPECT_GE(struck, 2) << "so many of the calls there really are";
}

class Final : public testing::TestWithParam<Refusal> {
 protected:
  void TearDown() override { faulty::heal(); }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Final,
                         testing::Values(Refusal{faulty::Call::open, EIO}, Refusal{faulty::Call::write, EIO},
                                         Refusal{faulty::Call::rename, EIO},
                                         Refusal{faulty::Call::remove, EIO}));

TEST_P(Final, FailureLosesNothingThatWasReportedDurable) {
  for (int nth = 1; nth <= 40; ++nth) {
    SCOPED_TRACE(nth);
    Journal journal;
    journal.options = impatient;
    ASSERT_TRUE(journal.open());
    faulty::fail(GetParam().call, nth, 1, GetParam().error);
    const std::uint64_t durable = live(journal, 1, 60);
    expect_all(journal, durable);
    if (HasFailure()) return;
  }
}

TEST_F(Scarcity, AFailedWriteOfABatchIsTheEnd) {
  open();
  journal_.log->settle();
  faulty::fail(faulty::Call::write, 1, 1, EIO);
  const auto failed = journal_.write(1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, FailureKind::io);
  EXPECT_NE(failed.error().text.find("log-0000000000000001 at byte 4096"), std::string::npos)
      << failed.error().text;
  EXPECT_FALSE(journal_.write(2)) << "although the disk says that it is well again";
  EXPECT_FALSE(journal_.log->seal());
}

TEST_F(Scarcity, AFailedReadAtTheStartNamesFileAndByte) {
  open();
  ASSERT_TRUE(journal_.write(1));
  journal_.close();
  std::string text;
  for (int nth = 1; nth < 10; ++nth) {
    faulty::fail(faulty::Call::read, nth, 1, EIO);
    const auto opened = journal_.open();
    const bool struck = faulty::struck() > 0;
    faulty::heal();
    if (!struck) break;
    ASSERT_FALSE(opened) << nth;
    EXPECT_EQ(opened.error().kind, FailureKind::io);
    EXPECT_NE(opened.error().text.find("cannot read " + journal_.path()), std::string::npos)
        << opened.error().text;
    EXPECT_NE(opened.error().text.find("at byte"), std::string::npos) << opened.error().text;
    text += opened.error().text;
  }
  EXPECT_NE(text.find("VERSION"), std::string::npos);
  EXPECT_NE(text.find("log-0000000000000001"), std::string::npos);
  EXPECT_NE(text.find(watermark_file), std::string::npos);
  open();
  EXPECT_EQ(journal_.replay.numbers, range(1, 1));
}

TEST_F(Scarcity, AnInterruptedCallIsNotNoticed) {
  faulty::interrupt();
  for (std::uint64_t life = 0; life < 3; ++life) {
    open();
    EXPECT_EQ(live(journal_, life * 40 + 1, life * 40 + 40), life * 40 + 40);
    ASSERT_TRUE(journal_.log->seal());
  }
  EXPECT_GT(faulty::struck(), 300u);
  open();
  EXPECT_EQ(journal_.replay.numbers.back(), 120u);
}

TEST_F(Scarcity, ACallThatTakesLessThanItWasGivenIsNotNoticed) {
  faulty::shorten();
  for (std::uint64_t life = 0; life < 3; ++life) {
    open();
    EXPECT_EQ(live(journal_, life * 40 + 1, life * 40 + 40), life * 40 + 40);
  }
  EXPECT_GT(faulty::struck(), 300u);
  open();
  EXPECT_EQ(journal_.replay.numbers.back(), 120u);
}

}  // namespace
}  // namespace conclave::storage
