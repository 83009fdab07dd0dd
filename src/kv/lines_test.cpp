#include "kv/lines.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

struct Hall : testing::Test {
  Replica replica;
  Lines lines{replica.store};
  std::vector<Turn> turns = {};

  void SetUp() override {
    for (LeaseId id = 1; id <= 20; ++id) replica.ask(LeaseGrant{id, 10});
  }
  // "3@7": waiter 3 has its turn, with fence 7; "3 lost".
  std::string said() {
    std::string out;
    for (const Turn& turn : std::exchange(turns, {})) {
      out += (out.empty() ? "" : ", ") + std::to_string(turn.waiter);
      out += turn.place ? "@" + std::to_string(turn.place->create()) : " lost";
    }
    return out;
  }
  // The waiter's number is that of its lease.
  std::string lock(std::string_view name, LeaseId lease) {
    const auto place = std::get<PlaceInLine>(replica.apply(Lock{name, lease}).result);
    lines.see(replica.outcome, turns);
    lines.wait(name, place.key, static_cast<WaiterId>(lease), turns);
    return said();
  }
  std::string then(const Command& command) {
    replica.apply(command);
    lines.see(replica.outcome, turns);
    return said();
  }
  std::string unlock(std::string_view key) { return then(DeleteRange{.key = key}); }
};

TEST_F(Hall, APlaceIsTheKeyThatEtcdsClientsWouldMake) {
  EXPECT_EQ(replica.ask(Lock{"name", 20}), "2: name/14 fence 2 first");
  EXPECT_EQ(replica.ask(Lock{"name", 10}), "3: name/a fence 3 waits");
  EXPECT_EQ(replica.get("name/a"), "[name/a= c3 m3 v1 l10] of 1");
}

TEST_F(Hall, TheCommandThatFreesALockTellsTheNext) {
  EXPECT_EQ(lock("l", 1), "1@2");
  EXPECT_EQ(lock("l", 2), "");
  EXPECT_EQ(lock("l", 3), "");
  EXPECT_EQ(unlock("l/1"), "2@3");
  EXPECT_EQ(unlock("l/2"), "3@4");
  EXPECT_EQ(lines.size(), 0u);
}

TEST_F(Hall, ALeaseThatEndsFreesItsLocks) {
  lock("l", 1);
  lock("l", 2);
  EXPECT_EQ(then(LeaseRevoke{1}), "2@3");
}

TEST_F(Hall, AWaiterWhoseLeaseEndsIsToldAndTheOthersMoveUp) {
  lock("l", 1);
  lock("l", 2);
  lock("l", 3);
  EXPECT_EQ(then(LeaseRevoke{2}), "2 lost");
  EXPECT_EQ(unlock("l/1"), "3@4");
}

TEST_F(Hall, HolderAndNextMayGoTogether) {
  lock("l", 1);
  lock("l", 2);
  lock("l", 3);
  EXPECT_EQ(then(DeleteRange{.key = "l/1", .range_end = "l/3"}), "2 lost, 3@4");
}

TEST_F(Hall, WhoAsksAgainKeepsTheOldPlace) {
  lock("l", 1);
  lock("l", 2);
  lock("l", 3);
  EXPECT_EQ(replica.ask(Lock{"l", 2}), "4: l/2 fence 3 waits");
  EXPECT_EQ(replica.ask(Lock{"l", 1}), "4: l/1 fence 2 first");
  lines.wait("l", "l/2", 100, turns);
  EXPECT_EQ(unlock("l/1"), "2@3, 100@3");
}

TEST_F(Hall, PlainKeysOfOtherClientsStandInTheSameLine) {
  replica.put("l/abc", "", 5);
  EXPECT_EQ(lock("l", 1), "");
  EXPECT_EQ(unlock("l/abc"), "1@3");
}

TEST_F(Hall, LinesMayStandWithinLines) {
  EXPECT_EQ(lock("a", 1), "1@2");
  EXPECT_EQ(lock("a/b", 2), "2@3");
  EXPECT_EQ(lock("a", 3), "");   // behind a/1 and a/b/2
  EXPECT_EQ(unlock("a/1"), "");  // a/b/2 is the oldest under a/
  EXPECT_EQ(unlock("a/b/2"), "3@4");
}

TEST_F(Hall, NamesThatBeginAlikeAreDifferentLines) {
  EXPECT_EQ(lock("a", 1), "1@2");
  EXPECT_EQ(lock("ab", 2), "2@3");
  EXPECT_EQ(lock("a0", 3), "3@4");
}

TEST_F(Hall, WhoLeavesIsNotCalledButKeepsThePlace) {
  lock("l", 1);
  lock("l", 2);
  lock("l", 3);
  lines.leave(2);
  EXPECT_EQ(unlock("l/1"), "");
  EXPECT_EQ(unlock("l/2"), "3@4");
}

TEST_F(Hall, WhoHasNoPlaceIsToldAtOnce) {
  lines.wait("l", "l/9", 9, turns);
  EXPECT_EQ(said(), "9 lost");
}

TEST_F(Hall, ALockNeedsALease) {
  EXPECT_EQ(replica.ask(Lock{"l", 0}), "1: requested lease not found");
  EXPECT_EQ(replica.ask(Lock{"l", 99}), "1: requested lease not found");
}

TEST_F(Hall, CandidatesStandForAValueAndMayChangeIt) {
  EXPECT_EQ(replica.ask(Campaign{"e", 1, "one"}), "2: e/1 fence 2 first");
  EXPECT_EQ(replica.ask(Campaign{"e", 2, "two"}), "3: e/2 fence 3 waits");
  EXPECT_EQ(replica.ask(Campaign{"e", 1, "one"}), "3: e/1 fence 2 first");
  EXPECT_EQ(replica.ask(Campaign{"e", 1, "uno"}), "4: e/1 fence 2 first");
  EXPECT_EQ(text(replica.store.oldest({"e/", "e0"})), "e/1=uno c2 m4 v2 l1");
}

TEST_F(Hall, OnlyTheLeaderOfThatRevisionProclaimsAndResigns) {
  replica.ask(Campaign{"e", 1, "one"});
  EXPECT_EQ(replica.ask(proclaim("e/1", 3, "x", 1)), "2: else()");
  EXPECT_EQ(replica.ask(proclaim("e/1", 2, "x", 1)), "3: then(put over none;)");
  EXPECT_EQ(replica.ask(resign("e/1", 3)), "3: else()");
  EXPECT_EQ(replica.ask(resign("e/1", 2)), "4: then(deleted 1 [];)");
}

TEST_F(Hall, AThousandWaitersAreServedInTurn) {
  for (LeaseId id = 21; id <= 1000; ++id) replica.ask(LeaseGrant{id, 10});
  for (LeaseId id = 1000; id >= 1; --id) lock("l", id);
  Revision fence = 0;
  while (const RecordRef holder = replica.store.oldest({"l/", "l0"})) {
    EXPECT_GT(holder->create(), fence);
    fence = holder->create();
    unlock(holder.key());
  }
  EXPECT_EQ(lines.size(), 0u);
}

}  // namespace
}  // namespace conclave::kv
