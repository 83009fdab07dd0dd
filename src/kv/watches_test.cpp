#include "kv/watches.hpp"

#include <gtest/gtest.h>

#include <ranges>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

constexpr StreamId one = 1, other = 2;

struct Gallery : testing::Test {
  Replica replica;
  Watches watches{replica.store, {.noted_events = 8, .noted_bytes = 2000, .gathered_bytes = 4000, .near = 4}};
  std::map<std::pair<StreamId, WatchName>, std::string> heard = {};
  std::set<StreamId> full = {};
  std::size_t deliveries = 0;
  const Watches::Hear hear = [this](const Delivery& delivery) {
    if (full.contains(delivery.stream)) return false;
    ++deliveries;
    std::string& out = heard[{delivery.stream, delivery.watch}];
    if (delivery.compacted) out += "compacted " + std::to_string(*delivery.compacted);
    for (const Event& event : delivery.events)
      out += (event.now->is_deletion() ? "-" : "+") + std::string(event.now.key()) +
             std::to_string(event.now->mod) + " ";
    out += "| ";
    return true;
  };

  void put(std::string_view key, std::string_view value = "1") { run(Put{.key = key, .value = value}); }
  void run(const Command& command) {
    replica.apply(command);
    watches.see(replica.outcome);
  }
  // Everything, a little at a time.
  void tell(std::size_t steps = 1000) {
    int turns = 0;
    for (bool more = true; more; ++turns) {
      ASSERT_LT(turns, 1'000'000) << "this does not end";
      more = watches.tell_news(steps, hear);
      more = watches.tell_history(steps, hear) || more;
    }
  }
  // Keys with their revisions, by deliveries, since it was asked last.
  std::string told(WatchName watch, StreamId stream = one) {
    return std::exchange(heard[{stream, watch}], "");
  }
  void make_room(StreamId stream) {
    full.erase(stream);
    watches.room(stream);
  }
};

TEST_F(Gallery, AWatcherHearsOfItsKeyFromNowOn) {
  put("a", "1");
  watches.create(one, 7, {.key = "a"});
  EXPECT_TRUE(watches.is_idle(one, 7));
  put("a", "2");
  EXPECT_FALSE(watches.is_idle(one, 7));
  EXPECT_FALSE(watches.is_idle(one));
  put("b", "2");
  run(DeleteRange{.key = "a"});
  tell();
  EXPECT_EQ(told(7), "+a3 -a5 | ");
  EXPECT_TRUE(watches.is_idle(one, 7));
  EXPECT_TRUE(watches.is_idle(one));
}

TEST_F(Gallery, EventsSayWhatWasThereBefore) {
  watches.create(one, 0, {.key = "a"});
  std::vector<std::string> all;
  const auto listen = [&](const Delivery& delivery) {
    for (const std::string& text : texts(delivery.events)) all.push_back(text);
    return true;
  };
  put("a", "1");
  put("a", "2");
  run(DeleteRange{.key = "a"});
  const std::vector<std::string> expected = {"2 put a=1 c2 m2 v1 l0 over none",
                                             "3 put a=2 c2 m3 v2 l0 over a=1 c2 m2 v1 l0",
                                             "4 delete a over a=2 c2 m3 v2 l0"};
  watches.tell_news(100, listen);
  EXPECT_EQ(all, expected);
  all.clear();
  watches.create(one, 1, {.key = "a", .start_revision = 1});
  watches.tell_history(100, listen);
  EXPECT_EQ(all, expected) << "from the history";
}

TEST_F(Gallery, RangesThatOverlapAllHear) {
  watches.create(one, 1, {.key = "b"});
  watches.create(one, 2, {.key = "a", .range_end = "c"});
  watches.create(one, 3, {.key = "b", .range_end = std::string(1, '\0')});
  watches.create(one, 4, {.key = "", .range_end = std::string(1, '\0')});
  watches.create(one, 5, {.key = "a", .range_end = "b"});
  put("b", "1");
  tell();
  for (const WatchName watch : {1, 2, 3, 4}) EXPECT_EQ(told(watch), "+b2 | ") << watch;
  EXPECT_EQ(told(5), "");
  put("a", "1");
  tell();
  for (const WatchName watch : {2, 4, 5}) EXPECT_EQ(told(watch), "+a3 | ") << watch;
  EXPECT_EQ(told(1) + told(3), "");
}

