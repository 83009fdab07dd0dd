#include "kv/store.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

constexpr std::string_view zero = KeyRange::no_end;

TEST(Store, BeginsAtRevisionOneAndTheFirstWriteIsTwo) {
  Replica replica;
  EXPECT_EQ(replica.store.revision(), 1);
  EXPECT_EQ(replica.put("a", "1"), "2: put over none");
}

TEST(Store, APutKeepsTheCreateRevisionUntilADelete) {
  Replica replica;
  replica.put("a", "1");
  replica.put("a", "1");
  EXPECT_EQ(replica.get("a"), "[a=1 c2 m3 v2 l0] of 1");
  replica.remove("a");
  EXPECT_EQ(replica.get("a"), "[] of 0");
  replica.put("a", "2");
  EXPECT_EQ(replica.get("a"), "[a=2 c5 m5 v1 l0] of 1");
}

TEST(Store, ADeleteOfNothingKeepsTheRevision) {
  Replica replica;
  replica.put("a", "1");
  EXPECT_EQ(replica.remove("b"), "2: deleted 0 []");
  EXPECT_EQ(replica.ask(DeleteRange{.key = "b", .range_end = "a"}), "2: deleted 0 []");
}

TEST(Store, ADeleteOfARangeIsOneRevisionInTheOrderOfKeys) {
  Replica replica;
  for (const char* key : {"b", "a", "c", "d"}) replica.put(key, "1");
  EXPECT_EQ(replica.ask(DeleteRange{.key = "a", .range_end = "d", .prev_kv = true}),
            "6: deleted 3 [a=1 c3 m3 v1 l0, b=1 c2 m2 v1 l0, c=1 c4 m4 v1 l0]");
  EXPECT_EQ(texts(replica.outcome.events),
            (std::vector<std::string>{"6 delete a over a=1 c3 m3 v1 l0", "6 delete b over b=1 c2 m2 v1 l0",
                                      "6 delete c over c=1 c4 m4 v1 l0"}));
}

TEST(Store, ADeletionsRecordSaysNothingButKeyAndRevision) {
  Replica replica;
  replica.put("a", "1");
  replica.remove("a");
  const Record& deletion = *replica.outcome.events.at(0).now;
  EXPECT_EQ(deletion.mod, 3);
  EXPECT_EQ(deletion.create(), 0);
  EXPECT_EQ(deletion.version(), 0);
  EXPECT_TRUE(deletion.value().empty());
}

TEST(Store, PutsRefuseWhatEtcdRefuses) {
  Replica replica;
  EXPECT_EQ(replica.put("", "1"), "1: key is not provided");
  EXPECT_EQ(replica.put("a", "1", 7), "1: requested lease not found");
  EXPECT_EQ(replica.ask(Put{.key = "a", .ignore_value = true}), "1: key not found");
  EXPECT_EQ(replica.ask(Put{.key = "a", .ignore_lease = true}), "1: key not found");
  EXPECT_EQ(replica.ask(Put{.key = "a", .value = "1", .ignore_value = true}), "1: value is provided");
  EXPECT_EQ(replica.ask(Put{.key = "a", .lease = 1, .ignore_lease = true}), "1: lease is provided");
  EXPECT_EQ(replica.store.revision(), 1);
}

TEST(Store, APutMayKeepTheValueOrTheLeaseThereIs) {
  Replica replica;
  replica.ask(LeaseGrant{1, 10});
  replica.put("a", "1", 1);
  replica.ask(Put{.key = "a", .value = "2", .ignore_lease = true});
  EXPECT_EQ(replica.get("a"), "[a=2 c2 m3 v2 l1] of 1");
  replica.ask(Put{.key = "a", .ignore_value = true});
  EXPECT_EQ(replica.get("a"), "[a=2 c2 m4 v3 l0] of 1");
}

struct ThreeKeys : testing::Test {
  Replica replica;
  void SetUp() override {
    replica.put("c", "1");  // 2
    replica.put("a", "3");  // 3
    replica.put("b", "2");  // 4
    replica.put("c", "1");  // 5
  }
};
using StoreRange = ThreeKeys;

