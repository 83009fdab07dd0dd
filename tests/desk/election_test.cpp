// Elections as clients know them, over real sockets: on engines with locks, and on engines that elect
// members.
#include "desk/notes.hpp"
#include "desks.hpp"

namespace conclave::desk {
namespace {

namespace pb = v3electionpb;
const rpc::Status no_leader = {rpc::Code::unknown, "election: no leader"};
const rpc::Status not_leader = {rpc::Code::unknown, "election: not leader"};

// The call may outlast the watcher, and keeps what it writes to.
struct Watched {
  std::vector<std::string> values = {};
  bool closed = false;
};

struct Watcher {
  Watcher(rpc::Channel& channel, const std::string& name) {
    pb::LeaderRequest request;
    request.set_name(name);
    call = rpc::open_stream<pb::LeaderResponse>(
        channel, "/v3electionpb.Election/Observe", {},
        {.message =
             [seen = seen](const pb::LeaderResponse& response) {
               EXPECT_TRUE(response.has_header());
               seen->values.push_back(response.kv().value());
             },
         .closed = [seen = seen](const rpc::Answer&) { seen->closed = true; }});
    call.send(request);
    call.half_close();
  }
  std::shared_ptr<Watched> seen = std::make_shared<Watched>();
  rpc::ClientStream call = {};
};

class Elections : public Desks {
 protected:
  Answer<pb::CampaignResponse> campaign(rpc::Channel& channel, const std::string& name,
                                        const std::string& value, LeaseId lease = 0) {
    pb::CampaignRequest request;
    request.set_name(name);
    request.set_value(value);
    request.set_lease(lease);
    return begin<pb::CampaignResponse>(channel, "/v3electionpb.Election/Campaign", request);
  }
  pb::LeaderKey won(const Answer<pb::CampaignResponse>& heard) {
    until([&] { return heard->over; });
    EXPECT_TRUE(heard->ok) << heard->status.message;
    EXPECT_TRUE(heard->response.has_header());
    return heard->response.leader();
  }
  Answer<pb::LeaderResponse> leader(rpc::Channel& channel, const std::string& name) {
    pb::LeaderRequest request;
    request.set_name(name);
    return ask<pb::LeaderResponse>(channel, "/v3electionpb.Election/Leader", request);
  }
  std::string leader_value(rpc::Channel& channel, const std::string& name) {
    settle();
    const auto heard = leader(channel, name);
    return heard->ok ? heard->response.kv().value() : heard->status.message;
  }
  rpc::Status proclaim(rpc::Channel& channel, const std::optional<pb::LeaderKey>& key,
                       const std::string& value) {
    pb::ProclaimRequest request;
    if (key) *request.mutable_leader() = *key;
    request.set_value(value);
    return ask<pb::ProclaimResponse>(channel, "/v3electionpb.Election/Proclaim", request)->status;
  }
  rpc::Status resign(rpc::Channel& channel, const std::optional<pb::LeaderKey>& key) {
    pb::ResignRequest request;
    if (key) *request.mutable_leader() = *key;
    return ask<pb::ResignResponse>(channel, "/v3electionpb.Election/Resign", request)->status;
  }
  void tell(NodeId to, NodeId from, const Bytes& bytes) {
    at(to.value).seat.events.noted(from, live::bytes_of(bytes));
  }
};

class ByLocks : public Elections {
 protected:
  ByLocks() { open(); }
};

TEST_F(ByLocks, AreKnownToEveryMember) {
  EXPECT_EQ(leader(to(1), "e")->status, no_leader);
  const LeaseId lease = grant(to(1), 60);
  const pb::LeaderKey key = won(campaign(to(1), "e", "me", lease));
  EXPECT_EQ(key.name(), "e");
  EXPECT_EQ(key.key(), "e/" + in_hex(lease));
  EXPECT_EQ(key.rev(), 1);
  EXPECT_EQ(key.lease(), lease);
  settle();
  for (const std::uint32_t member : {1u, 2u}) {
    const auto heard = leader(to(member), "e");
    ASSERT_TRUE(heard->ok) << heard->status.message;
    EXPECT_EQ(heard->response.kv().key(), key.key());
    EXPECT_EQ(heard->response.kv().value(), "me");
    EXPECT_EQ(heard->response.kv().create_revision(), 1);
    EXPECT_EQ(heard->response.kv().lease(), lease);
    EXPECT_EQ(heard->response.header().member_id(), member);
  }
}

TEST_F(ByLocks, AreNotLocks) {
  won(campaign(to(1), "a", "me"));
  locked(lock(to(2), "a"));
}

TEST_F(ByLocks, HaveOneLeaderAtATime) {
  const pb::LeaderKey first = won(campaign(to(1), "e", "one"));
  const auto second = campaign(to(2), "e", "two");
  settle();
  EXPECT_FALSE(second->over);
  EXPECT_EQ(leader_value(to(2), "e"), "one");
  EXPECT_TRUE(resign(to(1), first).ok());
  const pb::LeaderKey next = won(second);
  EXPECT_GT(next.rev(), first.rev());
  EXPECT_EQ(leader_value(to(1), "e"), "two");
  EXPECT_TRUE(resign(to(1), first).ok()) << "as with etcd";
  EXPECT_EQ(leader_value(to(1), "e"), "two");
  EXPECT_TRUE(resign(to(2), next).ok());
  EXPECT_EQ(leader_value(to(1), "e"), "election: no leader");
}

TEST_F(ByLocks, LetOnlyTheLeaderSpeak) {
  const pb::LeaderKey key = won(campaign(to(1), "e", "one"));
  EXPECT_TRUE(proclaim(to(1), key, "two").ok());
  EXPECT_EQ(leader_value(to(2), "e"), "two");
  EXPECT_EQ(leader(to(2), "e")->response.kv().version(), 2);
  pb::LeaderKey wrong = key;
  wrong.set_rev(key.rev() + 1);
  EXPECT_EQ(proclaim(to(1), wrong, "three"), not_leader);
  wrong = key;
  wrong.set_key("e/123");
  EXPECT_EQ(proclaim(to(1), wrong, "three"), not_leader);
  const rpc::Status missing = {rpc::Code::unknown, "\"leader\" field must be provided"};
  EXPECT_EQ(proclaim(to(1), {}, "three"), missing);
  EXPECT_EQ(resign(to(1), {}), missing);
  EXPECT_EQ(proclaim(to(1), key, std::string(longest_value + 1, 'x')).code, rpc::Code::invalid_argument);
  EXPECT_EQ(leader_value(to(1), "e"), "two");
}

TEST_F(ByLocks, KeepOneCandidacyForALease) {
  const LeaseId lease = grant(to(1), 60);
  const pb::LeaderKey key = won(campaign(to(1), "e", "one", lease));
  EXPECT_EQ(won(campaign(to(1), "e", "two", lease)).rev(), key.rev());
  EXPECT_EQ(leader_value(to(2), "e"), "two");
}

TEST_F(ByLocks, EndWithTheLeaseOrTheConnection) {
  const LeaseId lease = grant(to(1), 60);
  won(campaign(to(1), "e", "one", lease));
  auto client = channel_to(1);
  const auto second = campaign(*client, "e", "two");
  const LeaseId other = grant(to(1), 60);
  const auto third = campaign(to(1), "e", "three", other);
  settle();
  revoke(to(1), lease);
  won(second);
  EXPECT_EQ(leader_value(to(2), "e"), "two");
  revoke(to(1), other);
  until([&] { return third->over; });
  EXPECT_EQ(third->status, (rpc::Status{rpc::Code::not_found, "etcdserver: requested lease not found"}));
  client.reset();
  until([&] { return !hall.holder("election/e").has_value(); });
  EXPECT_EQ(leader_value(to(2), "e"), "election: no leader");
}

TEST_F(ByLocks, AreObserved) {
  Watcher here(to(1), "e");
  Watcher there(to(2), "e");
  settle();
  EXPECT_TRUE(here.seen->values.empty()) << "nobody leads";
  const pb::LeaderKey first = won(campaign(to(1), "e", "one"));
  proclaim(to(1), first, "two");
  const auto second = campaign(to(2), "e", "three");
  settle();
  resign(to(1), first);
  won(second);
  settle();
  const std::vector<std::string> all = {"one", "two", "three"};
  EXPECT_EQ(here.seen->values, all);
  EXPECT_EQ(there.seen->values, all);
  Watcher late(to(1), "e");
  until([&] { return !late.seen->values.empty(); });
  EXPECT_EQ(late.seen->values.front(), "three");
  here.call.cancel();
  until([&] { return here.seen->closed; });
  settle();
  proclaim(to(2), second->response.leader(), "four");
  settle();
  EXPECT_EQ(late.seen->values.back(), "four");
  EXPECT_EQ(here.seen->values, all);
}

TEST_F(ByLocks, ToldAgainToWhoComesBack) {
  const pb::LeaderKey first = won(campaign(to(1), "e", "one"));
  won(campaign(to(1), "f", "stays"));
  settle();
  Watcher watcher(to(2), "f");
  hall.cut({1}, {2});
  EXPECT_EQ(leader_value(to(2), "e"), "one") << "it may lead still";
  resign(to(1), first);
  EXPECT_EQ(leader_value(to(2), "e"), "one");
  won(campaign(to(1), "g", "new"));
  hall.join({1}, {2});
  EXPECT_EQ(leader_value(to(2), "e"), "election: no leader");
  EXPECT_EQ(leader_value(to(2), "f"), "stays");
  EXPECT_EQ(leader_value(to(2), "g"), "new");
  EXPECT_EQ(watcher.seen->values, std::vector<std::string>{"stays"}) << "nothing changed for it";
}

TEST_F(ByLocks, AreForgottenWithAMemberThatIsEvictedOrStartsAnew) {
  won(campaign(to(1), "e", "one"));
  EXPECT_EQ(leader_value(to(2), "e"), "one");
  at(2).seat.events.peer_down({1});
  at(1).seat.incarnation = 2;
  at(2).seat.events.peer_up({1});
  EXPECT_EQ(leader(to(2), "e")->status, no_leader);
  won(campaign(to(1), "f", "one"));
  EXPECT_EQ(leader_value(to(2), "f"), "one");
  hall.evict({1});
  EXPECT_EQ(leader_value(to(2), "f"), "election: no leader");
}

TEST_F(ByLocks, BelieveTheGreatestFence) {
  const auto leads = [](const std::string& value, std::uint64_t fence) {
    return encode(Note(Leads{.name = "e", .key = "e/1", .value = value, .fence = fence}));
  };
  tell({1}, {2}, leads("seven", 7));
  tell({1}, {3}, leads("five", 5));
  EXPECT_EQ(leader_value(to(1), "e"), "seven");
  tell({1}, {2}, encode(Note(Ended{.name = "e", .fence = 7})));
  EXPECT_EQ(leader_value(to(1), "e"), "election: no leader") << "who led before does not lead again";
  tell({1}, {3}, leads("nine", 9));
  tell({1}, {3}, encode(Note(Ended{.name = "e", .fence = 5})));
  EXPECT_EQ(leader_value(to(1), "e"), "nine");
}

TEST_F(ByLocks, AreNotDisturbedByNonsense) {
  won(campaign(to(1), "e", "one"));
  const std::vector<Bytes> nonsense = {
      {},
      {9},
      {0},
      {0, 200},
      {1, 255, 255, 255, 255, 15},
      Bytes(100, 0xff),
      encode(Note(Anew{.version = 2})),
      encode(Note(Leads{.name = "", .key = "/1", .fence = 9})),
      encode(Note(Leads{.name = "e", .key = "f/1", .fence = 9})),
      encode(Note(Leads{.name = "e", .key = "e/1", .fence = 0})),
      encode(Note(Leads{.name = "e", .key = "e/1", .fence = UINT64_MAX})),
      encode(Note(Leads{.name = "e", .key = "e/" + std::string(100, '1'), .fence = 9})),
      encode(
          Note(Leads{.name = "e", .key = "e/1", .value = std::string(longest_value + 1, 'x'), .fence = 9})),
      encode(Note(Leads{.name = std::string(1001, 'e'), .key = std::string(1001, 'e') + "/1", .fence = 9})),
      encode(Note(Ended{.name = "e", .fence = UINT64_MAX})),
  };
  for (const Bytes& bytes : nonsense) tell({1}, {2}, bytes);
  EXPECT_EQ(at(1).desk->stats().notes_refused, nonsense.size());
  EXPECT_EQ(leader_value(to(1), "e"), "one");
}

TEST_F(ByLocks, ThatTheGroupTakesAwayAreOver) {
  const LeaseId lease = grant(to(1), 60);
  const pb::LeaderKey key = won(campaign(to(1), "e", "one", lease));
  EXPECT_EQ(leader_value(to(2), "e"), "one");
  hall.lose("election/e");
  EXPECT_EQ(leader_value(to(2), "e"), "election: no leader");
  EXPECT_EQ(proclaim(to(1), key, "two"), not_leader);
  EXPECT_EQ(time_to_live(to(1), lease), -1);
}

class FewLeaders : public Elections {
 protected:
  FewLeaders() { open({.leaders = {.names_per_member = 2, .bytes_per_member = 100}, .observers = 1}); }
};

TEST_F(FewLeaders, AreRememberedOfAMemberThatTellsTooMuch) {
  const auto leads = [&](const std::string& name, const std::string& value) {
    tell({1}, {2}, encode(Note(Leads{.name = name, .key = name + "/1", .value = value, .fence = 1})));
  };
  leads("a", "x");
  leads("b", "x");
  leads("c", "x");
  EXPECT_EQ(at(1).desk->stats().notes_refused, 1u);
  leads("b", std::string(100, 'x'));
  EXPECT_EQ(at(1).desk->stats().notes_refused, 2u);
  EXPECT_EQ(leader_value(to(1), "b"), "x");
  tell({1}, {2}, encode(Note(Anew{})));
  leads("c", "y");
  EXPECT_EQ(leader_value(to(1), "c"), "y");
  EXPECT_EQ(leader_value(to(1), "a"), "election: no leader");
}

TEST_F(FewLeaders, AreObservedByAsManyAsThereIsRoomFor) {
  Watcher first(to(1), "e");
  settle();
  Watcher second(to(1), "e");
  until([&] { return second.seen->closed; });
  first.call.cancel();
  until([&] { return first.seen->closed; });
  settle();
  Watcher third(to(1), "e");
  settle();
  EXPECT_FALSE(third.seen->closed);
}

class ByElectionEngines : public Elections {
 protected:
  ByElectionEngines() {
    hall.kind = live::Group::Kind::elections;
    hall.engine = "bully";
    open({.lock_engines = {"maekawa", "lamport"}});
  }
};

TEST_F(ByElectionEngines, HaveNoLocks) {
  const auto heard = lock(to(1), "a");
  until([&] { return heard->over; });
  EXPECT_EQ(heard->status,
            (rpc::Status{
                rpc::Code::unimplemented,
                "the engine bully elects leaders and has no locks; engines with locks: maekawa, lamport"}));
}

TEST_F(ByElectionEngines, NameTheElectedMember) {
  EXPECT_EQ(leader(to(1), "e")->status, no_leader);
  EXPECT_TRUE(at(1).seat.taking_part.contains("election/e"));
  hall.elect("election/e", NodeId{2});
  const auto heard = leader(to(1), "e");
  ASSERT_TRUE(heard->ok) << heard->status.message;
  EXPECT_EQ(heard->response.kv().key(), "e/2");
  EXPECT_EQ(heard->response.kv().value(), "member 2");
}

TEST_F(ByElectionEngines, LetTheFirstClientOfTheElectedMemberLead) {
  Watcher watcher(to(1), "e");
  const auto here = campaign(to(1), "e", "here");
  const auto there = campaign(to(2), "e", "there");
  settle();
  const auto later = campaign(to(2), "e", "later");
  settle();
  EXPECT_FALSE(here->over || there->over);
  hall.elect("election/e", NodeId{2});
  const pb::LeaderKey key = won(there);
  EXPECT_EQ(leader_value(to(1), "e"), "there");
  EXPECT_FALSE(later->over || here->over);
  EXPECT_TRUE(proclaim(to(2), key, "still there").ok());
  EXPECT_EQ(leader_value(to(1), "e"), "still there");
  EXPECT_TRUE(resign(to(2), key).ok());
  won(later);
  EXPECT_EQ(leader_value(to(1), "e"), "later");
  EXPECT_EQ(proclaim(to(2), key, "again"), not_leader);
  hall.elect("election/e", NodeId{1});
  won(here);
  EXPECT_EQ(leader_value(to(2), "e"), "here");
  settle();
  EXPECT_EQ(watcher.seen->values.back(), "here");
  EXPECT_TRUE(std::ranges::count(watcher.seen->values, "later") == 1);
}

TEST_F(ByElectionEngines, TellWhoLeadsNoLonger) {
  const LeaseId lease = grant(to(1), 60);
  hall.elect("election/e", NodeId{1});
  const pb::LeaderKey key = won(campaign(to(1), "e", "one", lease));
  hall.elect("election/e", std::nullopt);
  EXPECT_EQ(time_to_live(to(1), lease), -1);
  EXPECT_EQ(proclaim(to(1), key, "two"), not_leader);
  EXPECT_EQ(leader(to(1), "e")->status, no_leader);
}

}  // namespace
}  // namespace conclave::desk
