#include "protocols/election/all_to_all.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"

namespace conclave::election {
namespace {

using P = AllToAll;

P node(std::uint32_t id, std::uint32_t count = 3) {
  P::Out out;
  return P::start({id}, NodeSet::range({1}, count), {}, out);
}

TEST(AllToAll, TellsEverybodyItsId) {
  P::Out out;
  P two = node(2);
  two.on_command(out, Start{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":1,"message":{"type":"Id","election":1,"id":2}},)"
                                      R"({"to":3,"message":{"type":"Id","election":1,"id":2}}])");
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Participating"}])");
}

TEST(AllToAll, TellsItsIdWhenItHearsOfTheElection) {
  P::Out out;
  P three = node(3);
  three.on_message(out, {1}, P::Id{1, {1}});
  EXPECT_EQ(out.sends.size(), 2u);
  out.clear();
  three.on_message(out, {2}, P::Id{1, {2}});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(describe_json(out.events), R"([{"type":"Elected","leader":3}])");
}

TEST(AllToAll, WaitsForEverybody) {
  P::Out out;
  P one = node(1, 4);
  one.on_message(out, {4}, P::Id{1, {4}});
  one.on_message(out, {3}, P::Id{1, {3}});
  EXPECT_FALSE(one.elected);
  one.on_message(out, {2}, P::Id{1, {2}});
  EXPECT_EQ(one.elected, NodeId{4});
}

TEST(AllToAll, ALateIdOfAnEarlierElectionCountsForNothing) {
  P::Out out;
  P one = node(1);
  one.on_message(out, {2}, P::Id{2, {2}});
  out.clear();
  one.on_message(out, {3}, P::Id{1, {3}});
  EXPECT_FALSE(one.elected);
  EXPECT_EQ(out.notes.size(), 1u);
}

TEST(AllToAll, ElectsAgainWhenAskedAgain) {
  P::Out out;
  P one = node(1, 2);
  one.on_command(out, Start{});
  one.on_message(out, {2}, P::Id{1, {2}});
  out.clear();
  one.on_command(out, Start{});
  EXPECT_EQ(describe_json(out.sends), R"([{"to":2,"message":{"type":"Id","election":2,"id":1}}])");
  EXPECT_FALSE(one.elected);
}

TEST(AllToAll, AloneElectsItself) {
  P::Out out;
  P alone = node(1, 1);
  alone.on_command(out, Start{});
  EXPECT_TRUE(out.sends.empty());
  EXPECT_EQ(alone.elected, NodeId{1});
}

}  // namespace
}  // namespace conclave::election
