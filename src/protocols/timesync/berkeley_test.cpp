#include "protocols/timesync/berkeley.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

const NodeSet all = NodeSet::range({1}, 3);
using Out = Effects<Berkeley>;

constexpr BerkeleySetup brief = {.period = {1'000'000}, .longest_round_trip = 100, .slew = 1'000};

struct Bench {
  Out out = {};
  Berkeley node = {};

  explicit Bench(NodeId self, BerkeleySetup setup = brief) { node = Berkeley::start(self, all, setup, out); }
  void step(std::uint64_t at) {
    out.clear();
    node.on_clock({at});
  }
  void fire(std::uint64_t at, Berkeley::Timer timer) {
    step(at);
    node.on_timer(out, timer);
  }
  template <class M>
  void receive(std::uint64_t at, NodeId from, const M& message) {
    step(at);
    node.on_message(out, from, message);
  }
  const Adjusted& adjusted() const { return std::get<Adjusted>(out.events.at(0)); }
  template <class M>
  M sent(std::size_t nth) const {
    return std::get<M>(out.sends.at(nth).message);
  }
};

TEST(Berkeley, TheGreatestIdBeginsAsMasterUnlessAnotherIsNamed) {
  EXPECT_TRUE(Bench({3}).node.leading);
  EXPECT_FALSE(Bench({1}).node.leading);
  BerkeleySetup named = brief;
  named.master = NodeId{1};
  EXPECT_TRUE(Bench({1}, named).node.leading);
  EXPECT_FALSE(Bench({3}, named).node.leading);
}

TEST(Berkeley, TheMasterSendsEveryClockItsDifferenceToTheMean) {
  Bench master({3});
  master.fire(1'000, Berkeley::Timer::round);
  ASSERT_EQ(master.out.sends.size(), 2u);
  const std::uint64_t seq = master.sent<Berkeley::Poll>(0).seq;
  master.receive(1'020, {1}, Berkeley::Clock{seq, 1'035, false});  // 25 ahead: it takes 10 ticks to come
  EXPECT_TRUE(master.out.sends.empty());
  master.receive(1'020, {2}, Berkeley::Clock{seq, 1'000, false});  // 10 behind
  ASSERT_EQ(master.out.sends.size(), 2u);
  EXPECT_EQ(master.sent<Berkeley::Adjust>(0).offset, -20);
  EXPECT_EQ(master.sent<Berkeley::Adjust>(1).offset, 15);
  EXPECT_EQ(master.adjusted().offset, 5);
  EXPECT_EQ(master.adjusted().source, NodeId{3});
}

TEST(Berkeley, AClockAnHourOutIsToldSoAndDoesNotCount) {
  constexpr std::int64_t hour = 3'600'000'000;
  Bench master({3});
  master.fire(1'000, Berkeley::Timer::round);
  const std::uint64_t seq = master.sent<Berkeley::Poll>(0).seq;
  master.receive(1'020, {1}, Berkeley::Clock{seq, 1'010, false});
  master.receive(1'020, {2}, Berkeley::Clock{seq, 1'010 + hour, false});
  EXPECT_EQ(master.sent<Berkeley::Adjust>(0).offset, 0);
  EXPECT_EQ(master.sent<Berkeley::Adjust>(1).offset, -hour);
  EXPECT_EQ(master.adjusted().offset, 0);
}

TEST(Berkeley, WhoDoesNotAnswerInTimeIsAskedAgainAndThenLeftOut) {
  Bench master({3});
  master.fire(1'000, Berkeley::Timer::round);
  const std::uint64_t first = master.sent<Berkeley::Poll>(0).seq;
  master.receive(1'020, {1}, Berkeley::Clock{first, 1'010, false});
  master.fire(1'100, Berkeley::Timer::collect);
  ASSERT_EQ(master.out.sends.size(), 1u);
  EXPECT_EQ(master.out.sends[0].to, NodeId{2});
  EXPECT_GT(master.sent<Berkeley::Poll>(0).seq, first);
  master.receive(1'110, {2}, Berkeley::Clock{first, 1'010, false});  // the answer to the first poll
  EXPECT_TRUE(master.out.sends.empty());
  for (std::uint64_t at = 1'200; at <= 1'500; at += 100) master.fire(at, Berkeley::Timer::collect);
  ASSERT_EQ(master.out.sends.size(), 1u);
  EXPECT_EQ(master.out.sends[0].to, NodeId{1});
}

