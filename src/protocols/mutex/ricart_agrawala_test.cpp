#include "protocols/mutex/ricart_agrawala.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = RicartAgrawala;

P node(std::uint32_t id, std::uint32_t count = 3, const P::Setup& setup = {}) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), setup, out);
}

TEST(RicartAgrawala, AsksEveryPeerWithItsStamp) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Request","counter":1}},)"
                                      R"({"to":3,"message":{"type":"Request","counter":1}}])");
  EXPECT_TRUE(out.events.empty());
}

TEST(RicartAgrawala, EntersAfterTheLastReply) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  two.on_message(out, {1}, P::Reply{2});
  EXPECT_TRUE(out.events.empty());
  two.on_message(out, {3}, P::Reply{2});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":6}])");
  EXPECT_TRUE(two.inside());
}

TEST(RicartAgrawala, AloneEntersWithoutAMessage) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(RicartAgrawala, RepliesAtOnceWhenIdle) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {2}, P::Request{7});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Reply","clock":8}}])");
}

TEST(RicartAgrawala, DefersAPeerWhoAskedLater) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  out.clear();
  one.on_message(out, {2}, P::Request{2});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(one.deferred, NodeSet{{2}});
}

TEST(RicartAgrawala, LetsTheLesserIdGoFirstAtEqualCounters) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  out.clear();
  two.on_message(out, {3}, P::Request{1});
  EXPECT_TRUE(out.sends.empty());
  two.on_message(out, {1}, P::Request{1});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{1});
}

TEST(RicartAgrawala, RepliesToAllDeferredOnLeaving) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{2});
  one.on_message(out, {3}, P::Reply{2});
  one.on_message(out, {2}, P::Request{3});
  one.on_message(out, {3}, P::Request{3});
  out.clear();
  one.on_command(out, Release{});
  EXPECT_EQ(
      describe_json(out.sends),
      R"([{"to":2,"message":{"type":"Reply","clock":6}},{"to":3,"message":{"type":"Reply","clock":6}}])");
  EXPECT_TRUE(one.deferred.empty());
  EXPECT_FALSE(one.request);
}

TEST(RicartAgrawala, StopsIfSomebodyEarlierAsksAHolder) {
  P::Out out;
  P one = node(1, 2, {.clocks = {{NodeId{1}, 5}}});
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{6});
  EXPECT_THROW(one.on_message(out, {2}, P::Request{3}), InvariantViolation);
}

TEST(RicartAgrawala, NotesAReplyNobodyWaitsFor) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {2}, P::Reply{1});
  EXPECT_EQ(out.notes.size(), 1u);
  EXPECT_TRUE(out.events.empty());
}

TEST(RicartAgrawala, CarriesItsClockOnTheApplicationsMessages) {
  P one = node(1);
  one.on_hear(41);
  EXPECT_EQ(one.on_tell(), 43u);
  P deviant = node(1, 3, {.deviation = P::Deviation::request_only_clock});
  deviant.on_hear(41);
  EXPECT_EQ(deviant.on_tell(), 0u);
}

TEST(RicartAgrawala, ForgetsWhoAsksDuringANonatomicExit) {
  P::Out out;
  P one = node(1, 2, {.deviation = P::Deviation::nonatomic_exit});
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{2});
  one.on_command(out, Release{});
  ASSERT_EQ(out.armed.size(), 1u);
  out.clear();
  one.on_message(out, {2}, P::Request{3});
  one.on_timer(out, P::Timer::finish_exit);
  EXPECT_TRUE(out.sends.empty());
  EXPECT_TRUE(one.deferred.empty());
}

}  // namespace
}  // namespace conclave::mutex