TEST_F(Gallery, ARangeWithoutKeysIsRefused) {
  EXPECT_FALSE(watches.create(one, 0, {.key = "b", .range_end = "a"}));
  EXPECT_FALSE(watches.create(one, 0, {.key = "b", .range_end = "b"}));
  EXPECT_FALSE(watches.create(one, 0, {}));
  EXPECT_EQ(watches.size(), 0u);
  EXPECT_EQ(watches.bytes(), 0u);
}

TEST_F(Gallery, FiltersLeaveOutPutsOrDeletes) {
  watches.create(one, 1, {.key = "a", .no_delete = true});
  watches.create(one, 2, {.key = "a", .no_put = true});
  put("a", "1");
  run(DeleteRange{.key = "a"});
  tell();
  EXPECT_EQ(told(1), "+a2 | ");
  EXPECT_EQ(told(2), "-a3 | ");
}

TEST_F(Gallery, ThePastIsReadInWholeRevisionsAFewAtATime) {
  put("a", "1");  // 2
  Txn txn;
  for (const char* key : {"f", "e", "d", "c", "b", "a"}) txn.success.push_back({Put{.key = key}});
  run(txn);       // 3
  put("a", "2");  // 4
  watches.create(one, 0, {.key = "a", .range_end = "z", .start_revision = 2});
  EXPECT_FALSE(watches.is_idle(one, 0));
  tell(1);
  EXPECT_EQ(told(0), "+a2 | +f3 +e3 +d3 +c3 +b3 +a3 | +a4 | ") << "in the order in which they were done";
  EXPECT_TRUE(watches.is_idle(one, 0));
}

TEST_F(Gallery, AFutureStartWaitsInSilence) {
  watches.create(one, 0, {.key = "a", .start_revision = 4});
  put("a", "2");
  put("a", "3");
  EXPECT_TRUE(watches.is_idle(one, 0));
  put("a", "4");
  EXPECT_FALSE(watches.is_idle(one, 0));
  tell();
  EXPECT_EQ(told(0), "+a4 | ");
}

TEST_F(Gallery, AStreamThatIsFullHearsLaterAndOthersNow) {
  watches.create(one, 0, {.key = "a"});
  watches.create(other, 0, {.key = "a"});
  full = {one};
  for (int i = 0; i < 10; ++i) {
    put("a");
    tell();
    EXPECT_EQ(told(0, other), "+a" + std::to_string(i + 2) + " | ");
  }
  EXPECT_EQ(told(0, one), "");
  EXPECT_FALSE(watches.is_idle(one));
  EXPECT_TRUE(watches.is_idle(other));
  EXPECT_EQ(watches.behind(), 1u);
  make_room(one);
  tell();
  EXPECT_EQ(told(0, one), "+a2 +a3 +a4 +a5 +a6 +a7 +a8 +a9 +a10 +a11 | ");
  EXPECT_TRUE(watches.is_idle(one));
  put("a");
  tell();
  EXPECT_EQ(told(0, one), "+a12 | ");
}

TEST_F(Gallery, MoreThanIsNotedIsReadFromTheHistory) {
  watches.create(one, 0, {.key = "a"});
  for (int i = 0; i < 12; ++i) put("a");
  put("a", std::string(3000, 'x'));
  put("a");
  tell();
  std::string expected;
  for (int revision = 2; revision <= 15; ++revision) expected += "+a" + std::to_string(revision) + " ";
  std::string all = told(0);
  std::erase(all, '|');
  EXPECT_EQ(std::count(all.begin(), all.end(), '+'), 14);
  EXPECT_TRUE(watches.is_idle(one, 0));
}