TEST_F(StoreRange, IsOneKeyOrHalfOpenOrEverythingFromAKeyOn) {
  EXPECT_EQ(replica.get("a"), "[a=3 c3 m3 v1 l0] of 1");
  EXPECT_EQ(replica.range({.key = "a", .range_end = "c"}), "[a=3 c3 m3 v1 l0, b=2 c4 m4 v1 l0] of 2");
  EXPECT_EQ(replica.range({.key = "b", .range_end = zero}), "[b=2 c4 m4 v1 l0, c=1 c2 m5 v2 l0] of 2");
  EXPECT_EQ(replica.range({.key = zero, .range_end = zero, .count_only = true}), "[] of 3");
  EXPECT_EQ(replica.range({.key = "c", .range_end = "a"}), "[] of 0");
  EXPECT_EQ(replica.range({.key = ""}), "key is not provided");
}

TEST_F(StoreRange, CountsWhatFiltersAndLimitLeaveOut) {
  EXPECT_EQ(replica.range({.key = "a", .range_end = zero, .limit = 1}), "[a=3 c3 m3 v1 l0] of 3 and more");
  EXPECT_EQ(replica.range({.key = "a", .range_end = zero, .limit = 3, .min_mod_revision = 5}),
            "[c=1 c2 m5 v2 l0] of 3");
  EXPECT_EQ(replica.range({.key = "a", .range_end = zero, .max_create_revision = 1}), "[] of 3");
  EXPECT_EQ(replica.range({.key = "a", .range_end = zero, .limit = 1, .min_create_revision = 3}),
            "[a=3 c3 m3 v1 l0] of 3 and more");
}

TEST_F(StoreRange, IsSortedByAnyField) {
  const auto first = [&](SortTarget target, SortOrder order) {
    const auto found = replica.store.range(
        {.key = "a", .range_end = zero, .limit = 1, .sort_order = order, .sort_target = target});
    return std::string(found->kvs.at(0).key());
  };
  EXPECT_EQ(first(SortTarget::create, SortOrder::ascend), "c");
  EXPECT_EQ(first(SortTarget::create, SortOrder::descend), "b");
  EXPECT_EQ(first(SortTarget::mod, SortOrder::none), "a");
  EXPECT_EQ(first(SortTarget::value, SortOrder::none), "c");
  EXPECT_EQ(first(SortTarget::version, SortOrder::descend), "c");
  EXPECT_EQ(first(SortTarget::key, SortOrder::descend), "c");
}

TEST_F(StoreRange, ReadsThePast) {
  EXPECT_EQ(replica.range({.key = "a", .range_end = zero, .revision = 3}),
            "[a=3 c3 m3 v1 l0, c=1 c2 m2 v1 l0] of 2");
  EXPECT_EQ(replica.get("c", 1), "[] of 0");
  EXPECT_EQ(replica.get("c", 6), "mvcc: required revision is a future revision");
}

TEST_F(StoreRange, ReadsThePastDownToTheCompactedRevision) {
  EXPECT_EQ(replica.ask(Compact{6}), "5: mvcc: required revision is a future revision");
  EXPECT_EQ(replica.ask(Compact{4}), "5: done");
  EXPECT_EQ(replica.ask(Compact{4}), "5: mvcc: required revision has been compacted");
  EXPECT_EQ(replica.get("c", 3), "mvcc: required revision has been compacted");
  EXPECT_EQ(replica.get("c", 4), "[c=1 c2 m2 v1 l0] of 1");
  EXPECT_EQ(replica.get("c"), "[c=1 c2 m5 v2 l0] of 1");
}

TEST(Store, CompactionsGoAFewRecordsAtATimeAndTakeDeletedKeysWithThem) {
  Replica replica;
  constexpr int many = 1000;
  for (int i = 0; i < many; ++i) replica.put("k" + std::to_string(i % 50), std::to_string(i));
  replica.ask(DeleteRange{.key = "k", .range_end = "l"});
  const std::uint64_t before = replica.store.history().bytes();
  replica.ask(Compact{replica.store.revision()});
  EXPECT_FALSE(replica.store.history().is_swept());
  EXPECT_GT(replica.store.history().bytes(), before / 2);
  int commands = 0;
  while (!replica.store.history().is_swept()) {
    replica.tick(0);
    ++commands;
    EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
  }
  EXPECT_GT(commands, 10);
  EXPECT_LT(commands, 100);
  replica.put("z", "1");
  replica.ask(Compact{replica.store.revision()});
  for (int i = 0; i < 100; ++i) replica.tick(0);
  EXPECT_EQ(replica.store.history().keys().size(), 1u);
  EXPECT_LT(replica.store.history().bytes(), 200u);
}

