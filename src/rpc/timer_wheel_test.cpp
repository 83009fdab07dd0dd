#include "rpc/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;

struct Alarm final : Timed {
  std::function<void()> then = {};
  std::optional<Clock::time_point> rang = {};
  void expired() override {
    rang = Clock::now();
    if (then) then();
  }
};

TEST(TimerWheel, FiresInOrderAndNeverEarly) {
  boost::asio::io_context loop;
  TimerWheel wheel(loop);
  std::vector<Alarm> alarms(4);
  std::vector<std::size_t> order;
  const auto begin = Clock::now();
  const std::chrono::milliseconds after[] = {30ms, 10ms, 60ms, 0ms};
  for (std::size_t i = 0; i < alarms.size(); ++i) {
    alarms[i].then = [&, i] { order.push_back(i); };
    wheel.arm(alarms[i], begin + after[i]);
  }
  loop.run();
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 1, 0, 2}));
  for (std::size_t i = 0; i < alarms.size(); ++i) EXPECT_GE(*alarms[i].rang, begin + after[i]);
  EXPECT_EQ(wheel.armed(), 0u);
}

TEST(TimerWheel, WaitsForWhatIsFurtherThanOneTurn) {
  boost::asio::io_context loop;
  TimerWheel wheel(loop);
  Alarm late;
  wheel.arm(late, 1h);
  loop.run_for(50ms);
  EXPECT_FALSE(late.rang);
  EXPECT_TRUE(late.armed());
}

TEST(TimerWheel, ForgetsWhoDisarmsOrGoes) {
  boost::asio::io_context loop;
  TimerWheel wheel(loop);
  Alarm disarmed;
  wheel.arm(disarmed, 5ms);
  {
    Alarm gone;
    wheel.arm(gone, 5ms);
  }
  disarmed.disarm();
  loop.run_for(30ms);
  EXPECT_FALSE(disarmed.rang);
  EXPECT_EQ(wheel.armed(), 0u);
}

TEST(TimerWheel, LetsAnAlarmEndOthersOfTheSameTick) {
  boost::asio::io_context loop;
  TimerWheel wheel(loop);
  Alarm first;
  auto second = std::make_unique<Alarm>();
  auto third = std::make_unique<Alarm>();
  const auto due = Clock::now();
  wheel.arm(first, due);
  wheel.arm(*second, due);
  wheel.arm(*third, due);
  first.then = [&] {
    second.reset();
    third->disarm();
    wheel.arm(first, 5ms);
    first.then = nullptr;
  };
  loop.run();
  EXPECT_TRUE(first.rang);
  EXPECT_FALSE(third->rang);
}

TEST(TimerWheel, LetsTheLoopEndWhenNothingIsArmed) {
  boost::asio::io_context loop;
  TimerWheel wheel(loop);
  Alarm alarm;
  wheel.arm(alarm, 2s);
  alarm.disarm();
  wheel.rest();
  const auto begin = Clock::now();
  loop.run();
  EXPECT_LT(Clock::now() - begin, 1s);
  wheel.arm(alarm, 1ms);
  wheel.rest();  // not now
  loop.restart();
  loop.run();
  EXPECT_TRUE(alarm.rang);
}

TEST(TimerWheel, MayGoBeforeItsTimers) {
  boost::asio::io_context loop;
  Alarm alarm;
  {
    TimerWheel wheel(loop);
    wheel.arm(alarm, 1ms);
  }
  EXPECT_FALSE(alarm.armed());
  loop.run_for(20ms);
  EXPECT_FALSE(alarm.rang);
}

}  // namespace
}  // namespace conclave::rpc
