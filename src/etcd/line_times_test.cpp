#include "etcd/line_times.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;

struct Watched {
  kv::Replica replica;
  LineTimes times = {};
  LineTimes::Clock::time_point now = {};

  void apply(const kv::Command& command) {
    now += 1s;
    replica.apply(command);
    times.see(replica.store, replica.outcome, now);
  }
  // Seconds since the clock began.
  static std::int64_t at(LineTimes::Clock::time_point time) { return time.time_since_epoch() / 1s; }
};

TEST(LineTimes, SayWhenAPlaceWasTakenAndWhenItBecameTheFirst) {
  Watched watched;
  for (const kv::LeaseId lease : {1, 2}) watched.apply(kv::LeaseGrant{lease, 60});
  watched.apply(kv::Lock{"door", 1});
  watched.apply(kv::Lock{"door", 2});
  watched.apply(kv::Put{.key = "x", .value = "y", .lease = 1});
  ASSERT_EQ(watched.times.size(), 2u);
  EXPECT_EQ(Watched::at(watched.times.find("door/1")->held.value()), 3);
  EXPECT_EQ(Watched::at(watched.times.find("door/2")->came), 4);
  EXPECT_FALSE(watched.times.find("door/2")->held);
  watched.times.note_client("door/2", "host:1");
  watched.times.note_client("nowhere/3", "host:2");
  watched.apply(kv::LeaseRevoke{1});
  EXPECT_FALSE(watched.times.find("door/1"));
  EXPECT_EQ(Watched::at(watched.times.find("door/2")->held.value()), 6);
  EXPECT_EQ(watched.times.find("door/2")->client, "host:1");
  EXPECT_EQ(watched.times.size(), 1u);
}

// A key that goes to another lease is no place any more, and nothing of it is kept.
TEST(LineTimes, ForgetPlacesThatAreNoneAnyMore) {
  Watched watched;
  for (const kv::LeaseId lease : {1, 2}) watched.apply(kv::LeaseGrant{lease, 60});
  watched.apply(kv::Lock{"door", 1});
  watched.apply(kv::Put{.key = "door/1", .value = "mine"});
  EXPECT_EQ(watched.times.size(), 0u);
  watched.apply(kv::Lock{"door", 2});
  watched.apply(kv::Put{.key = "door/2", .lease = 1});
  watched.apply(kv::DeleteRange{.key = "door/2"});
  EXPECT_EQ(watched.times.size(), 0u);
}

TEST(LineTimes, KeepWhatTheyKnowOfPlacesThatAnotherStoreHasToo) {
  Watched watched;
  for (const kv::LeaseId lease : {1, 2}) watched.apply(kv::LeaseGrant{lease, 60});
  watched.apply(kv::Lock{"door", 1});
  const Bytes saved = kv::snapshot_of(watched.replica.store);
  watched.apply(kv::Lock{"gate", 2});
  const auto store = kv::restored(saved);
  ASSERT_TRUE(store);
  watched.times.restored(**store, watched.now);
  EXPECT_EQ(watched.times.size(), 1u);
  EXPECT_EQ(Watched::at(watched.times.find("door/1")->held.value()), 3);
  LineTimes late;
  late.restored(**store, watched.now);
  EXPECT_EQ(Watched::at(late.find("door/1")->held.value()), 4);
}

}  // namespace
}  // namespace conclave::etcd