TEST(Store, ASweepTakesManyRecordsAtOnce) {
  Replica replica;
  for (int i = 0; i < 10'000; ++i) replica.put("k" + std::to_string(i % 50), std::to_string(i));
  replica.ask(Compact{replica.store.revision()});
  EXPECT_EQ(replica.ask(Sweep{max_swept + 1, 0}), "10001: request is too large");
  EXPECT_EQ(replica.ask(Sweep{4000, 0}), "10001: done");
  EXPECT_FALSE(replica.store.history().is_swept());
  EXPECT_LT(replica.store.history().records(), 6100u);
  EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
  for (int i = 0; i < 2; ++i) replica.ask(Sweep{4000, 0});
  EXPECT_TRUE(replica.store.history().is_swept());
  EXPECT_EQ(replica.store.history().records(), 51u) << "and what the last put replaced";
}

// Nothing may come after a deletion of everything that could let the next compaction take what it left.
TEST(Store, AMarkIsSweptItselfIfSomebodySaysSo) {
  Replica replica;
  for (int i = 0; i < 100; ++i) replica.put("k" + std::to_string(i), "value");
  replica.ask(DeleteRange{.key = "k", .range_end = "l"});
  replica.ask(Compact{102});
  for (const Revision through : {Revision{0}, Revision{101}}) {
    replica.ask(Sweep{1000, through});
    EXPECT_EQ(replica.store.history().records(), 200u);
    EXPECT_EQ(replica.store.history().first_watchable(), 102);
  }
  replica.ask(Sweep{1, 102});
  EXPECT_EQ(replica.store.history().first_watchable(), 103) << "what is there of it is not whole";
  EXPECT_EQ(restored(snapshot_of(replica.store)).value()->digest(), replica.store.digest());
  while (!replica.store.history().is_swept(102)) replica.ask(Sweep{10, 102});
  EXPECT_EQ(replica.store.history().records(), 0u);
  EXPECT_EQ(replica.store.bytes(), 0u);
  EXPECT_EQ(replica.get("k1", 102), "[] of 0");
  EXPECT_EQ(replica.get("k1", 101), "mvcc: required revision has been compacted");
  EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
  EXPECT_EQ(restored(snapshot_of(replica.store)).value()->digest(), replica.store.digest());
  replica.put("a", "1");
  EXPECT_EQ(replica.get("a", 102), "[] of 0");
  EXPECT_EQ(replica.get("a", 103), "[a=1 c103 m103 v1 l0] of 1");
}

TEST(Store, KnowsHowMuchOfItLives) {
  Replica replica;
  replica.ask(LeaseGrant{1, 60});
  const std::uint64_t lease = replica.store.bytes();
  EXPECT_EQ(replica.store.live_bytes(), lease);
  replica.put("a", "12345");
  const std::uint64_t one = replica.store.bytes();
  EXPECT_EQ(replica.store.live_bytes(), one);
  replica.put("a", "54321");
  EXPECT_EQ(replica.store.live_bytes(), one);
  EXPECT_EQ(replica.store.history().superseded(), record_bytes + 6);
  const std::uint64_t two = replica.store.bytes();
  replica.remove("a");
  EXPECT_EQ(replica.store.live_bytes(), lease);
  EXPECT_GT(replica.store.bytes(), two);
  const auto again = restored(snapshot_of(replica.store));
  EXPECT_EQ(again.value()->live_bytes(), lease);
  EXPECT_EQ(again.value()->bytes(), replica.store.bytes());
  replica.ask(LeaseRevoke{1});
  EXPECT_EQ(replica.store.live_bytes(), 0u);
}

TEST(Store, WhatAReaderHeldIsGivenBackWithoutACommand) {
  Replica replica;
  for (int i = 0; i < 1000; ++i) replica.put("a", std::to_string(i));
  {
    const History::Hold hold = replica.store.history().hold();
    replica.ask(Compact{1001});
    replica.ask(Sweep{1000, 1001});
    EXPECT_FALSE(replica.store.tidy(1000)) << "there is nothing to be given back yet";
  }
  EXPECT_TRUE(replica.store.tidy(100));
  EXPECT_FALSE(replica.store.tidy(1000));
  EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
}

TEST(Store, AKeyMayComeBackWhileACompactionForgetsIt) {
  Replica replica;
  for (int i = 0; i < 200; ++i) replica.put("a", std::to_string(i));
  replica.remove("a");
  replica.put("b", "1");
  replica.ask(Compact{replica.store.revision()});
  replica.put("a", "again");
  for (int i = 0; i < 50; ++i) replica.tick(0);
  EXPECT_EQ(replica.get("a"), "[a=again c204 m204 v1 l0] of 1");
  EXPECT_EQ(replica.get("a", 203), "[] of 0");
  EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
}

TEST(Store, AHotKeyIsReadAtAnyRevisionWithoutLookingAtAll) {
  Replica replica;
  for (int i = 0; i < 5000; ++i) replica.put("a", std::to_string(i));
  EXPECT_EQ(replica.get("a", 2502), "[a=2500 c2 m2502 v2501 l0] of 1");
  replica.ask(Compact{4000});
  for (int i = 0; i < 200; ++i) replica.tick(0);
  EXPECT_EQ(replica.get("a", 4000), "[a=3998 c2 m4000 v3999 l0] of 1");
  EXPECT_LT(replica.store.history().bytes(), 1100u * (record_bytes + 6));
}

TEST(Store, SharedRecordsOutliveTheStore) {
  RecordRef kept;
  {
    Replica replica;
    replica.put("a", "1");
    kept = replica.store.range({.key = "a"})->kvs.at(0);
    replica.remove("a");
    replica.ask(Compact{3});
    replica.put("b", "1");
    replica.ask(Compact{4});
    EXPECT_EQ(replica.store.history().keys().find("a"), nullptr);
  }
  EXPECT_EQ(text(kept), "a=1 c2 m2 v1 l0");
}

TEST(Store, AnEntryThatCannotBeDecodedChangesNothing) {
  Replica replica;
  const Digest before = replica.store.digest();
  const Bytes nonsense = {200, 1, 2};
  const auto answer = replica.store.apply(nonsense, {5, 1}, replica.outcome);
  EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(replica.store.digest(), before);
}

TEST(Store, AnEntryIsAppliedOnce) {
  Replica replica;
  replica.put("a", "1");
  EXPECT_THROW(replica.store.apply(Command(Put{.key = "a"}), replica.context, replica.outcome),
               InvariantViolation);
}

TEST(Store, TheDigestTellsDifferentStatesApart) {
  Replica one;
  Replica other;
  one.put("a", "1");
  other.put("a", "2");
  EXPECT_NE(one.store.digest(), other.store.digest());
  one.put("a", "2");
  other.put("a", "2");
  EXPECT_NE(one.store.digest(), other.store.digest()) << "the history differs";
}

TEST(Store, TheDigestAtARevisionDoesNotDependOnHowFarSweepingHasCome) {
  Replica swept;
  Replica unswept;
  for (Replica* replica : {&swept, &unswept}) {
    for (int i = 0; i < 400; ++i) replica->put("k" + std::to_string(i % 30), std::to_string(i));
    replica->ask(DeleteRange{.key = "k1", .range_end = "k2"});
    replica->put("k11", "again");
    replica->ask(Compact{402});
  }
  const Digest before = unswept.store.history().digest_at(300);
  for (int i = 0; i < 100; ++i) swept.tick(0);
  EXPECT_FALSE(unswept.store.history().is_swept());
  EXPECT_TRUE(swept.store.history().is_swept());
  for (const Revision revision : {402, 403})
    EXPECT_EQ(swept.store.history().digest_at(revision), unswept.store.history().digest_at(revision));
  EXPECT_NE(unswept.store.history().digest_at(402), unswept.store.history().digest_at(403));
  EXPECT_NE(unswept.store.history().digest_at(402), before);
}

TEST(Store, AlarmsRefuseWhatTakesSpace) {
  Replica replica;
  replica.put("a", "1");
  replica.ask(Alarm{7, AlarmKind::no_space, true});
  EXPECT_EQ(replica.put("a", "2"), "2: mvcc: database space exceeded");
  EXPECT_EQ(replica.ask(LeaseGrant{1, 10}), "2: mvcc: database space exceeded");
  Txn reads;
  reads.success.push_back({Range{.key = "a"}});
  EXPECT_EQ(replica.ask(reads), "2: then([a=1 c2 m2 v1 l0] of 1;)");
  Txn puts;
  puts.failure.push_back({Put{.key = "a"}});
  EXPECT_EQ(replica.ask(puts), "2: mvcc: database space exceeded");
  EXPECT_EQ(replica.remove("a"), "3: deleted 1 []");
  Txn deletes;
  deletes.compare.push_back({.target = CompareTarget::mod, .key = "a"});
  deletes.success.push_back({DeleteRange{.key = "a"}});
  EXPECT_EQ(replica.ask(deletes), "3: then(deleted 0 [];)");
  EXPECT_EQ(replica.ask(Compact{2}), "3: done");
  EXPECT_EQ(replica.ask(Sweep{10, 2}), "3: done");
  EXPECT_EQ(replica.ask(LeaseRenew{{1}}), "3: renewed 0");
  EXPECT_EQ(replica.ask(LeaseRevoke{1}), "3: requested lease not found");
  replica.ask(Alarm{7, AlarmKind::no_space, false});
  EXPECT_EQ(replica.put("a", "2"), "4: put over none");
  replica.ask(Alarm{7, AlarmKind::corrupt, true});
  EXPECT_EQ(replica.remove("a"), "4: corrupt cluster");
}

TEST(Txn, ComparesMissingKeysAsZeroAndTheirValueAsNothing) {
  Replica replica;
  const auto holds = [&](Compare compare) {
    Txn txn;
    compare.key = "missing";
    txn.compare.push_back(compare);
    return std::get<TxnResult>(replica.apply(txn).result).succeeded;
  };
  EXPECT_TRUE(holds({.target = CompareTarget::version, .number = 0}));
  EXPECT_TRUE(holds({.target = CompareTarget::create, .number = 0}));
  EXPECT_TRUE(holds({.result = CompareResult::less, .target = CompareTarget::mod, .number = 1}));
  EXPECT_TRUE(holds({.target = CompareTarget::lease, .number = 0}));
  EXPECT_FALSE(holds({.target = CompareTarget::value, .value = ""}));
  EXPECT_FALSE(holds({.result = CompareResult::not_equal, .target = CompareTarget::value, .value = "x"}));
}

TEST(Txn, AComparisonOfARangeMustHoldForEveryKey) {
  Replica replica;
  replica.put("a1", "x");
  replica.put("a2", "y");
  Txn txn;
  txn.compare.push_back({.result = CompareResult::greater,
                         .target = CompareTarget::mod,
                         .key = "a",
                         .range_end = "b",
                         .number = 1});
  EXPECT_EQ(replica.ask(txn), "3: then()");
  txn.compare[0].number = 2;
  EXPECT_EQ(replica.ask(txn), "3: else()");
}

TEST(Txn, RunsInOneRevisionAndReadsItsOwnWrites) {
  Replica replica;
  Txn txn;
  txn.success.push_back({Put{.key = "a", .value = "1"}});
  txn.success.push_back({Range{.key = "a"}});
  txn.success.push_back({Put{.key = "b", .value = "2"}});
  EXPECT_EQ(replica.ask(txn), "2: then(put over none;[a=1 c2 m2 v1 l0] of 1;put over none;)");
  EXPECT_EQ(replica.outcome.events.at(1).now->sub, 1u);
}

TEST(Txn, NestedComparisonsSeeTheStateBeforeTheWhole) {
  Replica replica;
  Txn nested;
  nested.compare.push_back({.target = CompareTarget::version, .key = "a", .number = 0});
  nested.success.push_back({Put{.key = "b", .value = "a was missing"}});
  Txn txn;
  txn.success.push_back({Put{.key = "a", .value = "1"}});
  txn.success.push_back({nested});
  EXPECT_EQ(replica.ask(txn), "2: then(put over none;then(put over none;);)");
}

TEST(Txn, AnErrorLeavesNoTrace) {
  Replica replica;
  replica.put("a", "1");
  Txn txn;
  txn.success.push_back({Put{.key = "a", .value = "2"}});
  txn.success.push_back({Put{.key = "b", .lease = 9}});
  EXPECT_EQ(replica.ask(txn), "2: requested lease not found");
  txn.success[1] = {Range{.key = "a", .revision = 3}};
  EXPECT_EQ(replica.ask(txn), "2: mvcc: required revision is a future revision");
  txn.success[1] = {Put{.key = "c", .ignore_value = true}};
  EXPECT_EQ(replica.ask(txn), "2: key not found");
  EXPECT_EQ(replica.get("a"), "[a=1 c2 m2 v1 l0] of 1");
  EXPECT_TRUE(replica.outcome.events.empty());
}

// ---- a new cluster that begins with an old state

TEST(BeginAnew, NoRevisionAndNoFenceIsGivenTwice) {
  Replica replica;
  replica.ask(LeaseGrant{1, 5});
  replica.ask(LeaseGrant{2, 5});
  replica.put("a", "1");
  replica.put("a", "2");
  replica.put("gone", "x");
  replica.remove("gone");
  EXPECT_EQ(replica.ask(Lock{"door", 2}), "6: door/2 fence 6 first");
  EXPECT_EQ(replica.ask(Lock{"door", 1}), "7: door/1 fence 7 waits");
  replica.put("leased", "y", 1);
  replica.store.begin_anew(1000);
  // One revision took the places away, and each was given back in one of its own.
  EXPECT_EQ(replica.store.revision(), 1011);
  EXPECT_EQ(replica.get("a"), "[a=2 c2 m3 v2 l0] of 1");
  EXPECT_EQ(replica.get("leased"), "[leased=y c8 m8 v1 l1] of 1");
  EXPECT_EQ(replica.get("gone"), "[] of 0");
  for (const Revision seen : {2, 8, 1000, 1010})
    EXPECT_EQ(replica.get("a", seen), text(Error::compacted)) << seen;
  replica.context = replica.store.applied();
  EXPECT_EQ(replica.ask(Lock{"door", 2}), "1011: door/2 fence 1010 first");
  EXPECT_EQ(replica.ask(Lock{"door", 1}), "1011: door/1 fence 1011 waits");
  EXPECT_EQ(replica.put("a", "3"), "1012: put over none");
}

TEST(BeginAnew, LeasesRunAgainAndAlarmsAreGone) {
  Replica replica;
  replica.ask(LeaseGrant{1, 5});
  replica.tick(500);
  for (int i = 0; i < 4; ++i) replica.tick(1000);
  ASSERT_EQ(replica.store.leases().remaining(*replica.store.leases().find(1)), 1);
  replica.ask(Alarm{3, AlarmKind::no_space, true});
  replica.store.begin_anew(1);
  EXPECT_EQ(replica.store.leases().remaining(*replica.store.leases().find(1)), 5);
  EXPECT_TRUE(replica.store.alarms().empty());
  replica.context = replica.store.applied();
  EXPECT_EQ(replica.context.term, 2u);
  replica.tick(500);
  for (int i = 0; i < 4; ++i) replica.tick(1000);
  EXPECT_TRUE(replica.store.leases().find(1));
  replica.tick(1000);
  EXPECT_FALSE(replica.store.leases().find(1));
}

TEST(BeginAnew, IsTheSameEverywhereAndSurvivesASnapshot) {
  Replica replica;
  replica.ask(LeaseGrant{7, 5});
  for (int i = 0; i < 100; ++i) replica.put("k" + std::to_string(i % 7), std::to_string(i), i % 2 ? 7 : 0);
  replica.ask(Campaign{"crown", 7, "one"});
  const Bytes saved = snapshot_of(replica.store);
  Bytes first;
  for (const std::uint64_t table_seed : {1, 2}) {
    const auto store = restored(saved, table_seed);
    ASSERT_TRUE(store);
    (*store)->begin_anew(1'000'000'000);
    EXPECT_EQ((*store)->digest(), (*store)->recomputed_digest());
    const Bytes bytes = snapshot_of(**store);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
    const auto again = restored(bytes);
    ASSERT_TRUE(again);
    EXPECT_EQ((*again)->digest(), (*store)->digest());
    EXPECT_EQ((*again)->oldest({"crown/", "crown0"})->value(), "one");
  }
}

TEST(Places, AreKeysThatAreNamedAfterTheirOwnLease) {
  EXPECT_EQ(line_of("door/1f", 0x1f), "door");
  EXPECT_EQ(line_of("a/b/1f", 0x1f), "a/b");
  EXPECT_EQ(line_of("door/1f", 0x2f), std::nullopt);
  EXPECT_EQ(line_of("door1f", 0x1f), std::nullopt);
  EXPECT_EQ(line_of("door/0", 0), std::nullopt);
  Replica replica;
  replica.ask(LeaseGrant{1, 5});
  replica.ask(LeaseGrant{2, 5});
  replica.put("x/3", "no place", 1);
  replica.ask(Lock{"b", 2});
  replica.ask(Lock{"a", 1});
  std::vector<std::string> names;
  for (const Key* key : replica.store.places()) names.emplace_back(key->text());
  EXPECT_EQ(names, (std::vector<std::string>{"b/2", "a/1"}));
}

}  // namespace
}  // namespace conclave::kv
