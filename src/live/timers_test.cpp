#include "live/timers.hpp"

#include <gtest/gtest.h>

namespace conclave::live {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Rig {
  boost::asio::io_context loop;
  std::vector<int> fired = {};
  Timers<int> timers{loop, 1, [this](const int& key) { fired.push_back(key); }, milliseconds(1)};
};

TEST(Timers, FireInTheOrderOfTheirTimes) {
  Rig rig;
  rig.timers.arm(3, {{6}, {6}});
  rig.timers.arm(1, {{2}, {2}});
  rig.timers.arm(2, {{4}, {4}});
  rig.loop.run();
  EXPECT_EQ(rig.fired, (std::vector{1, 2, 3}));
  EXPECT_FALSE(rig.timers.armed(1));
}

TEST(Timers, NeverFireEarly) {
  Rig rig;
  const auto begin = std::chrono::steady_clock::now();
  rig.timers.arm(1, {{5}, {9}});
  EXPECT_GE(rig.timers.due(1), begin + milliseconds(5));
  EXPECT_LE(rig.timers.due(1), std::chrono::steady_clock::now() + milliseconds(9));
  rig.loop.run();
  EXPECT_GE(std::chrono::steady_clock::now(), begin + milliseconds(5));
  EXPECT_EQ(rig.fired, std::vector{1});
}

TEST(Timers, ArmingAgainStartsAnew) {
  Rig rig;
  rig.timers.arm(1, {{1}, {1}});
  rig.timers.arm(2, {{3}, {3}});
  rig.timers.arm(1, {{6}, {6}});  // later
  rig.timers.arm(3, {{60'000}, {60'000}});
  rig.timers.arm(3, {{4}, {4}});  // earlier
  rig.loop.run_for(milliseconds(200));
  EXPECT_EQ(rig.fired, (std::vector{2, 3, 1}));
}

TEST(Timers, WhatIsDisarmedDoesNotFire) {
  Rig rig;
  rig.timers.arm(1, {{1}, {1}});
  rig.timers.arm(2, {{2}, {2}});
  rig.timers.disarm(1);
  rig.timers.disarm(7);  // never armed
  EXPECT_FALSE(rig.timers.armed(1));
  rig.loop.run();
  EXPECT_EQ(rig.fired, std::vector{2});
}

TEST(Timers, DisarmedAndArmedAgainFireOnce) {
  Rig rig;
  rig.timers.arm(1, {{1}, {1}});
  rig.timers.disarm(1);
  rig.timers.arm(1, {{3}, {3}});
  rig.loop.run();
  EXPECT_EQ(rig.fired, std::vector{1});
}

TEST(Timers, MayArmThemselvesWhenTheyFire) {
  boost::asio::io_context loop;
  int rounds = 0;
  std::unique_ptr<Timers<int>> timers;
  timers = std::make_unique<Timers<int>>(loop, 1, [&](const int& key) {
    if (++rounds < 5) timers->arm(key, {{1}, {2}});
  });
  timers->arm(1, {{1}, {1}});
  loop.run();
  EXPECT_EQ(rounds, 5);
}

TEST(Timers, DrawFromTheirSeed) {
  boost::asio::io_context loop;
  const auto draws = [&](std::uint64_t seed) {
    Timers<int> timers(
        loop, seed, [](const int&) {}, std::chrono::hours(1));
    std::vector<std::int64_t> hours;
    for (int key = 0; key < 20; ++key) {
      timers.arm(key, {{100}, {200}});
      const auto after = timers.due(key) - std::chrono::steady_clock::now();
      hours.push_back(std::chrono::round<std::chrono::hours>(after).count());
    }
    return hours;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(Timers, WhatWasDisarmedIsNotKeptUntilItIsDue) {
  boost::asio::io_context loop;
  std::vector<std::pair<int, int>> fired;
  Timers<std::pair<int, int>> timers(
      loop, 1, [&](const auto& key) { fired.push_back(key); }, std::chrono::microseconds(1));
  timers.arm({0, 7}, {{2000}, {2000}});
  for (int instance = 1; instance <= 100'000; ++instance) {
    for (int timer = 0; timer < 3; ++timer) timers.arm({instance, timer}, {{900'000'000}, {900'000'000}});
    timers.disarm({instance, 0});
    timers.disarm({instance, 1}, {instance + 1, 0});
    ASSERT_LT(timers.kept(), 5000u);
  }
  for (int i = 0; i < 200 && fired.empty(); ++i) loop.run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(fired, (std::vector<std::pair<int, int>>{{0, 7}}));
}

TEST(Timers, GoneTimersDoNotFire) {
  boost::asio::io_context loop;
  bool fired = false;
  {
    Timers<int> timers(
        loop, 1, [&](const int&) { fired = true; }, microseconds(1));
    timers.arm(1, {{1}, {1}});
  }
  loop.run();
  EXPECT_FALSE(fired);
}

}  // namespace
}  // namespace conclave::live
