#include "sim/slowness.hpp"

#include <gtest/gtest.h>

namespace conclave::sim {
namespace {

using What = Action::What;

TEST(Slowness, IsThatOfTheLinksIfNothingGoesWrong) {
  Options options;
  EXPECT_EQ(slowness(options), (Slowness{.message = {15}}));
  options.delay.per_link[{{1}, {2}}] = {Delay::Shape::fixed, 50, 50};
  EXPECT_EQ(slowness(options)->message, Ticks{50});
  options.delay.per_message[{"Forward", {1}, {2}}] = {Delay::Shape::exponential, 10, 10};
  EXPECT_FALSE(slowness(options)) << "there is no end to how long it may take";
}

TEST(Slowness, CountsFaultsThatSlowThingsDown) {
  EXPECT_EQ(slowness({.faults = {.crash = true, .loss = 0.1}}), (Slowness{.message = {15}}));
  EXPECT_EQ(slowness({.faults = {.slow = 0.1}})->message, Ticks{15 + 200});
  EXPECT_EQ(slowness({.faults = {.stall = true}})->disk, Ticks{5});
  EXPECT_EQ(slowness({.faults = {.unsynced = true}})->disk, Ticks{200});
  EXPECT_EQ(slowness({.faults = {.unsynced = true}, .sync_ticks = 3})->disk, Ticks{120});
  EXPECT_EQ(slowness({.faults = {.drift = true}})->timers, 2u);
}

TEST(Slowness, OrderIsKeptIfTheRunSaysSoAndNothingOvertakes) {
  EXPECT_FALSE(keeps_order({}));
  EXPECT_TRUE(keeps_order({.faults = {.loss = 0.1, .slow = 0.1}, .fifo = true}));
  EXPECT_FALSE(keeps_order({.faults = {.reorder = 0.1}, .fifo = true}));
  const Script script = {{.what = What::reorder, .node = {1}, .amount = 70, .nth = 2}};
  EXPECT_FALSE(keeps_order({.script = script, .fifo = true}));
}

// A failure that was shrunk is judged by the bounds of what is left of it.
TEST(Slowness, OfAScriptIsThatOfItsActions) {
  const Script script = {{.what = What::slow, .node = {1}, .amount = 70, .nth = 2},
                         {.what = What::disk, .amount = 4},
                         {.what = What::jitter, .node = {1}, .amount = 10}};
  EXPECT_EQ(slowness({.script = script}), (Slowness{{15 + 70}, {160}, 2}));
}

}  // namespace
}  // namespace conclave::sim
