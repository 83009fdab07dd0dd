#include "sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <queue>
#include <random>
#include <string>

namespace conclave::sim {
namespace {

TEST(EventQueue, IsEmptyAtFirst) {
  EventQueue<int> queue;
  std::uint64_t at = 0;
  int event = 0;
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.pop(at, event));
}

TEST(EventQueue, OrdersByTimeThenByInsertion) {
  EventQueue<std::string> queue;
  queue.push(300, "d");
  queue.push(7, "a");
  queue.push(7, "b");
  queue.push(300, "e");
  queue.push(8, "c");
  std::string order;
  std::string event;
  std::uint64_t at = 0;
  while (queue.pop(at, event)) order += event;
  EXPECT_EQ(order, "abcde");
  EXPECT_EQ(at, 300u);
}

TEST(EventQueue, TakesWhatHappensNow) {
  EventQueue<int> queue;
  std::uint64_t at = 0;
  int event = 0;
  queue.push(5, 1);
  queue.push(5, 2);
  ASSERT_TRUE(queue.pop(at, event));
  queue.push(5, 3);
  EXPECT_EQ(queue.size(), 2u);
  ASSERT_TRUE(queue.pop(at, event));
  EXPECT_EQ(event, 2);
  ASSERT_TRUE(queue.pop(at, event));
  EXPECT_EQ(event, 3);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, RefusesThePast) {
  EventQueue<int> queue;
  std::uint64_t at = 0;
  int event = 0;
  queue.push(10, 1);
  queue.push(20, 2);
  ASSERT_TRUE(queue.pop(at, event));
  EXPECT_THROW(queue.push(9, 3), InvariantViolation);
}

TEST(EventQueue, ReachesTheEndOfTime) {
  EventQueue<int> queue;
  std::uint64_t at = 0;
  int event = 0;
  queue.push(UINT64_MAX, 2);
  queue.push(0, 1);
  queue.push(UINT64_MAX, 3);
  for (const int expected : {1, 2, 3}) {
    ASSERT_TRUE(queue.pop(at, event));
    EXPECT_EQ(event, expected);
  }
  EXPECT_EQ(at, UINT64_MAX);
}

// Text too long to stand inside a std::string: whoever forgets to destroy one leaks.
std::string label(std::uint64_t number) { return "event with a rather long name " + std::to_string(number); }

TEST(EventQueue, AgreesWithAQueueOfNumberedEvents) {
  struct Pending {
    std::uint64_t at;
    std::uint64_t number;
    bool operator>(const Pending& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };
  constexpr std::uint64_t gaps[] = {0, 1, 2, 31, 255, 256, 257, 65535, 65536, 1 << 20, 1ul << 40};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    EventQueue<std::string> ours;
    std::priority_queue<Pending, std::vector<Pending>, std::greater<>> theirs;
    std::uint64_t now = 0;
    std::uint64_t number = 0;
    const std::uint64_t pushes_of_ten = 3 + seed % 5;  // shrinking, steady and growing backlogs
    for (int step = 0; step < 5000; ++step) {
      if (random() % 10 < pushes_of_ten) {
        for (std::uint64_t same = random() % 40 == 0 ? 100 : 1, gap = gaps[random() % std::size(gaps)];
             same > 0; --same) {
          ours.push(now + gap, label(number));
          theirs.push({now + gap, number++});
        }
      } else {
        std::string event;
        ASSERT_EQ(ours.pop(now, event), !theirs.empty());
        if (theirs.empty()) continue;
        ASSERT_EQ(now, theirs.top().at);
        ASSERT_EQ(event, label(theirs.top().number));
        theirs.pop();
      }
      ASSERT_EQ(ours.size(), theirs.size());
    }
  }
}

TEST(EventQueue, DestroysWhatIsLeft) {
  const auto alive = std::make_shared<int>();
  {
    EventQueue<std::shared_ptr<int>> queue;
    for (std::uint64_t i = 0; i < 100; ++i) queue.push(i * i * 100, alive);
    std::uint64_t at = 0;
    std::shared_ptr<int> event;
    for (int i = 0; i < 40; ++i) queue.pop(at, event);
    event.reset();
    EXPECT_EQ(alive.use_count(), 61);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(EventQueue, HoldsEventsThatCannotBeCopied) {
  EventQueue<std::unique_ptr<int>> queue;
  queue.push(2, std::make_unique<int>(2));
  queue.push(1, std::make_unique<int>(1));
  std::uint64_t at = 0;
  std::unique_ptr<int> event;
  ASSERT_TRUE(queue.pop(at, event));
  EXPECT_EQ(*event, 1);
}

}  // namespace
}  // namespace conclave::sim
