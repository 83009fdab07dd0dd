#include "etcd/compactor.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;
using kv::Compact;
using kv::Need;
using kv::Revision;
using kv::Sweep;

constexpr std::uint64_t MiB = 1 << 20;

// A member whose clock stands still between two steps, and whose commands are applied as soon as they are
// given.
struct Member {
  explicit Member(CompactorOptions options = {}, std::uint64_t quota = 2048 * MiB)
      : compactor(1, options, quota) {}

  kv::Replica replica;
  kv::Watches watches{replica.store};
  Compactor compactor;
  Compactor::Time now = Compactor::Time{} + 24h;
  bool leads = true;
  int entries = 0;                  // that the compactor asked for
  std::vector<Revision> told = {};  // by Need

  kv::Answer apply(const kv::Command& command) {
    kv::Answer answer = replica.apply(command);
    watches.see(replica.outcome);
    compactor.applied(replica.store, replica.outcome, now);
    return answer;
  }
  bool put(std::string_view key, std::size_t bytes = 10) {
    const std::string value(bytes, 'x');
    const kv::Answer answer = apply(kv::Put{.key = key, .value = value});
    return !std::holds_alternative<kv::Error>(answer.result);
  }
  void look() {
    const auto command = compactor.next(replica.store, watches, leads, now);
    if (!command) return;
    ++entries;
    if (const auto* need = std::get_if<Need>(&*command)) told.push_back(need->revision);
    const kv::Answer answer = apply(*command);
    EXPECT_FALSE(std::holds_alternative<kv::Error>(answer.result)) << "command " << command->index();
  }
  void pass(std::chrono::milliseconds time, std::chrono::milliseconds step = 200ms) {
    for (const auto end = now + time; now < end; now += step) look();
  }
  Revision compacted() const { return replica.store.history().compacted(); }
  Revision revision() const { return replica.store.revision(); }
  std::uint64_t history() const { return replica.store.bytes() - replica.store.live_bytes(); }
};

TEST(Compactor, KeepsFiveMinutesAndLeavesNothingOfWhatWasReplaced) {
  Member member;
  member.pass(30s);
  for (int i = 0; i < 10; ++i) {
    member.put("a");
    member.pass(1s);
  }
  const Revision last = member.revision();
  member.pass(4min + 40s);
  EXPECT_EQ(member.compacted(), 0);
  EXPECT_GT(member.history(), 0u);
  member.pass(45s);
  EXPECT_EQ(member.compacted(), last);
  EXPECT_EQ(member.history(), 0u);
  const int before = member.entries;
  EXPECT_LE(before, 6);
  member.pass(1h);
  EXPECT_EQ(member.entries, before) << "an idle cluster has an idle log";
}

TEST(Compactor, GoesOnInSmallStepsWhilePutsComeSlowly) {
  Member member;
  for (int i = 0; i < 1200; ++i) {
    member.put("a");
    member.pass(1s);
  }
  EXPECT_GT(member.compacted(), member.revision() - 330);
  EXPECT_LT(member.compacted(), member.revision() - 290);
  EXPECT_LE(member.compactor.stats().compactions, 92u) << "one in ten seconds";
}

// Twenty-five thousand in a second, of which history may have 64 MiB.
TEST(Compactor, BoundsHistoryUnderFullLoad) {
  Member member({.least_bytes = MiB, .grace = 1s});
  std::uint64_t most = 0;
  for (int i = 0; i < 400'000; ++i) {
    member.put("k" + std::to_string(i % 100), 256);
    member.now += 40us;
    if (i % 500 != 0) continue;
    member.look();
    most = std::max(most, member.history());
  }
  EXPECT_LT(most, 14 * MiB) << "a second of history is 8.5 MiB, and half a second more is not noticed";
  EXPECT_GT(member.history(), 8 * MiB) << "and as long it is kept";
  EXPECT_LT(member.compactor.stats().compactions, 60u);
}

