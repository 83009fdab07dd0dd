#include "live/register_mutex.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <vector>

#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"

namespace conclave::live {
namespace {

using namespace std::chrono_literals;

template <class P>
class RegisterMutexOf : public testing::Test {};
using Programs = testing::Types<registers::Bakery, registers::Dijkstra>;
TYPED_TEST_SUITE(RegisterMutexOf, Programs);

// Two cells, and no atomics: torn or lost updates show.
struct Counter {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t fence = 0;
};

TYPED_TEST(RegisterMutexOf, ThreadsLoseNoUpdates) {
  constexpr std::uint32_t threads = 3;
  constexpr std::uint64_t rounds = 300;
  RegisterMutex<TypeParam> lock(threads);
  Counter counter;
  bool orderly = true;
  std::barrier together(threads);
  {
    std::vector<std::jthread> crowd;
    for (std::uint32_t i = 0; i < threads; ++i) {
      crowd.emplace_back([&] {
        auto mine = lock.join();
        together.arrive_and_wait();
        for (std::uint64_t round = 0; round < rounds; ++round) {
          const std::scoped_lock guard(*mine);
          if (round % 16 == 0) std::this_thread::yield();  // for the others to come and find us inside
          orderly = orderly && counter.first == counter.second && mine->fence() == counter.fence + 1;
          ++counter.first;
          counter.fence = mine->fence();
          ++counter.second;
        }
      });
    }
  }
  EXPECT_TRUE(orderly);
  EXPECT_EQ(counter.first, threads * rounds);
}

TYPED_TEST(RegisterMutexOf, TryLockFailsWhileAnotherIsInsideAndLeavesNoTrace) {
  RegisterMutex<TypeParam> lock(2);
  auto one = lock.join();
  auto two = lock.join();
  EXPECT_TRUE(two->try_lock());
  EXPECT_FALSE(one->try_lock());
  EXPECT_FALSE(one->try_lock_for(2ms));
  two->unlock();
  EXPECT_TRUE(one->try_lock());
  one->unlock();
  EXPECT_TRUE(two->try_lock_for(1s));
  two->unlock();
}

TYPED_TEST(RegisterMutexOf, ThreadsThatTryLoseNoUpdatesEither) {
  RegisterMutex<TypeParam> lock(2);
  std::uint64_t counter = 0;
  std::atomic<std::uint64_t> successes = 0;
  {
    std::vector<std::jthread> pair;
    for (int i = 0; i < 2; ++i) {
      pair.emplace_back([&] {
        auto mine = lock.join();
        for (int round = 0; round < 3'000; ++round) {
          const std::unique_lock guard(*mine, std::try_to_lock);
          if (!guard) continue;
          ++counter;
          ++successes;
        }
      });
    }
  }
  EXPECT_EQ(counter, successes);
  EXPECT_GT(successes, 0u);
}

TYPED_TEST(RegisterMutexOf, HasAPlaceForEachAndSaysSoWhenTheyAreTaken) {
  RegisterMutex<TypeParam> lock(2);
  {
    const auto one = lock.join();
    const auto two = lock.join();
    EXPECT_NE(one->id(), two->id());
    const auto three = lock.join();
    ASSERT_FALSE(three);
    EXPECT_EQ(three.error(), "all 2 places of the lock are taken");
  }
  EXPECT_TRUE(lock.join());
}

TYPED_TEST(RegisterMutexOf, RefusesToBeReleasedByWhoIsOutside) {
  RegisterMutex<TypeParam> lock(1);
  auto mine = lock.join();
  EXPECT_THROW(mine->unlock(), InvariantViolation);
  mine->lock();
  EXPECT_THROW(mine->lock(), InvariantViolation);
  mine->unlock();
}

TEST(Perform, ReadsAndWritesAndNothingThatNoHardwareDoes) {
  RegisterCell cells[2];
  perform(cells, Access::write(1, 7, Order::fenced));
  EXPECT_EQ(perform(cells, Access::read(1, Order::acquire)), 7u);
  EXPECT_EQ(perform(cells, Access{}), 0u);
  EXPECT_THROW(perform(cells, Access::read_via(0, 1, Order::relaxed)), InvariantViolation);
}

}  // namespace
}  // namespace conclave::live
