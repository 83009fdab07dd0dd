// Power cuts: thousands of crashes in the middle of writes, of repairs and of repairs of repairs, each losing
// any of the sectors that were under way. Nothing that was reported durable is ever missing.
#include <random>

#include "faulty_disk.hpp"
#include "journal.hpp"

namespace conclave::storage {
namespace {

// Runs a log until its power is cut, and remembers what it was promised.
class Machine {
 public:
  explicit Machine(std::uint64_t seed) : random_(seed) {}

  // One life: open, check, write, die. True if it died in a write that was ours.
  void live() {
    const double share = std::uniform_real_distribution(0.0, 1.0)(random_);
    faulty::crash_in_write(draw(1, 25),
                           [this, share] { return std::bernoulli_distribution(share)(random_); });
    try {
      const auto opened = journal_.open();
      ASSERT_TRUE(opened) << opened.error().text;
      check_replay();
      if (draw(1, 4) == 1) journal_.log->settle();  // not always: the segment may have to grow
      for (int batches = draw(0, 30); batches > 0; --batches) write_batch();
      ++ends_;
    } catch (const faulty::Crash&) {
      ++crashes_;
    }
    faulty::heal();
    journal_.close();
  }

  int crashes() const { return crashes_; }
  int repairs() const { return repairs_; }
  std::uint64_t written() const { return durable_; }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  // Everything durable is there, then possibly some of what was under way, in order, and nothing else.
  void check_replay() {
    const auto& seen = journal_.replay.numbers;
    const std::uint64_t last = seen.empty() ? 0 : seen.back();
    ASSERT_GE(last, durable_);
    ASSERT_LE(last, under_way_);
    if (!seen.empty()) {
      ASSERT_LE(seen.front(), released_ + 1);
      ASSERT_EQ(seen, range(seen.front(), last));
    }
    if (!journal_.log->repaired().empty()) ++repairs_;
    durable_ = under_way_ = last;
  }

  void write_batch() {
    for (int records = draw(1, 6); records > 0; --records)
      journal_.append(++under_way_, static_cast<std::size_t>(draw(0, draw(1, 5) == 1 ? 4000 : 300)));
    const auto done = journal_.log->sync();
    ASSERT_TRUE(done) << done.error().text;
    durable_ = under_way_;
    ASSERT_TRUE(draw(1, 10) != 1 || journal_.log->seal());
    if (draw(1, 10) != 1 || durable_ < 50) return;
    released_ = durable_ - 50;
    journal_.log->release(released_);
  }

  std::mt19937_64 random_;
  Journal journal_;
  std::uint64_t durable_ = 0;    // up to this record, we were told
  std::uint64_t under_way_ = 0;  // up to this one, it was written
  std::uint64_t released_ = 0;
  int crashes_ = 0;
  int repairs_ = 0;
  int ends_ = 0;
};

TEST(PowerCut, LosesNothingThatWasReportedDurable) {
  int crashes = 0;
  int repairs = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Machine machine(seed);
    for (int life = 0; life < 100; ++life) {
      machine.live();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(machine.written(), 100u);
    crashes += machine.crashes();
    repairs += machine.repairs();
  }
  EXPECT_GT(crashes, 1000);
  EXPECT_GT(repairs, 200);
}

// Every write of a repair, cut with every half of its sectors lost, still leaves a log that opens.
TEST(PowerCut, DuringARepairIsRepairedToo) {
  for (int lost = 0; lost < 2; ++lost)
    for (int nth = 1; nth <= 4; ++nth) {
      Journal journal;
      ASSERT_TRUE(journal.open());
      ASSERT_TRUE(journal.write(1));
      int sector = 0;
      for (std::uint64_t number = 2; number < 12; ++number) journal.append(number, 300);
      faulty::crash_in_write(1, [&] { return ++sector % 3 != 0; });
      EXPECT_THROW((void)journal.log->sync(), faulty::Crash);
      journal.close();
      faulty::crash_in_write(nth, [&] { return ++sector % 2 == lost; });
      try {
        ASSERT_TRUE(journal.open());
      } catch (const faulty::Crash&) {
        journal.close();
      }
      faulty::heal();
      const auto opened = journal.open();
      ASSERT_TRUE(opened) << opened.error().text;
      ASSERT_GE(journal.replay.numbers.size(), 1u);
      const std::uint64_t next = journal.replay.numbers.size() + 1;
      ASSERT_TRUE(journal.write(next));
      ASSERT_TRUE(journal.open());
      EXPECT_EQ(journal.replay.numbers, range(1, next));
    }
}

}  // namespace
}  // namespace conclave::storage