TEST_F(Gallery, AWatcherThatACompactionOvertakesIsTold) {
  watches.create(one, 1, {.key = "a"});
  full = {one};
  put("a");
  tell();
  for (int i = 0; i < 9; ++i) put("a");
  watches.create(other, 2, {.key = "a", .start_revision = 8});
  run(Compact{8});
  tell();
  EXPECT_EQ(told(2, other), "+a8 +a9 +a10 +a11 | ");
  EXPECT_EQ(watches.size(), 2u);
  make_room(one);
  tell();
  EXPECT_EQ(told(1), "compacted 8| ");
  EXPECT_EQ(watches.size(), 1u);
  watches.create(one, 3, {.key = "a", .start_revision = 7});
  tell();
  EXPECT_EQ(told(3), "compacted 8| ");
}

TEST_F(Gallery, AWatcherBeginsAfterAMarkThatWasSwept) {
  put("a");  // 2
  put("a");
  run(Compact{3});
  watches.create(one, 1, {.key = "a", .start_revision = 3});
  run(Sweep{10, 3});
  put("a");
  tell();
  EXPECT_EQ(told(1), "compacted 4| ") << "where it may begin";
  watches.create(one, 2, {.key = "a", .start_revision = 4});
  tell();
  EXPECT_EQ(told(2), "+a4 | ");
}

TEST_F(Gallery, WhatIsNeededIsWhatSomebodyHasYetToHear) {
  EXPECT_EQ(watches.needed(0, 0, 9), never);
  watches.create(one, 1, {.key = "a"});
  watches.create(other, 1, {.key = "b", .start_revision = 9});
  EXPECT_EQ(watches.needed(0, 0, 9), never);
  put("a");  // 2
  EXPECT_EQ(watches.needed(0, 0, 9), 2) << "nobody was told yet";
  full = {one};
  tell();
  put("c");
  put("a");
  tell();
  EXPECT_EQ(watches.needed(0, 0, 9), 2);
  watches.create(other, 2, {.key = "a", .start_revision = 1});
  EXPECT_EQ(watches.needed(0, 0, 9), 1);
  tell();
  watches.needed(0, 0, 9);
  EXPECT_EQ(watches.needed(0, 0, 9), 2);
  make_room(one);
  tell();
  watches.needed(0, 0, 9);
  EXPECT_EQ(watches.needed(0, 0, 9), never);
}

TEST_F(Gallery, WhoWaitsOnAStreamThatTakesNothingIsNotWaitedForForEver) {
  watches.needed(100, 0, 9);
  watches.create(one, 1, {.key = "a"});
  watches.create(other, 1, {.key = "a"});
  full = {one, other};
  put("a");
  tell();
  const auto needed = [&](std::uint64_t now) {
    return (watches.needed(now, now - 60, 9), watches.needed(now, now - 60, 9));
  };
  EXPECT_EQ(needed(150), 2);
  // One takes what it is told of later, and has no room for more.
  make_room(other);
  watches.tell_history(100, [](const Delivery&) { return true; });
  put("a");
  full = {one, other};
  tell();
  EXPECT_EQ(needed(160), 2);
  EXPECT_EQ(needed(170), 3) << "the first one took nothing in all this time";
  EXPECT_EQ(needed(300), never);
  full = {};
  make_room(one);
  tell();
  EXPECT_EQ(told(1), "+a2 +a3 | ") << "which may be in time still";
}

