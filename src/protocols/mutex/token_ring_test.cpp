#include "protocols/mutex/token_ring.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = TokenRing;

P node(std::uint32_t id, std::uint32_t count = 3, const P::Setup& setup = {}) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), setup, out);
}

TEST(TokenRing, BeginsWithTheTokenAtTheFirstNode) {
  EXPECT_TRUE(node(1).token);
  EXPECT_FALSE(node(2).token);
  EXPECT_FALSE(node(1, 3, {.token_under_way = true}).token);
}

TEST(TokenRing, FollowsTheRingItIsGiven) {
  const P::Setup setup = {.ring = {{3}, {1}, {2}}};
  EXPECT_EQ(node(1, 3, setup).successor, NodeId{2});
  EXPECT_EQ(node(2, 3, setup).successor, NodeId{3});
  EXPECT_TRUE(node(3, 3, setup).token);
  EXPECT_EQ(node(3).successor, NodeId{1});
}

TEST(TokenRing, PassesTheTokenOnWhenNobodyWants) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Token{{4}, 0});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":3,"message":{"type":"Token","fence":4,"generation":0,"quiet":0}}])");
  EXPECT_FALSE(two.token);
}

TEST(TokenRing, EntersWhenTheTokenComesBy) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  EXPECT_TRUE(out.events.empty());
  two.on_message(out, {1}, P::Token{{4}, 0});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":5}])");
  EXPECT_TRUE(out.sends.empty());
}

TEST(TokenRing, ATokenThatNobodyWantsComesToRest) {
  P::Out out;
  P two = node(2, 3, {.patience = 2, .rest = {5}});
  two.on_message(out, {1}, P::Token{{4}, 0, 1});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":3,"message":{"type":"Token","fence":4,"generation":0,"quiet":2}}])");
  out.clear();
  two.on_message(out, {1}, P::Token{{4}, 0, 2});
  EXPECT_TRUE(out.sends.empty());
  ASSERT_EQ(out.armed.size(), 1u);
  EXPECT_EQ(out.armed.front().after.min, Ticks{5});
  out.clear();
  two.on_timer(out, P::Timer::pass_on);
  EXPECT_EQ(out.sends.size(), 1u);
  // Whoever wants it while it rests has it at once, and wakes it up.
  two.on_message(out, {1}, P::Token{{4}, 0, 2});
  out.clear();
  two.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":5}])");
  two.on_command(out, Release{});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":3,"message":{"type":"Token","fence":5,"generation":0,"quiet":0}}])");
}

TEST(TokenRing, OneEntryPerVisit) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  two.on_message(out, {1}, P::Token{{4}, 0});
  two.on_command(out, Release{});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":3,"message":{"type":"Token","fence":5,"generation":0,"quiet":0}}])");
  out.clear();
  two.on_command(out, Acquire{});
  EXPECT_TRUE(out.events.empty());
}

TEST(TokenRing, DropsATokenOfAnOlderGeneration) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {1}, P::Token{{4}, 2});
  out.clear();
  two.on_message(out, {1}, P::Token{{9}, 1});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.notes.size(), 1u);
}

TEST(TokenRing, SetsTheTokenMovingWhenTheTimerFires) {
  P::Out out;
  P one = P::start({1}, NodeSet::range({1}, 3), {}, out);
  ASSERT_EQ(out.armed.size(), 1u);
  one.on_timer(out, P::Timer::pass_on);
  EXPECT_EQ(out.sends.size(), 1u);
  one.on_timer(out, P::Timer::pass_on);
  EXPECT_EQ(out.sends.size(), 1u);
}

TEST(TokenRing, KeepsTheTokenWhileInsideWhenTheTimerFires) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_timer(out, P::Timer::pass_on);
  EXPECT_TRUE(out.sends.empty());
  EXPECT_TRUE(one.inside());
}

TEST(TokenRing, AloneEntersAgainAndAgain) {
  P::Out out;
  P alone = node(1, 1);
  for (int entry = 0; entry < 2; ++entry) {
    alone.on_command(out, Acquire{});
    alone.on_command(out, Release{});
  }
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":1},{"type":"Granted","fence":2}])");
}

}  // namespace
}  // namespace conclave::mutex
