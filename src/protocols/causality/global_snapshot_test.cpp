#include "protocols/causality/global_snapshot.hpp"

#include <gtest/gtest.h>

namespace conclave::causality {
namespace {

using Out = GlobalSnapshot::Out;

GlobalSnapshot node(std::uint32_t id, Out& out) {
  return GlobalSnapshot::start({id}, NodeSet::range({1}, 3), {.members = NodeSet::range({1}, 3)}, out);
}

TEST(GlobalSnapshot, TheInitiatorRecordsItselfAndMarksEveryChannel) {
  Out out;
  GlobalSnapshot first = node(1, out);
  first.on_command(out, Record{});
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Recorded>(out.events[0]).balance, 100u);
  EXPECT_EQ(out.sends.size(), 2u);
}

TEST(GlobalSnapshot, WhatArrivesBeforeTheMarkerWasUnderWay) {
  Out out;
  GlobalSnapshot first = node(1, out);
  first.on_command(out, Record{});
  first.on_message(out, {2}, GlobalSnapshot::Payment{7});
  first.on_message(out, {2}, GlobalSnapshot::Marker{{{1}, 1}});
  first.on_message(out, {2}, GlobalSnapshot::Payment{5});  // after its marker: not in the snapshot
  out.clear();
  first.on_message(out, {3}, GlobalSnapshot::Marker{{{1}, 1}});
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Completed>(out.events[0]).in_transit, 7u);
  EXPECT_EQ(first.balance, 112u);
  EXPECT_TRUE(first.recordings.empty());
}

TEST(GlobalSnapshot, TheFirstMarkerRecordsAndItsChannelIsEmpty) {
  Out out;
  GlobalSnapshot second = node(2, out);
  second.on_message(out, {1}, GlobalSnapshot::Marker{{{1}, 1}});
  EXPECT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(second.recordings.begin()->second.unmarked, NodeSet{{3}});
}

TEST(GlobalSnapshot, NobodyPaysWhatHeDoesNotHave) {
  Out out;
  GlobalSnapshot first = node(1, out);
  first.on_command(out, Pay{{2}, 1000});
  EXPECT_EQ(first.balance, 0u);
  EXPECT_EQ(std::get<GlobalSnapshot::Payment>(out.sends[0].message).amount, 100u);
  out.clear();
  first.on_command(out, Pay{{2}, 1});
  EXPECT_TRUE(out.sends.empty());
}

TEST(GlobalSnapshot, ALonelyProcessIsASnapshotByItself) {
  Out out;
  GlobalSnapshot only = GlobalSnapshot::start({1}, {{1}}, {.members = {{1}}}, out);
  only.on_command(out, Record{});
  EXPECT_EQ(out.events.size(), 2u);
}

}  // namespace
}  // namespace conclave::causality