TEST_F(Gallery, WhatASlowStreamNeedsMovesOnWithIt) {
  std::map<WatchName, Revision> known;
  for (WatchName watch = 0; watch < 200; ++watch) {
    watches.create(one, watch, {.key = "a"});
    known[watch] = 1;
  }
  Revision before = 0;
  for (int i = 0; i < 50; ++i) {
    put("a");
    std::size_t left = 150;  // not enough for all: some wait at any time
    watches.room(one);
    const auto hear_some = [&](const Delivery& delivery) {
      if (left == 0) return false;
      --left;
      known[delivery.watch] = delivery.events.back().now->mod;
      return true;
    };
    while (watches.tell_history(100, hear_some) || watches.tell_news(100, hear_some)) continue;
    watches.needed(0, 0, 9);
    const Revision now = watches.needed(0, 0, 9);
    EXPECT_GE(now, before);
    before = now;
    const Revision least = std::ranges::min(known | std::views::values) + 1;
    EXPECT_LE(now, least);
    EXPECT_GE(now, least - 4) << "what is said is hardly less";
  }
  EXPECT_GT(before, 20);
}

TEST_F(Gallery, WhatIsNotedDoesNotFearCompactions) {
  watches.create(one, 0, {.key = "a"});
  put("a", "1");
  put("a", "2");
  run(Compact{3});
  put("b", "2");
  run(Compact{4});
  tell();
  EXPECT_EQ(told(0), "+a2 +a3 | ");
}

TEST_F(Gallery, WhatCouldNotBeNotedDoes) {
  watches.create(one, 0, {.key = "a"});
  for (int i = 0; i < 12; ++i) put("a");
  run(Compact{12});
  tell();
  EXPECT_EQ(told(0), "compacted 12| ");
}

TEST_F(Gallery, WhoComesWhileOthersAreToldOfACompactionIsToldAsWell) {
  for (WatchName i = 1; i < 4; ++i) watches.create(one, i, {.key = "a"});
  for (int i = 0; i < 12; ++i) put("a");
  run(Compact{12});
  EXPECT_TRUE(watches.tell_news(16, hear));
  EXPECT_EQ(watches.size(), 1u) << "two of three were told";
  watches.create(one, 0, {.key = "A", .range_end = "b", .start_revision = 4});
  tell();
  EXPECT_EQ(told(0), "compacted 12| ");
  EXPECT_EQ(told(3), "compacted 12| ");
}

TEST_F(Gallery, CancelledWatchersHearNothing) {
  watches.create(one, 0, {.key = "a"});
  put("a", "1");
  watches.cancel(one, 0);
  watches.cancel(one, 0);
  put("a", "2");
  tell();
  EXPECT_EQ(told(0), "");
  EXPECT_EQ(watches.size(), 0u);
}

TEST_F(Gallery, ATickMayMakeSeveralRevisions) {
  watches.create(one, 0, {.key = "a", .range_end = "z"});
  run(LeaseGrant{1, 1});
  run(LeaseGrant{2, 1});
  run(Put{.key = "a", .lease = 1});
  run(Put{.key = "b", .lease = 2});
  tell();
  EXPECT_EQ(told(0), "+a2 +b3 | ");
  run(Tick{1, 0});
  run(Tick{1, 1000});
  tell();
  EXPECT_EQ(told(0), "-a4 -b5 | ");
}

TEST_F(Gallery, QuietWatchersAreShownOnce) {
  watches.create(one, 1, {.key = "a", .manner = {.wants_progress = true}});
  watches.create(one, 2, {.key = "b", .manner = {.wants_progress = true}});
  watches.create(one, 3, {.key = "b"});
  put("a");
  tell();
  const auto look = [&] {
    std::string shown;
    std::optional<WatchName> at = 0;
    while (at)
      at = watches.look_for_quiet(one, *at, 1, [&](WatchName watch) { shown += std::to_string(watch); });
    return shown;
  };
  EXPECT_EQ(look(), "2");
  EXPECT_EQ(look(), "12");
  put("a");
  EXPECT_EQ(look(), "") << "nobody knows everything";
}

// What is done is counted: time would say something else on every machine.

