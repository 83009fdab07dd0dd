#include "protocols/mutex/ricart_agrawala_just_released.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = RicartAgrawalaJustReleased;

P node(std::uint32_t id, std::uint32_t count = 2) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), {}, out);
}

P after_one_entry() {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{2, {}});
  one.on_command(out, Release{});
  return one;
}

TEST(RicartAgrawalaJustReleased, AsksForItsFirstEntry) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Request","counter":1}}])");
  EXPECT_TRUE(out.events.empty());
  one.on_message(out, {2}, P::Reply{2, {4}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":5}])");
}

TEST(RicartAgrawalaJustReleased, EntersAgainWithoutAMessage) {
  P::Out out;
  P one = after_one_entry();
  one.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":2}])");
}

TEST(RicartAgrawalaJustReleased, AsksAgainOnceSomebodyHasAsked) {
  P::Out out;
  P one = after_one_entry();
  one.on_message(out, {2}, P::Request{3});
  out.clear();
  one.on_command(out, Acquire{});
  EXPECT_EQ(out.sends.size(), 1u);
  EXPECT_TRUE(out.events.empty());
}

TEST(RicartAgrawalaJustReleased, AsksAgainIfSomebodyWaitedWhenItLeft) {
  P::Out out;
  P one = after_one_entry();
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Request{9});
  EXPECT_TRUE(out.sends.empty());
  one.on_command(out, Release{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Reply","clock":10,"fence":2}}])");
  out.clear();
  one.on_command(out, Acquire{});
  EXPECT_EQ(out.sends.size(), 1u);
}

TEST(RicartAgrawalaJustReleased, DefersAnEarlierRequestDuringAFreeEntry) {
  P::Out out;
  P one = after_one_entry();
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Request{1});  // made before ours, and still we are inside
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(one.deferred, NodeSet{{2}});
}

TEST(RicartAgrawalaJustReleased, AloneEntersWithoutAMessage) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.events.size(), 1u);
}

}  // namespace
}  // namespace conclave::mutex
