#include "protocols/timesync/cristian.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

const NodeSet all = NodeSet::range({0}, 2);

struct Bench {
  CristianSetup setup = {.least_delay = 0, .slew = 1'000};
  Effects<Cristian> out = {};
  Cristian node = {};

  explicit Bench(CristianSetup with = {.least_delay = 0, .slew = 1'000}) : setup(with) {
    node = Cristian::start({1}, all, setup, out);
  }
  void period(std::uint64_t at) {
    step(at);
    node.on_timer(out, Cristian::Timer::period);
  }
  void timeout(std::uint64_t at) {
    step(at);
    node.on_timer(out, Cristian::Timer::timeout);
  }
  void reply(std::uint64_t at, std::uint64_t seq, std::int64_t time) {
    step(at);
    node.on_message(out, {0}, Cristian::TimeRep{seq, time});
  }
  void read(std::uint64_t at) {
    step(at);
    node.on_command(out, Read{});
  }
  void step(std::uint64_t at) {
    out.clear();
    node.on_clock({at});
  }
  const Adjusted& adjusted() const { return std::get<Adjusted>(out.events.at(0)); }
  const Reading& reading() const { return std::get<Reading>(out.events.back()); }
};

TEST(Cristian, TheServerAnswersWithItsTime) {
  Effects<Cristian> out;
  Cristian server = Cristian::start({0}, all, {}, out);
  EXPECT_TRUE(out.armed.empty());
  server.on_clock({1'234});
  server.on_message(out, {1}, Cristian::TimeReq{7});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{1});
  EXPECT_EQ(std::get<Cristian::TimeRep>(out.sends[0].message), (Cristian::TimeRep{7, 1'234}));
}

TEST(Cristian, AddsHalfTheRoundTrip) {
  Bench bench;
  bench.period(100);
  ASSERT_EQ(bench.out.sends.size(), 1u);
  bench.reply(120, 1, 150);
  EXPECT_EQ(bench.adjusted().after, 160);
  EXPECT_GE(bench.adjusted().bound, 10u);
  EXPECT_LE(bench.adjusted().bound, 12u);
  EXPECT_TRUE(bench.adjusted().first);
}

TEST(Cristian, AClockThatWasNeverSetKeepsItsReaderWaiting) {
  Bench bench;
  bench.read(50);
  EXPECT_TRUE(bench.out.events.empty());
  bench.period(100);
  bench.reply(120, 1, 150);
  ASSERT_EQ(bench.out.events.size(), 2u);
  EXPECT_EQ(bench.reading().time, 160);
  bench.read(130);
  EXPECT_EQ(bench.reading().time, 170);
}

TEST(Cristian, NeverSetsAFastClockBack) {
  Bench bench({.least_delay = 0, .slew = 60});
  bench.period(0);
  bench.reply(0, 1, 0);
  bench.period(200);
  bench.reply(220, 2, 185);
  EXPECT_EQ(bench.adjusted().before, 220);
  EXPECT_EQ(bench.adjusted().after, 220);
  EXPECT_EQ(bench.adjusted().offset, -25);
  EXPECT_EQ(bench.node.clock.compensation.line(), (Line{{-5, 12}, {275, 3}}));
  bench.read(280);
  EXPECT_EQ(bench.reading().time, 255);
}

TEST(Cristian, IgnoresAnswersToRequestsItGaveUp) {
  Bench bench;
  bench.period(100);
  bench.timeout(200);
  ASSERT_EQ(bench.out.sends.size(), 1u);
  EXPECT_EQ(std::get<Cristian::TimeReq>(bench.out.sends[0].message).seq, 2u);
  bench.reply(210, 1, 150);
  EXPECT_TRUE(bench.out.events.empty());
  EXPECT_EQ(bench.out.notes.size(), 1u);
  bench.reply(220, 2, 300);
  EXPECT_EQ(bench.adjusted().after, 310);
  bench.reply(230, 2, 300);  // a duplicate
  EXPECT_TRUE(bench.out.events.empty());
}

TEST(Cristian, TakesTheQuickestOfSeveralAnswers) {
  Bench bench({.samples = 3, .least_delay = 0, .slew = 1});
  bench.period(0);
  bench.reply(100, 1, 1'000);
  EXPECT_EQ(bench.out.sends.size(), 1u);
  bench.reply(120, 2, 1'060);  // 20 ticks there and back: by now 1'070
  bench.reply(200, 3, 1'100);
  EXPECT_EQ(bench.adjusted().after, 1'070 + 80);
  EXPECT_LE(bench.adjusted().bound, 12u);
}

TEST(Cristian, DiscardsLongRoundTripsAndGivesUpInTheEnd) {
  Bench bench({.attempts = 2, .least_delay = 0, .longest_round_trip = 50});
  bench.period(0);
  bench.reply(51, 1, 1'000);
  EXPECT_EQ(bench.out.sends.size(), 1u);
  bench.reply(110, 2, 1'060);
  EXPECT_TRUE(bench.out.sends.empty());
  EXPECT_TRUE(bench.out.events.empty());
  bench.period(1'000);
  bench.reply(1'050, 3, 2'000);
  EXPECT_EQ(bench.adjusted().after, 2'025);
}

TEST(Cristian, DropsALeastDelayThatARoundTripDisproves) {
  Bench bench({.least_delay = 300});
  bench.period(0);
  bench.reply(20, 1, 100);
  EXPECT_EQ(bench.node.least_delay, 0);
  EXPECT_GE(bench.adjusted().bound, 10u);
}

TEST(Cristian, WithoutItsServerTheBoundGrowsWithTheDrift) {
  Bench bench({.attempts = 2, .least_delay = 0, .drift_ppb = 1'000});
  bench.period(0);
  bench.reply(20, 1, 100);
  bench.read(30);
  const std::uint64_t fresh = bench.reading().bound;
  bench.period(60'000'000);
  bench.timeout(60'010'000);
  bench.timeout(60'020'000);
  EXPECT_TRUE(bench.out.events.empty());
  bench.read(60'020'000);
  EXPECT_EQ(bench.reading().bound, fresh + 60);
}

}  // namespace
}  // namespace conclave::timesync