TEST(Berkeley, AClockIsCorrectedFromWhenItAnswered) {
  Bench node({1});
  node.receive(500, {3}, Berkeley::Poll{7});
  EXPECT_EQ(node.sent<Berkeley::Clock>(0), (Berkeley::Clock{7, 500, false}));
  node.receive(530, {3}, Berkeley::Adjust{.seq = 7, .offset = 100, .bound = 4, .round = 7});
  EXPECT_EQ(node.adjusted().after, 630);  // never set before: at once
  node.receive(1'000'000, {3}, Berkeley::Poll{8});
  EXPECT_EQ(node.sent<Berkeley::Clock>(0), (Berkeley::Clock{8, 1'000'100, true}));
  node.receive(1'000'010, {3}, Berkeley::Adjust{.seq = 8, .offset = -50, .bound = 4, .round = 8});
  EXPECT_EQ(node.adjusted().before, 1'000'110);
  EXPECT_EQ(node.adjusted().after, 1'000'110);
  node.step(1'001'010);
  EXPECT_EQ(node.node.clock.read(), 1'001'060);
}

TEST(Berkeley, ACorrectionIsAppliedOnceAndOnlyToTheAnswerItBelongsTo) {
  Bench node({1});
  const Berkeley::Adjust late = {.seq = 7, .offset = 100, .bound = 4, .round = 7};
  node.receive(500, {3}, late);
  EXPECT_TRUE(node.out.events.empty());
  node.receive(500, {3}, Berkeley::Poll{8});
  node.receive(510, {3}, late);
  EXPECT_TRUE(node.out.events.empty());
  node.receive(510, {3}, Berkeley::Poll{7});  // overtaken
  EXPECT_TRUE(node.out.sends.empty());
  const Berkeley::Adjust right = {.seq = 8, .offset = 100, .bound = 4, .round = 8};
  node.receive(520, {2}, right);
  EXPECT_TRUE(node.out.events.empty());
  node.receive(520, {3}, right);
  EXPECT_EQ(node.out.events.size(), 1u);
  node.receive(530, {3}, right);
  EXPECT_TRUE(node.out.events.empty());
}

TEST(Berkeley, ALostCorrectionIsAskedForAgain) {
  Bench master({3});
  Bench node({1});
  master.fire(1'000, Berkeley::Timer::round);
  const auto poll = master.sent<Berkeley::Poll>(0);
  node.receive(500, {3}, poll);
  const auto answer = node.sent<Berkeley::Clock>(0);
  master.receive(1'020, {1}, answer);
  master.receive(1'020, {2}, Berkeley::Clock{poll.seq, 1'000, false});
  const auto lost = master.sent<Berkeley::Adjust>(0);
  node.fire(1'200, Berkeley::Timer::overdue);
  EXPECT_EQ(node.sent<Berkeley::Clock>(0), answer);
  master.receive(1'900, {1}, answer);
  EXPECT_EQ(master.sent<Berkeley::Adjust>(0), lost);
}

TEST(Berkeley, AMasterWhoFallsSilentIsReplaced) {
  Bench second({2});
  Bench third({1});
  ASSERT_EQ(second.out.armed.size(), 1u);
  // The greater id waits for less long.
  EXPECT_LT(second.out.armed[0].after.max, third.out.armed[0].after.min);
  second.fire(2'000, Berkeley::Timer::silence);
  EXPECT_TRUE(second.node.leading);
  EXPECT_EQ(second.out.sends.size(), 2u);
}

TEST(Berkeley, OfTwoMastersTheGreaterStays) {
  Bench lower({2});
  lower.fire(2'000, Berkeley::Timer::silence);
  Bench greater({3});
  greater.receive(2'000, {2}, Berkeley::Poll{9});
  EXPECT_TRUE(greater.node.leading);
  EXPECT_TRUE(greater.out.sends.empty());
  lower.receive(2'100, {3}, Berkeley::Poll{9});
  EXPECT_FALSE(lower.node.leading);
  EXPECT_EQ(lower.out.sends.size(), 1u);
}

TEST(Berkeley, WhoComesBackWaitsForAMasterAndDoesNotDrawTheOthersWithIt) {
  Out out;
  EXPECT_FALSE(Berkeley::restart({3}, all, brief, out).leading);
  // As the new master, with a clock that was never set: the others' count.
  Bench back({3});
  back.node = Berkeley::restart({3}, all, brief, back.out);
  back.fire(1'000, Berkeley::Timer::silence);
  const std::uint64_t seq = back.sent<Berkeley::Poll>(0).seq;
  for (std::uint64_t at = 1'100; at <= 1'500; at += 100) {
    if (at == 1'200) back.receive(at, {1}, Berkeley::Clock{back.node.seq, 9'000'000, true});
    back.fire(at, Berkeley::Timer::collect);
  }
  EXPECT_GT(back.node.seq, seq);
  EXPECT_NEAR(static_cast<double>(back.node.clock.read()), 9'000'300, 200);
}

TEST(Berkeley, AloneItGoesByItsOwnClock) {
  Out out;
  Berkeley node = Berkeley::start({1}, NodeSet::range({1}, 1), brief, out);
  node.on_clock({700});
  node.on_command(out, Read{});
  node.on_timer(out, Berkeley::Timer::round);
  ASSERT_EQ(out.events.size(), 2u);
  EXPECT_EQ(std::get<Reading>(out.events[1]).time, 700);
}

}  // namespace
}  // namespace conclave::timesync
