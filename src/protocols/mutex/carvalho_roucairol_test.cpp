#include "protocols/mutex/carvalho_roucairol.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::mutex {
namespace {

using P = CarvalhoRoucairol;

P node(std::uint32_t id, std::uint32_t count = 3) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), {}, out);
}

P with_all_permissions() {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Reply{2, {}});
  one.on_message(out, {3}, P::Reply{2, {}});
  one.on_command(out, Release{});
  return one;
}

TEST(CarvalhoRoucairol, AsksEverybodyForItsFirstEntry) {
  P::Out out;
  P one = node(1);
  one.on_command(out, Acquire{});
  EXPECT_EQ(out.sends.size(), 2u);
  one.on_message(out, {2}, P::Reply{2, {7}});
  EXPECT_TRUE(out.events.empty());
  one.on_message(out, {3}, P::Reply{2, {4}});
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":8}])");
}

TEST(CarvalhoRoucairol, KeepsPermissionsAndEntersWithoutAMessage) {
  P::Out out;
  P one = with_all_permissions();
  one.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Granted","fence":2}])");
}

TEST(CarvalhoRoucairol, AsksOnlyWhosePermissionIsMissing) {
  P::Out out;
  P one = with_all_permissions();
  one.on_message(out, {3}, P::Request{9});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Reply","clock":10,"fence":1}}])");
  out.clear();
  one.on_command(out, Acquire{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":3,"message":{"type":"Request","counter":11}}])");
}

TEST(CarvalhoRoucairol, GivesAnEarlierOneItsPermissionAndAsksAgain) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Acquire{});
  two.on_message(out, {1}, P::Reply{2, {}});
  out.clear();
  two.on_message(out, {1}, P::Request{1});  // equal counters: the lesser id goes first
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Reply","clock":4,"fence":0}},)"
                                      R"({"to":1,"message":{"type":"Request","counter":1}}])");
  EXPECT_TRUE(two.missing.contains({1}));
}

TEST(CarvalhoRoucairol, DefersWhileInsideAndRepliesOnLeaving) {
  P::Out out;
  P one = with_all_permissions();
  one.on_command(out, Acquire{});
  one.on_message(out, {2}, P::Request{1});  // earlier, but a kept permission overtakes it
  EXPECT_TRUE(out.sends.empty());
  one.on_command(out, Release{});
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].to, NodeId{2});
  EXPECT_EQ(one.missing, NodeSet{{2}});
}

TEST(CarvalhoRoucairol, AloneEntersWithoutAMessage) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Acquire{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(out.events.size(), 1u);
}

TEST(CarvalhoRoucairol, NotesAPermissionItHasAlready) {
  P::Out out;
  P one = with_all_permissions();
  one.on_message(out, {2}, P::Reply{5, {}});
  EXPECT_EQ(out.notes.size(), 1u);
}

}  // namespace
}  // namespace conclave::mutex
