#include "kv/leases.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

TEST(Leases, TakeTheirKeysWithThemInOneRevisionAndInTheOrderOfKeys) {
  Replica replica;
  EXPECT_EQ(replica.ask(LeaseGrant{7, 10}), "1: lease 7 for 10");
  replica.put("b", "1", 7);
  replica.put("a", "1", 7);
  replica.put("c", "1");
  EXPECT_EQ(replica.ask(LeaseRevoke{7}), "5: done");
  EXPECT_EQ(texts(replica.outcome.events),
            (std::vector<std::string>{"5 delete a over a=1 c3 m3 v1 l7", "5 delete b over b=1 c2 m2 v1 l7"}));
  EXPECT_EQ(replica.outcome.ended, (std::vector<LeaseId>{7}));
  EXPECT_EQ(replica.ask(LeaseRevoke{7}), "5: requested lease not found");
}

// Nothing is kept of leases that are gone, although the clock stands still.
TEST(Leases, LeaveNothingBehindBetweenTwoStepsOfTheClock) {
  Replica replica;
  replica.ask(LeaseGrant{1, 10});
  for (int i = 0; i < 1000; ++i) {
    replica.ask(LeaseGrant{2 + i % 3, 10});
    replica.ask(LeaseRevoke{2 + i % 3});
  }
  EXPECT_LE(replica.store.leases().fresh(), 4u);
  for (int i = 0; i < 1000; ++i) {  // the same two ids, in turn
    replica.ask(LeaseGrant{2 + i % 2, 10});
    replica.ask(LeaseRevoke{3 - i % 2});
  }
  EXPECT_LE(replica.store.leases().fresh(), 8u);
  replica.tick(1000);
  EXPECT_NE(replica.store.leases().find(1)->deadline, 0u);
}

TEST(Leases, CountInWhatTheStoreTakesAndGiveItBack) {
  Replica replica;
  const std::uint64_t empty = replica.store.bytes();
  for (LeaseId id = 1; id <= 100; ++id) replica.ask(LeaseGrant{id, 10});
  const std::uint64_t granted = replica.store.bytes();
  EXPECT_GE(granted, empty + 100 * (sizeof(Lease) + sizeof(SnapshotLease)));
  replica.put("a", "1", 7);
  replica.put("a", "2", 7);
  const std::uint64_t history = replica.store.history().bytes();
  EXPECT_GT(replica.store.bytes(), granted + history);
  const auto copy = restored(snapshot_of(replica.store));
  ASSERT_TRUE(copy);
  EXPECT_EQ((*copy)->bytes(), replica.store.bytes());
  for (LeaseId id = 1; id <= 100; ++id) replica.ask(LeaseRevoke{id});
  EXPECT_LT(replica.store.bytes(), granted);
  EXPECT_EQ(replica.store.leases().bytes(), 0u);
}

TEST(Leases, WithNegativeIdsNamePlacesWithASign) {
  Replica replica;
  replica.ask(LeaseGrant{-1, 10});
  EXPECT_EQ(replica.ask(Lock{"door", -1}), "2: door/-1 fence 2 first");
  EXPECT_EQ(key_in_line("x", std::numeric_limits<LeaseId>::min()), "x/-8000000000000000");
  EXPECT_EQ(key_in_line("x", std::numeric_limits<LeaseId>::max()), "x/7fffffffffffffff");
  EXPECT_EQ(line_of("door/-1", -1), "door");
  EXPECT_EQ(line_of("door/ffffffffffffffff", -1), std::nullopt);
  EXPECT_EQ(replica.ask(LeaseRevoke{-1}), "3: done");
}

TEST(Leases, WithoutKeysEndWithoutARevision) {
  Replica replica;
  replica.ask(LeaseGrant{7, 10});
  EXPECT_EQ(replica.ask(LeaseRevoke{7}), "1: done");
}

TEST(Leases, AKeyGoesWithItsLastLeaseOnly) {
  Replica replica;
  replica.ask(LeaseGrant{1, 10});
  replica.ask(LeaseGrant{2, 10});
  replica.put("a", "1", 1);
  replica.put("a", "1", 2);
  replica.put("b", "1", 1);
  replica.put("b", "1");
  replica.ask(LeaseRevoke{1});
  EXPECT_EQ(replica.range({.key = "a", .range_end = "c", .count_only = true}), "[] of 2");
  replica.ask(LeaseRevoke{2});
  EXPECT_EQ(replica.range({.key = "a", .range_end = "c", .count_only = true}), "[] of 1");
}

