#include "protocols/mutex/central_server.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = CentralServer;

// The server is 1, the clients are 2, 3 and 4.
P node(std::uint32_t id, bool says_denied = false) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, 4), {.says_denied = says_denied}, out);
}

TEST(CentralServer, GrantsAFreeLockAtOnce) {
  P::Out out;
  P server = node(1);
  server.on_message(out, {3}, P::Request{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Grant","fence":1}}])");
  EXPECT_EQ(server.holder, NodeId{3});
}

TEST(CentralServer, QueuesWhileTheLockIsHeld) {
  P::Out out;
  P server = node(1);
  server.on_message(out, {3}, P::Request{});
  out.clear();
  server.on_message(out, {4}, P::Request{});
  server.on_message(out, {2}, P::Request{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(server.queue, (std::vector<NodeId>{{4}, {2}}));
}

TEST(CentralServer, GrantsToTheOldestRequestWhenTheLockComesBack) {
  P::Out out;
  P server = node(1);
  for (std::uint32_t client : {3u, 4u, 2u}) server.on_message(out, {client}, P::Request{});
  out.clear();
  server.on_message(out, {3}, P::Release{});
  server.on_message(out, {4}, P::Release{});
  EXPECT_EQ(
      describe_json(out.sends),
      R"([{"to":4,"message":{"type":"Grant","fence":2}},{"to":2,"message":{"type":"Grant","fence":3}}])");
}

TEST(CentralServer, SaysDeniedIfAskedTo) {
  P::Out out;
  P server = node(1, true);
  server.on_message(out, {3}, P::Request{});
  out.clear();
  server.on_message(out, {4}, P::Request{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":4,"message":{"type":"Denied"}}])");
  EXPECT_EQ(server.queue.size(), 1u);
}

TEST(CentralServer, IgnoresAReleaseBySomebodyElse) {
  P::Out out;
  P server = node(1);
  server.on_message(out, {3}, P::Request{});
  server.on_message(out, {4}, P::Release{});
  EXPECT_EQ(out.notes.size(), 1u);
  EXPECT_EQ(server.holder, NodeId{3});
}

TEST(CentralServer, AClientTalksToTheServerOnly) {
  P::Out out;
  P client = node(3);
  client.on_command(out, Acquire{});
  client.on_message(out, {1}, P::Grant{{9}});
  client.on_command(out, mutex::Release{});
  EXPECT_EQ(describe_json(out.sends),
            R"([{"to":1,"message":{"type":"Request"}},{"to":1,"message":{"type":"Release"}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":9}])");
}

TEST(CentralServer, AClientIsToldThatItWasDenied) {
  P::Out out;
  P client = node(3);
  client.on_command(out, Acquire{});
  client.on_message(out, {1}, P::Denied{});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Denied"}])");
  EXPECT_EQ(out.sends.size(), 1u);  // it does not ask again
}

TEST(CentralServer, OnlyTheHolderReleases) {
  P::Out out;
  P client = node(3);
  EXPECT_THROW(client.on_command(out, mutex::Release{}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::mutex
