#include "protocols/mutex/bakery_messages.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = BakeryMessages;

P node(std::uint32_t id, std::uint32_t count = 2) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), {}, out);
}

TEST(BakeryMessages, DrawsANumberAboveAllOthers) {
  P::Out out;
  P one = node(1, 3);
  one.on_command(out, Acquire{});
  EXPECT_TRUE(one.choosing);
  one.on_message(out, {2}, P::Value{1, 7, {}});
  one.on_message(out, {3}, P::Value{1, 4, {}});
  EXPECT_EQ(one.number, 8u);
  EXPECT_FALSE(one.choosing);
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Queued"}])");
}

TEST(BakeryMessages, AsksThreeQuestionsThenEnters) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"ReadNum","seq":1,"ticket":null}}])");
  out.clear();
  one.on_message(out, {2}, P::Value{1, 0, {}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"ReadChoosing","seq":1}}])");
  out.clear();
  one.on_message(out, {2}, P::Value{1, 0, {5}});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":2,"message":{"type":"ReadNum","seq":1,"ticket":{"counter":1,"node":1}}}])");
  EXPECT_TRUE(out.events.empty());
  one.on_message(out, {2}, P::Value{1, 0, {}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":6}])");
}

TEST(BakeryMessages, KeepsAQuestionBackWhileChoosing) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  out.clear();
  one.on_message(out, {2}, P::ReadChoosing{3});
  EXPECT_TRUE(out.sends.empty());
  one.on_message(out, {2}, P::Value{1, 0, {}});
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(describe_json(out.sends[0]),
            R"({"to":2,"message":{"type":"Value","seq":3,"value":1,"highest":0}})");
}

TEST(BakeryMessages, TellsItsNumberWhileChoosing) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  out.clear();
  one.on_message(out, {2}, P::ReadNum{3, {}});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":2,"message":{"type":"Value","seq":3,"value":0,"highest":0}}])");
}

TEST(BakeryMessages, KeepsALaterTicketWaitingUntilItLeaves) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  for (int answer = 0; answer < 3; ++answer) one.on_message(out, {2}, P::Value{1, 0, {}});
  ASSERT_TRUE(one.inside());
  out.clear();
  one.on_message(out, {2}, P::ReadNum{3, Stamp{1, {2}}});  // equal numbers: the lesser id goes first
  EXPECT_TRUE(out.sends.empty());
  one.on_command(out, Release{});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":2,"message":{"type":"Value","seq":3,"value":0,"highest":1}}])");
}

TEST(BakeryMessages, AnswersAnEarlierTicketAtOnce) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  two.on_message(out, {1}, P::Value{1, 0, {}});
  out.clear();
  two.on_message(out, {1}, P::ReadNum{3, Stamp{1, {1}}});
  EXPECT_EQ(out.sends.size(), 1u);
}

TEST(BakeryMessages, IgnoresAnAnswerToAnOlderQuestion) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Value{0, 9, {}});
  EXPECT_EQ(out.notes.size(), 1u);
  EXPECT_TRUE(one.choosing);
}

TEST(BakeryMessages, AloneEntersWithoutAMessage) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Queued"},{"type":"Granted","fence":1}])");
}

}  // namespace
}  // namespace conclave::mutex