TEST(Compactor, LeavesHistoryAsMuchAsWhatLives) {
  Member member({.least_bytes = MiB, .grace = 1s});
  for (int i = 0; i < 20'000; ++i) member.put("k" + std::to_string(i), 256);
  const std::uint64_t live = member.replica.store.live_bytes();
  ASSERT_GT(live, 6 * MiB);
  for (int i = 0; i < 200'000; ++i) {
    member.put("k" + std::to_string(i % 20'000), 256);
    if (i % 100 == 0) member.pass(10ms);
  }
  EXPECT_GT(member.history(), live * 8 / 10);
  EXPECT_LT(member.history(), live * 13 / 10);
}

TEST(Compactor, ExplicitRetentionHasNoBoundButTheQuota) {
  Member member({.age = 1h, .least_bytes = {}}, 8 * MiB);
  member.pass(20s);
  std::uint64_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(member.put("a", 1000)) << i;
    if (i % 100 == 0) member.pass(10ms, 10ms);
    most = std::max(most, member.history());
  }
  EXPECT_GT(most, 6 * MiB);
  EXPECT_LT(most, 8 * MiB);
  EXPECT_TRUE(member.replica.store.alarms().empty());
}

TEST(Compactor, CountsRevisionsIfItIsToldTo) {
  Member member({.mode = CompactorOptions::Mode::revisions, .revisions = 100, .least_bytes = {}});
  for (int i = 0; i < 1000; ++i) {
    member.put("a");
    member.pass(200ms);
  }
  EXPECT_LE(member.compacted(), member.revision() - 100);
  EXPECT_GT(member.compacted(), member.revision() - 100 - 2 * 60);
  member.pass(5min);
  EXPECT_EQ(member.compacted(), member.revision() - 100);
}

TEST(Compactor, DoesNothingIfItIsOff) {
  Member member({.mode = CompactorOptions::Mode::off}, MiB);
  int put = 0;
  for (; put < 100'000 && member.put("a", 1000); ++put) member.pass(1s);
  EXPECT_EQ(member.compacted(), 0);
  EXPECT_NEAR(put, 950, 60) << "then there is an alarm, as with etcd";
  member.apply(Compact{member.revision()});
  member.pass(10s);
  EXPECT_TRUE(member.replica.store.alarms().empty());
  EXPECT_TRUE(member.put("a"));
}

// Clients compact, and nobody says anything afterwards.
TEST(Compactor, SweepsWhatOthersCompactedThoughNoCommandsCome) {
  for (const auto mode : {CompactorOptions::Mode::age, CompactorOptions::Mode::off}) {
    Member member({.mode = mode});
    for (int i = 0; i < 100'000; ++i) member.put("a");
    member.apply(Compact{member.revision()});
    member.pass(20s);
    EXPECT_EQ(member.replica.store.history().records(), 2u);
    EXPECT_EQ(member.entries, 49);
  }
}

TEST(Compactor, SweepsAsFastAsLargeTransactionsWrite) {
  Member member({.least_bytes = MiB, .grace = 1s});
  std::vector<std::string> keys;
  for (int i = 0; i < 128; ++i) keys.push_back("k" + std::to_string(i));
  kv::Txn txn;
  for (const std::string& key : keys) txn.success.push_back({kv::Put{.key = key, .value = "some value"}});
  for (int i = 0; i < 20'000; ++i) {
    member.apply(txn);
    if (i % 10 == 0) member.pass(10ms, 10ms);
  }
  EXPECT_LT(member.replica.store.history().records(), 300'000u) << "of 2,560,000";
}

TEST(Compactor, OnlyLeadersCompact) {
  Member member;
  member.leads = false;
  for (int i = 0; i < 100; ++i) {
    member.put("a");
    member.pass(10s);
  }
  EXPECT_EQ(member.entries, 0);
  // And who becomes one knows how old everything is.
  member.leads = true;
  member.pass(11s);
  EXPECT_GT(member.compacted(), 60);
  EXPECT_LT(member.compacted(), 75);
}

TEST(Compactor, WhatCameBeforeAMemberCountsFromWhenItCame) {
  Member member;
  for (int i = 0; i < 100; ++i) {
    member.put("a");
    member.pass(1s);
  }
  member.compactor.restored();
  member.pass(4min + 50s);
  EXPECT_EQ(member.compacted(), 0);
  member.pass(20s);
  EXPECT_EQ(member.compacted(), member.revision());
}

// ---- watchers

struct Watched : testing::Test {
  // A bound that is met at once.
  Member member{{.least_bytes = 0, .grace = 10s, .patience = 60s}};
  std::size_t room = 0;
  bool overtaken = false;
  Watched() { member.look(); }
  const kv::Watches::Hear hear = [this](const kv::Delivery& delivery) {
    if (room == 0) return false;
    --room;
    overtaken |= delivery.compacted.has_value();
    return true;
  };
  void tell() {
    while (member.watches.tell_news(1000, hear) || member.watches.tell_history(1000, hear)) continue;
  }
  // So many steps of a second, in each of which much is written and the watcher gets some room.
  void go_on(int steps, int puts, int every) {
    for (int i = 0; i < steps; ++i) {
      for (int j = 0; j < puts; ++j) member.put("a", 1000);
      if (every > 0 && i % every == 0) {
        room = 100;
        member.watches.room(1);
      }
      tell();
      room = 0;
      member.pass(1s);
    }
  }
};

TEST_F(Watched, WithoutWatchersHistoryIsShort) {
  go_on(60, 100, 0);
  EXPECT_GT(member.compacted(), member.revision() - 1300);
  EXPECT_EQ(member.compactor.stats().needs, 0u);
}

TEST_F(Watched, WhoReadsSlowlyIsNotOvertaken) {
  member.watches.create(1, 1, {.key = "a"});
  go_on(200, 200, 20);
  EXPECT_FALSE(overtaken);
  EXPECT_GT(member.compacted(), 20'000) << "and what it has heard goes";
  EXPECT_LT(member.compactor.stats().needs, 100u);
}

TEST_F(Watched, WhoReadsNothingIsOvertakenAndToldSo) {
  member.watches.create(1, 1, {.key = "a"});
  go_on(50, 100, 0);
  EXPECT_EQ(member.compacted(), 0);
  go_on(60, 100, 0);
  EXPECT_GT(member.compacted(), 8000);
  go_on(1, 0, 1);
  EXPECT_TRUE(overtaken);
}

TEST_F(Watched, OthersSpareWhatAMemberNeeds) {
  member.watches.create(1, 1, {.key = "a"});
  member.leads = false;
  go_on(20, 100, 0);
  ASSERT_FALSE(member.told.empty());
  EXPECT_EQ(member.told.back(), 2);
  Member leader({.least_bytes = 0, .grace = 10s});
  const auto lead = [&](int seconds, std::optional<Revision> needed) {
    for (int i = 0; i < seconds; ++i) {
      for (int j = 0; j < 100; ++j) leader.put("a", 1000);
      if (needed && i % 2 == 0) leader.apply(Need{2, *needed});
      leader.pass(1s);
    }
  };
  lead(30, 2);
  EXPECT_EQ(leader.compacted(), 0);
  lead(8, 1000);
  EXPECT_EQ(leader.compacted(), 0) << "what was needed a moment ago may be on its way";
  lead(22, 1000);
  EXPECT_EQ(leader.compacted(), 999);
  lead(8, {});
  EXPECT_EQ(leader.compacted(), 999) << "it may only be late";
  lead(5, {});
  EXPECT_GT(leader.compacted(), 4000) << "it is dead, or has nothing to say";
}

TEST_F(Watched, ANewLeaderWaitsForThoseWhoComeFromTheFormer) {
  member.leads = false;
  go_on(40, 100, 0);
  EXPECT_EQ(member.compacted(), 0);
  member.leads = true;
  go_on(9, 100, 0);
  EXPECT_EQ(member.compacted(), 0);
  go_on(3, 100, 0);
  EXPECT_GT(member.compacted(), 3000);
}

// ---- the quota

TEST(Compactor, ShortensHistoryBeforeItRefusesAnything) {
  Member member({}, 8 * MiB);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(member.put("k" + std::to_string(i % 10), 1000)) << i;
    if (i % 50 == 0) member.pass(10ms, 10ms);
    ASSERT_LT(member.replica.store.bytes(), 8 * MiB);
  }
  EXPECT_TRUE(member.replica.store.alarms().empty());
}

TEST(Compactor, PrefersAWatcherThatBeginsAnewToWritesThatAreRefused) {
  Member member({}, 8 * MiB);
  member.watches.create(1, 1, {.key = "k1"});
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(member.put("k" + std::to_string(i % 10), 1000)) << i;
    member.watches.tell_news(100, [](const kv::Delivery&) { return false; });
    if (i % 50 == 0) member.pass(10ms, 10ms);
  }
  EXPECT_GT(member.compacted(), 10'000);
}

TEST(Compactor, RaisesTheAlarmWhenLiveDataTakeTheQuotaAndEndsItWhenThereIsRoom) {
  Member member({}, 8 * MiB);
  int put = 0;
  for (; put < 100'000 && member.put("k" + std::to_string(put), 1000); ++put)
    if (put % 50 == 0) member.pass(10ms, 10ms);
  EXPECT_NEAR(put, 7100, 400);
  EXPECT_GT(member.replica.store.live_bytes(), 8 * MiB);
  member.pass(10min);
  EXPECT_FALSE(member.put("more")) << "nobody has made room";
  for (int i = 0; i < 300; ++i) member.apply(kv::DeleteRange{.key = "k" + std::to_string(i)});
  member.pass(10min);
  EXPECT_FALSE(member.put("more")) << "not yet enough";
  for (int i = 300; i < put / 8; ++i) member.apply(kv::DeleteRange{.key = "k" + std::to_string(i)});
  member.pass(1s, 10ms);
  EXPECT_TRUE(member.put("more")) << "although what was deleted is young";
}

// After which no revision comes that could let a compaction take what it left.
TEST(Compactor, EndsTheAlarmWhenEverythingWasDeletedAtOnce) {
  Member member({}, 8 * MiB);
  for (int i = 0; i < 100'000 && member.put("k" + std::to_string(i), 1000); ++i)
    if (i % 50 == 0) member.pass(10ms, 10ms);
  ASSERT_FALSE(member.put("more"));
  member.apply(kv::DeleteRange{.key = "k", .range_end = "l"});
  member.pass(1s, 10ms);
  EXPECT_TRUE(member.put("more"));
}

TEST(Compactor, LeavesAClusterAloneWhoseStateIsCorrupt) {
  Member member({}, MiB);
  for (int i = 0; i < 100; ++i) {
    member.put("a", 1000);
    member.pass(1s);
  }
  member.apply(kv::Alarm{1, kv::AlarmKind::corrupt, true});
  const int before = member.entries;
  member.pass(1h);
  EXPECT_EQ(member.entries, before);
  EXPECT_EQ(member.replica.store.alarms().size(), 1u);
}

TEST(Compactor, SaysInWordsWhatItKeeps) {
  EXPECT_EQ(describe_retention({}), "5m");
  EXPECT_EQ(describe_retention({.age = 90min}), "1h30m");
  EXPECT_EQ(describe_retention({.age = 61500ms}), "1m1.5s");
  EXPECT_EQ(describe_retention({.mode = CompactorOptions::Mode::revisions, .revisions = 7}), "7 revisions");
  EXPECT_EQ(describe_retention({.mode = CompactorOptions::Mode::off}), "off");
}

}  // namespace
}  // namespace conclave::etcd