TEST_F(Gallery, APutCostsTheSameBesideAHundredThousandStuckWatchers) {
  constexpr std::uint64_t many = 100'000;
  for (std::uint64_t i = 0; i < many; ++i) watches.create(one, static_cast<WatchName>(i), {.key = "a"});
  watches.create(other, 0, {.key = "b"});
  full = {one};
  put("a");
  tell();
  EXPECT_EQ(watches.behind(), many);
  const WatchWork before = watches.work();
  for (int i = 0; i < 100; ++i) {
    put("a");
    put("b");
    tell();
  }
  EXPECT_EQ(watches.work().changes - before.changes, 200u);
  EXPECT_LE(watches.work().watchers - before.watchers, 1000u);
  EXPECT_EQ(deliveries, 100u);
}

TEST_F(Gallery, APutCostsTheSameBesideAHundredThousandWhoDoNotWantIt) {
  constexpr WatchName many = 50'000;
  for (WatchName i = 0; i < many; ++i) {
    watches.create(one, i, {.key = "a", .no_put = true});
    watches.create(other, i, {.key = "a", .start_revision = 1'000'000});
  }
  const WatchWork before = watches.work();
  for (int i = 0; i < 100; ++i) {
    put("a");
    tell();
  }
  EXPECT_LE(watches.work().watchers - before.watchers, 1000u);
}

TEST_F(Gallery, TwentyThousandOldWatchersShareOneScan) {
  for (int i = 0; i < 14'000; ++i) put("a");
  for (WatchName i = 0; i < 20'000; ++i) watches.create(one, i, {.key = "nothing", .start_revision = 1});
  const WatchWork before = watches.work();
  tell();
  EXPECT_TRUE(watches.is_idle(one));
  EXPECT_EQ(watches.work().changes - before.changes, 14'000u);
  EXPECT_LE(watches.work().watchers - before.watchers, 2u * 20'000 + 20 * 14'000)
      << "in the height of a tree";
}

// A stream that takes a hundred deliveries at a time makes no more work than so many.
TEST_F(Gallery, StuckWatchersGoOnAFewAtATime) {
  constexpr WatchName many = 10'000;
  for (WatchName i = 0; i < many; ++i) watches.create(one, i, {.key = "a"});
  std::size_t room = 0;
  const Watches::Hear takes_some = [&](const Delivery&) { return room > 0 && room-- > 0; };
  put("a");
  while (watches.tell_news(1000, takes_some)) continue;
  const WatchWork before = watches.work();
  for (int turns = 0; !watches.is_idle(one) && turns < 1000; ++turns) {
    room = 100;
    watches.room(one);
    while (watches.tell_history(1000, takes_some)) continue;
  }
  EXPECT_TRUE(watches.is_idle(one));
  EXPECT_EQ(watches.work().told, many);
  EXPECT_LE(watches.work().watchers - before.watchers, 20u * many);
}

TEST_F(Gallery, AStreamIsClosedALittleAtATime) {
  for (WatchName i = 0; i < 100; ++i) watches.create(one, i, {.key = "a"});
  watches.create(other, 0, {.key = "a"});
  EXPECT_TRUE(watches.close(one, 40));
  put("a");
  tell();
  EXPECT_EQ(deliveries, 1u) << "who is being closed hears nothing";
  EXPECT_EQ(told(0, other), "+a2 | ");
  EXPECT_TRUE(watches.close(one, 59));
  EXPECT_EQ(watches.size(), 2u);
  EXPECT_FALSE(watches.close(one, 40));
  EXPECT_EQ(watches.bytes(), watches.bytes_of(other));
  EXPECT_FALSE(watches.close(one, 40));
}

TEST_F(Gallery, WhoIsNotFarBehindDoesNotWaitForThoseWhoAre) {
  for (int i = 0; i < 1000; ++i) put("b");
  watches.create(one, 0, {.key = "a", .start_revision = 1});
  watches.tell_history(30, hear);
  watches.create(other, 0, {.key = "b", .start_revision = 1000});
  for (int turns = 0; turns < 5; ++turns) watches.tell_history(30, hear);
  EXPECT_TRUE(watches.is_idle(other));
  EXPECT_FALSE(watches.is_idle(one));
}

}  // namespace
}  // namespace conclave::kv
