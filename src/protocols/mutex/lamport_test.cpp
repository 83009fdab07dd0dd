#include "protocols/mutex/lamport.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = Lamport;

P node(std::uint32_t id, std::uint32_t count = 3) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), {}, out);
}

TEST(Lamport, AcknowledgesAtOnceEvenFromInside) {
  P::Out out;
  P one = node(1, 2);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Ack{2});
  ASSERT_TRUE(one.inside);
  out.clear();
  one.on_message(out, {2}, P::Request{5});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Ack","counter":6}}])");
}

TEST(Lamport, EntersWhenFirstAndAcknowledgedByAll) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_EQ(out.sends.size(), 2u);
  one.on_message(out, {2}, P::Ack{2});
  EXPECT_TRUE(out.events.empty());
  one.on_message(out, {3}, P::Ack{2});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":5}])");
}

TEST(Lamport, WaitsForAnEarlierRequestToLeave) {
  P::Out out;
  P two = node(2, 2);
  two.on_command(out, Acquire{});
  two.on_message(out, {1}, P::Request{1});  // equal counters: the lesser id is first
  two.on_message(out, {1}, P::Ack{4});
  EXPECT_TRUE(out.events.empty());
  two.on_message(out, {1}, P::Release{5});
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(Lamport, KeepsTheQueueInStampOrder) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {3}, P::Request{4});
  one.on_message(out, {2}, P::Request{4});
  EXPECT_EQ(one.queue, (std::vector<Stamp>{{4, {2}}, {4, {3}}}));
}

TEST(Lamport, IgnoresAnAcknowledgementOfAnOlderRequest) {
  P::Out out;
  P one = node(1, 2);
  one.clock = 10;
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Ack{3});
  EXPECT_EQ(out.notes.size(), 1u);
  EXPECT_TRUE(out.events.empty());
}

TEST(Lamport, TellsEverybodyWhenLeaving) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Ack{2});
  one.on_message(out, {3}, P::Ack{2});
  out.clear();
  one.on_command(out, mutex::Release{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Release","counter":5}},)"
                                      R"({"to":3,"message":{"type":"Release","counter":5}}])");
  EXPECT_TRUE(one.queue.empty());
}

TEST(Lamport, AloneEntersWithoutAMessage) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(Lamport, StopsIfSomebodyLeavesWithoutHavingAsked) {
  P::Out out;
  P one = node(1);
  EXPECT_THROW(one.on_message(out, {2}, P::Release{1}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::mutex
