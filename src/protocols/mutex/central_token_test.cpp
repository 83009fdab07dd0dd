#include "protocols/mutex/central_token.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = CentralToken;

// The coordinator is 1, the clients are 2, 3 and 4.
P node(std::uint32_t id, bool vector_on_requests_only = false) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, 4), {.vector_on_requests_only = vector_on_requests_only}, out);
}

TEST(CentralToken, HandsTheTokenToTheFirstRequest) {
  P::Out out;
  P coordinator = node(1);
  coordinator.on_message(out, {2}, P::Request{{{{NodeId{2}, 1}}}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Token","known":{"2":1},"fence":1}}])");
  EXPECT_FALSE(coordinator.token);
}

TEST(CentralToken, HoldsARequestBackUntilThoseItKnowsOfAreServed) {
  P::Out out;
  P coordinator = node(1);
  // 3 asked knowing of 2's request, and overtook it.
  coordinator.on_message(out, {3}, P::Request{{{{NodeId{2}, 1}, {NodeId{3}, 1}}}});
  EXPECT_TRUE(out.sends.empty());
  coordinator.on_message(out, {2}, P::Request{{{{NodeId{2}, 1}}}});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{2});
  coordinator.on_message(out, {2}, P::TokenReturn{{}, {1}});
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(describe_json(out.sends[1]),
            R"({"to":3,"message":{"type":"Token","known":{"2":1,"3":1},"fence":2}})");
}

TEST(CentralToken, ServesTheRequestsOfOneProcessInOrder) {
  P::Out out;
  P coordinator = node(1);
  coordinator.on_message(out, {2}, P::Request{{{{NodeId{2}, 2}}}});
  EXPECT_TRUE(out.sends.empty());
  coordinator.on_message(out, {2}, P::Request{{{{NodeId{2}, 1}}}});
  EXPECT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(coordinator.pending.size(), 1u);
}

TEST(CentralToken, CountsItsOwnRequests) {
  P::Out out;
  P client = node(3);
  client.on_hear({{{NodeId{2}, 5}}});
  client.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Request","known":{"2":5,"3":1}}}])");
}

TEST(CentralToken, EntersWithTheTokenAndReturnsIt) {
  P::Out out;
  P client = node(3);
  client.on_command(out, Acquire{});
  out.clear();
  client.on_message(out, {1}, P::Token{{{{NodeId{2}, 4}, {NodeId{3}, 1}}}, {7}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":7}])");
  client.on_command(out, Release{});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":1,"message":{"type":"TokenReturn","known":{"2":4,"3":1},"fence":7}}])");
  EXPECT_FALSE(client.token);
}

TEST(CentralToken, LeavesTheVectorOffTheTokenIfAskedTo) {
  P::Out out;
  P coordinator = node(1, true);
  coordinator.on_message(out, {2}, P::Request{{{{NodeId{2}, 1}}}});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Token","known":{},"fence":1}}])");
}

}  // namespace
}  // namespace conclave::mutex
