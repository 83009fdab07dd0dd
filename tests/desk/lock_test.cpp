// Locks as clients know them, over real sockets.
#include "desks.hpp"

namespace conclave::desk {
namespace {

class Locks : public Desks {
 protected:
  Locks() { open(); }
};

TEST_F(Locks, ComeWithAKeyAndAFence) {
  const LeaseId lease = grant(to(1), 60);
  const auto response = locked(lock(to(1), "printer", lease));
  EXPECT_EQ(response.key(), "printer/" + in_hex(lease));
  EXPECT_EQ(response.header().revision(), 1);
  EXPECT_EQ(response.header().member_id(), 1u);
  EXPECT_NE(response.header().cluster_id(), 0u);
  unlock(to(1), response.key());
  const auto again = locked(lock(to(2), "printer", grant(to(2), 60)));
  EXPECT_EQ(again.header().revision(), 2);
  EXPECT_EQ(again.header().member_id(), 2u);
  EXPECT_EQ(again.header().cluster_id(), response.header().cluster_id());
}

TEST_F(Locks, OfDifferentNamesAreDifferent) {
  const auto first = locked(lock(to(1), "a"));
  const auto second = locked(lock(to(1), "b"));
  EXPECT_NE(first.key(), second.key());
  EXPECT_EQ(hall.holder("lock/a"), NodeId{1});
  EXPECT_EQ(hall.holder("lock/b"), NodeId{1});
}

TEST_F(Locks, ServeClientsInTheirOrderAndOtherMembersInBetween) {
  const auto first = locked(lock(to(1), "a"));
  const auto second = lock(to(1), "a");
  settle();
  const auto third = lock(to(1), "a");
  settle();
  const auto elsewhere = lock(to(2), "a");
  settle();
  EXPECT_FALSE(second->over || third->over || elsewhere->over);
  unlock(to(1), first.key());
  EXPECT_EQ(locked(elsewhere).header().revision(), 2);
  settle();
  EXPECT_FALSE(second->over);
  unlock(to(2), elsewhere->response.key());
  EXPECT_EQ(locked(second).header().revision(), 3);
  settle();
  EXPECT_FALSE(third->over);
  unlock(to(1), second->response.key());
  EXPECT_EQ(locked(third).header().revision(), 4);
}

TEST_F(Locks, AreNotGivenToWhoCancelled) {
  const auto first = locked(lock(to(1), "a"));
  const auto second = lock(to(2), "a");
  const auto third = lock(to(2), "a");
  until([&] { return hall.waiting("lock/a") == 1; });
  settle();
  second->call.cancel();
  settle();
  EXPECT_EQ(hall.waiting("lock/a"), 1u) << "the third still waits";
  third->call.cancel();
  until([&] { return hall.waiting("lock/a") == 0; });
  unlock(to(1), first.key());
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
}

TEST_F(Locks, AreNotGivenToWhoRanOutOfTime) {
  const auto first = locked(lock(to(1), "a"));
  const auto second = lock(to(2), "a", 0, 50ms);
  until([&] { return second->over; });
  EXPECT_EQ(second->status.code, rpc::Code::deadline_exceeded);
  until([&] { return hall.waiting("lock/a") == 0; });
}

TEST_F(Locks, AreNotGivenToWhoDisconnected) {
  const auto first = locked(lock(to(1), "a"));
  auto client = channel_to(2);
  const auto second = lock(*client, "a", grant(*client, 60));
  until([&] { return hall.waiting("lock/a") == 1; });
  client.reset();
  until([&] { return hall.waiting("lock/a") == 0; });
}

TEST_F(Locks, WithoutALeaseLiveAsLongAsTheConnection) {
  auto client = channel_to(1);
  const auto first = locked(lock(*client, "a"));
  EXPECT_TRUE(first.key().starts_with("a/"));
  const auto second = lock(to(1), "a");
  settle();
  EXPECT_FALSE(second->over);
  client.reset();
  EXPECT_EQ(locked(second).header().revision(), 2);
  EXPECT_NE(second->response.key(), first.key());
}

TEST_F(Locks, WithALeaseOutliveTheConnection) {
  auto client = channel_to(1);
  const LeaseId lease = grant(*client, 60);
  locked(lock(*client, "a", lease));
  client.reset();
  settle();
  EXPECT_EQ(hall.holder("lock/a"), NodeId{1});
  EXPECT_EQ(locked(lock(to(1), "a", lease)).header().revision(), 1) << "asked again, it is the same lock";
}

TEST_F(Locks, TakenTwiceWithOneLeaseAreOne) {
  const auto first = locked(lock(to(2), "a"));
  const LeaseId lease = grant(to(1), 60);
  const auto once = lock(to(1), "a", lease);
  const auto twice = lock(to(1), "a", lease);
  settle();
  once->call.cancel();
  settle();
  EXPECT_EQ(hall.waiting("lock/a"), 1u) << "the other call still waits";
  unlock(to(2), first.key());
  EXPECT_EQ(locked(twice).key(), "a/" + in_hex(lease));
  EXPECT_EQ(locked(lock(to(1), "a", lease)).header().revision(), 2);
}

TEST_F(Locks, RefuseWhatMakesNoSense) {
  const auto refusal = [&](const std::string& name, LeaseId lease) {
    const auto heard = lock(to(1), name, lease);
    until([&] { return heard->over; });
    EXPECT_FALSE(heard->ok);
    return heard->status;
  };
  EXPECT_EQ(refusal("a", 77), (rpc::Status{rpc::Code::not_found, "etcdserver: requested lease not found"}));
  EXPECT_EQ(refusal("", 0), (rpc::Status{rpc::Code::invalid_argument, "the name of the lock is empty"}));
  EXPECT_EQ(refusal(std::string(1001, 'x'), 0),
            (rpc::Status{rpc::Code::invalid_argument,
                         "the name of the lock has 1001 bytes; at most 1000 are allowed"}));
  locked(lock(to(1), std::string(1000, '\n')));
}

TEST_F(Locks, ThatAreNotThereAreUnlockedAlready) {
  unlock(to(1), "a/123");
  unlock(to(1), "");
  unlock(to(1), "no slash");
  const auto first = locked(lock(to(1), "a"));
  unlock(to(1), "a/123");
  EXPECT_EQ(hall.holder("lock/a"), NodeId{1});
}

TEST_F(Locks, ThatAreUnlockedWhileTheyAreWaitedForTellWhoWaits) {
  locked(lock(to(2), "a"));
  const LeaseId lease = grant(to(1), 60);
  const auto waiting = lock(to(1), "a", lease);
  settle();
  unlock(to(1), "a/" + in_hex(lease));
  until([&] { return waiting->over; });
  EXPECT_EQ(waiting->status, (rpc::Status{rpc::Code::unknown, "mutex: session is expired"}));
  EXPECT_EQ(hall.waiting("lock/a"), 0u);
}

TEST_F(Locks, EndWithTheirLease) {
  const LeaseId lease = grant(to(1), 60);
  locked(lock(to(1), "a", lease));
  const auto next = lock(to(2), "a");
  const LeaseId other = grant(to(1), 60);
  const auto waiting = lock(to(1), "a", other);
  settle();
  revoke(to(1), other);
  until([&] { return waiting->over; });
  EXPECT_EQ(waiting->status.message, "mutex: session is expired");
  EXPECT_FALSE(next->over);
  revoke(to(1), lease);
  EXPECT_EQ(locked(next).header().revision(), 2);
}

TEST_F(Locks, EndWhenNobodyRenewsTheirLease) {
  locked(lock(to(1), "a", grant(to(1), 1)));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(locked(lock(to(2), "a")).header().revision(), 2);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 900ms);
  EXPECT_EQ(at(1).desk->stats().leases_expired, 1u);
}

TEST_F(Locks, ThatTheGroupTakesAwayEndTheLease) {
  const LeaseId lease = grant(to(1), 60);
  locked(lock(to(1), "a", lease));
  locked(lock(to(1), "b", lease));
  std::vector<std::int64_t> times;
  auto stream = rpc::open_stream<etcdserverpb::LeaseKeepAliveResponse>(
      to(1), "/etcdserverpb.Lease/LeaseKeepAlive", {},
      {.message = [&](const auto& response) { times.push_back(response.ttl()); },
       .closed = [](const auto&) {}});
  etcdserverpb::LeaseKeepAliveRequest renew;
  renew.set_id(lease);
  stream.send(renew);
  until([&] { return times.size() == 1; });
  const auto next = lock(to(1), "a");
  settle();
  hall.lose("lock/a");
  until([&] { return times.size() == 2; });
  EXPECT_EQ(times, (std::vector<std::int64_t>{60, 0})) << "who listens is told without asking";
  EXPECT_EQ(hall.holder("lock/b"), std::nullopt) << "what hangs on the lease is free";
  EXPECT_EQ(time_to_live(to(1), lease), -1);
  EXPECT_EQ(locked(next).header().revision(), 2) << "who waited is served";
  EXPECT_EQ(at(1).desk->stats().lost, 1u);
}

TEST_F(Locks, ThatTheGroupTakesAwayEndTheConnectionTheyLiveWith) {
  std::size_t lost = 0;
  auto client = channel_to(1);
  client->on_connection([&](const std::string&, const rpc::Status& status) { lost += !status.ok(); });
  locked(lock(*client, "a"));
  locked(lock(*client, "b"));
  hall.lose("lock/a");
  until([&] { return lost == 1; });
  until([&] { return !hall.holder("lock/b").has_value(); });
}

TEST_F(Locks, AreGivenBackWhenTheGrantComesTooLate) {
  hall.hold_grants = true;
  const auto first = lock(to(1), "a");
  until([&] { return hall.holder("lock/a") == NodeId{1}; });
  first->call.cancel();
  settle();
  EXPECT_EQ(hall.holder("lock/a"), NodeId{1}) << "the grant is on its way";
  hall.let_grants_go();
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
}

TEST_F(Locks, TakeALateGrantForWhoAskedMeanwhile) {
  hall.hold_grants = true;
  const auto first = lock(to(1), "a");
  until([&] { return hall.holder("lock/a") == NodeId{1}; });
  first->call.cancel();
  settle();
  const auto second = lock(to(1), "a");
  settle();
  hall.let_grants_go();
  EXPECT_EQ(locked(second).header().revision(), 1);
  unlock(to(1), second->response.key());
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
}

TEST_F(Locks, MayBeGrantedFromInsideTheAsking) {
  hall.at_once = true;
  std::vector<Answer<v3lockpb::LockResponse>> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(lock(to(1 + i % 2), "a"));
  for (int done = 0; done < 20; ++done) {
    const auto next = [&] {
      return std::ranges::find_if(waiting, [](const auto& heard) { return heard->over; });
    };
    until([&] { return next() != waiting.end(); });
    const auto held = *next();
    waiting.erase(next());
    EXPECT_EQ(locked(held).header().revision(), done + 1);
    settle();
    EXPECT_EQ(next(), waiting.end()) << "one holds it at a time";
    unlock(to(static_cast<std::uint32_t>(held->response.header().member_id())), held->response.key());
  }
}

TEST_F(Locks, WaitUntilTheGroupKnowsHowLongASilentClientMayGoOn) {
  hall.hold_promises = true;
  const auto first = lock(to(1), "a");
  const auto gone = lock(to(1), "b");
  settle();
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
  EXPECT_EQ(at(1).seat.promised.front(), 20s);
  gone->call.cancel();
  settle();
  hall.let_promises_go();
  locked(first);
  EXPECT_EQ(hall.holder("lock/b"), std::nullopt) << "nobody waits for it any longer";
}

TEST_F(Locks, TellWhoWaitsThatTheServerStops) {
  locked(lock(to(1), "a"));
  const auto waiting = lock(to(1), "a");
  settle();
  at(1).desk.reset();
  until([&] { return waiting->over; });
  EXPECT_EQ(waiting->status, (rpc::Status{rpc::Code::unavailable, "etcdserver: server stopped"}));
}

class FewLocks : public Desks {
 protected:
  FewLocks() { open({.lines = {.waiting_per_place = 2, .claims = 16}}); }
  rpc::Status refusal(const std::string& name) {
    const auto heard = lock(to(1), name);
    until([&] { return heard->over; });
    return heard->status;
  }
};

TEST_F(FewLocks, TurnAwayWhomTheyHaveNoRoomFor) {
  const rpc::Status full = {rpc::Code::resource_exhausted, "etcdserver: too many requests"};
  const auto first = locked(lock(to(1), "a"));
  const auto second = lock(to(1), "a");
  const auto third = lock(to(1), "a");
  settle();
  EXPECT_EQ(refusal("a"), full) << "two wait for this name";
  locked(lock(to(1), "b"));
  EXPECT_EQ(refusal("c"), full) << "a quarter of sixteen is this connection's";
  second->call.cancel();
  settle();
  locked(lock(to(1), "c"));
  EXPECT_EQ(at(1).desk->stats().turned_away, 2u);
}

}  // namespace
}  // namespace conclave::desk