TEST(Leases, EndWhenTheClusterHasCountedTheirTime) {
  Replica replica;
  replica.ask(LeaseGrant{1, 2});
  replica.put("a", "1", 1);
  replica.tick(400);  // it runs from here
  replica.tick(1000);
  replica.tick(999);
  EXPECT_TRUE(replica.outcome.ended.empty());
  EXPECT_EQ(replica.store.leases().remaining(*replica.store.leases().find(1)), 0);
  EXPECT_EQ(replica.tick(1), "3: done");
  EXPECT_EQ(replica.outcome.ended, (std::vector<LeaseId>{1}));
}

TEST(Leases, BeginAtTheNextStepBecauseNobodyKnowsHowLateItIs) {
  Replica replica;
  replica.tick(1000);
  replica.ask(LeaseGrant{1, 1});  // perhaps just before the next step
  replica.tick(1000);
  EXPECT_TRUE(replica.outcome.ended.empty());
  replica.tick(1000);
  EXPECT_EQ(replica.outcome.ended.size(), 1u);
}

TEST(Leases, ARenewalThatIsCommittedFirstWins) {
  Replica replica;
  replica.ask(LeaseGrant{1, 1});
  replica.tick(0);
  EXPECT_EQ(replica.ask(LeaseRenew{{1, 2}}), "1: renewed 1 0");
  replica.tick(1000);
  EXPECT_TRUE(replica.outcome.ended.empty());
  EXPECT_EQ(replica.store.leases().remaining(*replica.store.leases().find(1)), 1);
}

TEST(Leases, ADeposedLeadersTimeIsVoid) {
  Replica replica;
  replica.ask(LeaseGrant{1, 1});
  replica.tick(0);
  replica.context.term = 2;
  replica.ask(Tick{1, 1500});
  EXPECT_TRUE(replica.outcome.ended.empty());
  EXPECT_EQ(replica.store.leases().clock_ms(), 0u);
}

TEST(Leases, AChangeOfLeadersNeitherExtendsNorShortensThem) {
  Replica replica;
  replica.ask(LeaseGrant{1, 3});
  replica.tick(0);
  replica.tick(1500);
  replica.context.term = 2;
  replica.tick(1499);
  EXPECT_TRUE(replica.outcome.ended.empty());
  replica.tick(1);
  EXPECT_EQ(replica.outcome.ended.size(), 1u);
}

TEST(Leases, ALeaderThatSleptCountsLittleOfIt) {
  Replica replica;
  replica.ask(LeaseGrant{1, 60});
  replica.tick(0);
  replica.tick(3'600'000);
  EXPECT_EQ(replica.store.leases().clock_ms(), longest_step_ms);
  EXPECT_TRUE(replica.outcome.ended.empty());
}

TEST(Leases, ManyThatEndAtOnceAreSpreadOverTicks) {
  Replica replica;
  for (LeaseId id = 1; id <= 1000; ++id) replica.ask(LeaseGrant{id, 1});
  replica.tick(0);
  replica.tick(1000);
  EXPECT_EQ(replica.outcome.ended.size(), 256u);
  EXPECT_TRUE(replica.store.leases().has_due());
  for (int i = 0; i < 3; ++i) replica.tick(0);
  EXPECT_FALSE(replica.store.leases().has_due());
  EXPECT_TRUE(replica.store.leases().all().empty());
}

TEST(Leases, AnIdIsPickedForWhoHasNoneAndTheSameEverywhere) {
  Replica one;
  Replica other;
  const auto picked = std::get<LeaseResult>(one.apply(LeaseGrant{0, 5}).result);
  EXPECT_GT(picked.id, 0);
  EXPECT_EQ(std::get<LeaseResult>(other.apply(LeaseGrant{0, 5}).result).id, picked.id);
  EXPECT_EQ(one.ask(LeaseGrant{picked.id, 5}), "1: lease already exists");
  EXPECT_NE(std::get<LeaseResult>(one.apply(LeaseGrant{0, 5}).result).id, picked.id);
}

TEST(Leases, LastASecondAtLeast) {
  Replica replica;
  EXPECT_EQ(replica.ask(LeaseGrant{1, 0}), "1: lease 1 for 1");
  EXPECT_EQ(replica.ask(LeaseGrant{2, -5}), "1: lease 2 for 1");
}

}  // namespace
}  // namespace conclave::kv
