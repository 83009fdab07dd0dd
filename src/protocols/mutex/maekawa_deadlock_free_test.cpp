#include "protocols/mutex/maekawa_deadlock_free.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = MaekawaDeadlockFree;

// Three nodes: everybody's voting set is itself and the next one.
P node(std::uint32_t id) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, 3), {}, out);
}

TEST(MaekawaDeadlockFree, EntersWithAllVotesAndAHigherFence) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Request","counter":1}}])");
  one.on_message(out, {2}, P::Grant{1, 5, {3}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":4}])");
}

TEST(MaekawaDeadlockFree, InquiresForAnEarlierRequest) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {3}, P::Request{5});
  out.clear();
  two.on_message(out, {1}, P::Request{4});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Inquire","counter":5}}])");
}

TEST(MaekawaDeadlockFree, InquiresOnceOnly) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {3}, P::Request{5});
  two.on_message(out, {1}, P::Request{4});
  out.clear();
  two.on_message(out, {4}, P::Request{2});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(two.queue.front(), (Stamp{2, {4}}));
}

TEST(MaekawaDeadlockFree, QueuesALaterRequestSilently) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {3}, P::Request{5});
  out.clear();
  two.on_message(out, {1}, P::Request{6});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(two.queue.size(), 1u);
}

TEST(MaekawaDeadlockFree, LendsAYieldedVoteToTheEarlierRequest) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {3}, P::Request{5});
  two.on_message(out, {1}, P::Request{4});
  out.clear();
  two.on_message(out, {3}, P::Yield{5});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":1,"message":{"type":"Grant","counter":4,"clock":7,"highest":0}}])");
  EXPECT_EQ(two.queue, (std::vector<Stamp>{{5, {3}}}));
  EXPECT_FALSE(two.inquired);
}

TEST(MaekawaDeadlockFree, YieldsWhenNotInside) {
  P::Out out;
  P three = node(3);  // voters 1 and 3
  three.on_command(out, Acquire{});
  three.on_message(out, {1}, P::Request{0});  // takes the own vote away again
  ASSERT_EQ(three.voted_for, (Stamp{0, {1}}));
  three.on_message(out, {1}, P::Grant{1, 3, {}});
  EXPECT_TRUE(out.events.empty());
  out.clear();
  three.on_message(out, {1}, P::Inquire{1});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Yield","counter":1}}])");
  EXPECT_TRUE(three.votes.empty());
}

TEST(MaekawaDeadlockFree, IgnoresAnInquiryFromInside) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Grant{1, 5, {}});
  out.clear();
  one.on_message(out, {2}, P::Inquire{1});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.notes.size(), 1u);
  EXPECT_TRUE(one.inside());
}

TEST(MaekawaDeadlockFree, IgnoresAnInquiryAboutAnOlderRequest) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {2}, P::Inquire{1});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.notes.size(), 1u);
}

TEST(MaekawaDeadlockFree, VotesForTheEarliestWhenItsVoteComesBack) {
  P::Out out;
  P two = node(2);
  two.on_message(out, {3}, P::Request{1});
  two.on_message(out, {1}, P::Request{6});
  two.on_message(out, {4}, P::Request{5});
  out.clear();
  two.on_message(out, {3}, P::Release{1, {8}});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{4});
  EXPECT_EQ(two.highest, Fence{8});
}

TEST(MaekawaDeadlockFree, StopsIfSomebodyLeavesWithoutItsVote) {
  P::Out out;
  P two = node(2);
  EXPECT_THROW(two.on_message(out, {3}, P::Release{1, {}}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::mutex
