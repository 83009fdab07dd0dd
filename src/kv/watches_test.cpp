#include "kv/watches.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

struct Gallery : testing::Test {
  Replica replica;
  Watches watches{replica.store, {.queued_events = 4, .queued_bytes = 2000, .read_at_once = 3}};

  void put(std::string_view key, std::string_view value) { run(Put{.key = key, .value = value}); }
  void run(const Command& command) {
    replica.apply(command);
    watches.see(replica.outcome);
  }
  // Keys with their revisions, of one delivery.
  std::string take(WatchId id) {
    const Delivery delivery = watches.take(id);
    if (delivery.compacted) return "compacted " + std::to_string(*delivery.compacted);
    std::string out;
    for (const Event& event : delivery.events)
      out += (event.now->is_deletion() ? "-" : "+") + std::string(event.now.key()) +
             std::to_string(event.now->mod) + " ";
    return out + "to " + std::to_string(delivery.revision);
  }
};

TEST_F(Gallery, AWatcherHearsOfItsKeyFromNowOn) {
  put("a", "1");
  const WatchId id = *watches.create({.key = "a"});
  EXPECT_TRUE(watches.is_idle(id));
  put("a", "2");
  put("b", "2");
  run(DeleteRange{.key = "a"});
  EXPECT_EQ(watches.ready(), (std::set<WatchId>{id}));
  EXPECT_EQ(take(id), "+a3 -a5 to 5");
  EXPECT_TRUE(watches.is_idle(id));
}

TEST_F(Gallery, EventsSayWhatWasThereBefore) {
  const WatchId id = *watches.create({.key = "a", .start_revision = 1});
  put("a", "1");
  put("a", "2");
  run(DeleteRange{.key = "a"});
  EXPECT_EQ(texts(watches.take(id).events),
            (std::vector<std::string>{"2 put a=1 c2 m2 v1 l0 over none",
                                      "3 put a=2 c2 m3 v2 l0 over a=1 c2 m2 v1 l0",
                                      "4 delete a over a=2 c2 m3 v2 l0"}));
}

TEST_F(Gallery, RangesThatOverlapAllHear) {
  const WatchId single = *watches.create({.key = "b"});
  const WatchId prefix = *watches.create({.key = "a", .range_end = "c"});
  const WatchId open = *watches.create({.key = "b", .range_end = std::string(1, '\0')});
  const WatchId all = *watches.create({.key = "", .range_end = std::string(1, '\0')});
  const WatchId before = *watches.create({.key = "a", .range_end = "b"});
  put("b", "1");
  EXPECT_EQ(watches.ready(), (std::set<WatchId>{single, prefix, open, all}));
  put("a", "1");
  EXPECT_EQ(watches.ready(), (std::set<WatchId>{single, prefix, open, all, before}));
}

TEST_F(Gallery, ARangeWithoutKeysIsRefused) {
  EXPECT_FALSE(watches.create({.key = "b", .range_end = "a"}));
  EXPECT_FALSE(watches.create({.key = "b", .range_end = "b"}));
  EXPECT_FALSE(watches.create({}));
}

TEST_F(Gallery, FiltersLeaveOutPutsOrDeletes) {
  const WatchId puts = *watches.create({.key = "a", .no_delete = true});
  const WatchId deletes = *watches.create({.key = "a", .no_put = true});
  put("a", "1");
  run(DeleteRange{.key = "a"});
  EXPECT_EQ(take(puts), "+a2 to 3");
  EXPECT_EQ(take(deletes), "-a3 to 3");
}

TEST_F(Gallery, ThePastIsReadInWholeRevisionsAFewAtATime) {
  put("a", "1");  // 2
  Txn txn;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) txn.success.push_back({Put{.key = key}});
  run(txn);       // 3
  put("a", "2");  // 4
  const WatchId id = *watches.create({.key = "a", .range_end = "z", .start_revision = 2});
  EXPECT_FALSE(watches.is_idle(id));
  EXPECT_EQ(take(id), "+a2 +a3 +b3 +c3 +d3 +e3 +f3 to 3");
  EXPECT_EQ(take(id), "+a4 to 4");
  EXPECT_TRUE(watches.is_idle(id));
}

TEST_F(Gallery, AFutureStartWaitsInSilence) {
  const WatchId id = *watches.create({.key = "a", .start_revision = 4});
  put("a", "2");
  put("a", "3");
  EXPECT_TRUE(watches.is_idle(id));
  put("a", "4");
  EXPECT_EQ(take(id), "+a4 to 4");
}

TEST_F(Gallery, ASlowWatcherLosesItsQueueAndNoEvent) {
  const WatchId id = *watches.create({.key = "a"});
  for (int i = 0; i < 10; ++i) put("a", "1");
  EXPECT_EQ(take(id), "+a2 +a3 +a4 to 4");
  put("a", "1");
  EXPECT_EQ(take(id), "+a5 +a6 +a7 to 7");
  EXPECT_EQ(take(id), "+a8 +a9 +a10 to 10");
  EXPECT_EQ(take(id), "+a11 +a12 to 12");
  EXPECT_TRUE(watches.is_idle(id));
  put("a", "1");
  EXPECT_EQ(take(id), "+a13 to 13");
}

TEST_F(Gallery, LargeValuesFillAQueueAsWell) {
  const WatchId id = *watches.create({.key = "a"});
  const std::string large(3000, 'x');
  put("a", large);
  put("a", "1");
  EXPECT_EQ(take(id), "+a2 +a3 to 3");
}

TEST_F(Gallery, AWatcherThatACompactionOvertakesIsTold) {
  const WatchId slow = *watches.create({.key = "a"});
  for (int i = 0; i < 10; ++i) put("a", "1");
  const WatchId from_the_mark = *watches.create({.key = "a", .start_revision = 8});
  run(Compact{8});
  EXPECT_EQ(take(slow), "compacted 8");
  EXPECT_EQ(watches.size(), 1u);
  EXPECT_EQ(take(from_the_mark), "+a8 +a9 +a10 to 10");
  const WatchId late = *watches.create({.key = "a", .start_revision = 7});
  EXPECT_EQ(take(late), "compacted 8");
}

TEST_F(Gallery, WhatIsQueuedDoesNotFearCompactions) {
  const WatchId id = *watches.create({.key = "a"});
  put("a", "1");
  put("a", "2");
  run(Compact{3});
  put("b", "2");
  run(Compact{4});
  EXPECT_EQ(take(id), "+a2 +a3 to 4");
}

TEST_F(Gallery, CancelledWatchersHearNothing) {
  const WatchId id = *watches.create({.key = "a"});
  put("a", "1");
  watches.cancel(id);
  watches.cancel(id);
  EXPECT_TRUE(watches.ready().empty());
  put("a", "2");
  EXPECT_TRUE(watches.take(id).events.empty());
}

TEST_F(Gallery, ATickMayMakeSeveralRevisions) {
  const WatchId id = *watches.create({.key = "a", .range_end = "z"});
  run(LeaseGrant{1, 1});
  run(LeaseGrant{2, 1});
  run(Put{.key = "a", .lease = 1});
  run(Put{.key = "b", .lease = 2});
  EXPECT_EQ(take(id), "+a2 +b3 to 3");
  run(Tick{1, 0});
  run(Tick{1, 1000});
  EXPECT_EQ(take(id), "-a4 -b5 to 5");
}

}  // namespace
}  // namespace conclave::kv
