// Leases as clients know them, over real sockets.
#include "desks.hpp"

namespace conclave::desk {
namespace {

namespace pb = etcdserverpb;

class LeaseService : public Desks {
 protected:
  explicit LeaseService(Options options = {}) { open(std::move(options)); }

  Answer<pb::LeaseGrantResponse> try_grant(std::int64_t seconds, LeaseId id = 0) {
    pb::LeaseGrantRequest request;
    request.set_ttl(seconds);
    request.set_id(id);
    return begin<pb::LeaseGrantResponse>(to(1), "/etcdserverpb.Lease/LeaseGrant", request);
  }
  rpc::Status refusal(std::int64_t seconds, LeaseId id = 0) {
    const auto heard = try_grant(seconds, id);
    until([&] { return heard->over; });
    EXPECT_FALSE(heard->ok);
    return heard->status;
  }
  pb::LeaseTimeToLiveResponse look(LeaseId id, bool keys = false) {
    pb::LeaseTimeToLiveRequest request;
    request.set_id(id);
    request.set_keys(keys);
    return ask<pb::LeaseTimeToLiveResponse>(to(1), "/etcdserverpb.Lease/LeaseTimeToLive", request)->response;
  }
};

TEST_F(LeaseService, GrantsWhatIsAskedFor) {
  const auto heard = try_grant(30);
  until([&] { return heard->over; });
  ASSERT_TRUE(heard->ok) << heard->status.message;
  EXPECT_EQ(heard->response.ttl(), 30);
  EXPECT_GT(heard->response.id(), 0);
  EXPECT_EQ(heard->response.header().member_id(), 1u);
  EXPECT_EQ(grant(to(1), 30, 4711), 4711);
  EXPECT_EQ(grant(to(1), 30, -5), -5);
  const auto looked = look(4711);
  EXPECT_EQ(looked.grantedttl(), 30);
  EXPECT_EQ(looked.ttl(), 29) << "whole seconds that are left";
  EXPECT_TRUE(looked.has_header());
}

TEST_F(LeaseService, ChoosesIdsThatNoOtherMemberChooses) {
  std::set<LeaseId> ids;
  for (int i = 0; i < 10; ++i) {
    ids.insert(grant(to(1), 60));
    ids.insert(grant(to(2), 60));
  }
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_GT(*ids.begin(), 0);
  EXPECT_NE(grant(to(1), 60) >> 48, grant(to(2), 60) >> 48);
}

TEST_F(LeaseService, KeepsBounds) {
  const auto least = try_grant(-3);
  until([&] { return least->over; });
  EXPECT_EQ(least->response.ttl(), 1);
  const auto most = try_grant(9'000'000'000);
  until([&] { return most->over; });
  EXPECT_EQ(most->response.ttl(), 3600) << "the answer says what was granted";
  EXPECT_EQ(refusal(9'000'000'001),
            (rpc::Status{rpc::Code::out_of_range, "etcdserver: too large lease TTL"}));
  grant(to(1), 60, 7);
  EXPECT_EQ(refusal(60, 7),
            (rpc::Status{rpc::Code::failed_precondition, "etcdserver: lease already exists"}));
}

TEST_F(LeaseService, AnswersALongerLeaseOnlyWhenTheGroupKnows) {
  grant(to(1), 10);
  hall.hold_promises = true;
  const auto longer = try_grant(20);
  const auto twin = try_grant(20, 99);
  const auto other_twin = try_grant(20, 99);
  settle();
  EXPECT_FALSE(longer->over);
  grant(to(1), 10);
  hall.let_promises_go();
  until([&] { return longer->over && twin->over && other_twin->over; });
  EXPECT_TRUE(longer->ok);
  EXPECT_NE(twin->ok, other_twin->ok) << "an id is given once, whoever waits";
  EXPECT_EQ(at(1).seat.promised.front(), 10s);
  EXPECT_EQ(at(1).seat.promised.back(), 20s);
  const std::size_t asked = at(1).seat.promised.size();
  grant(to(1), 15);
  EXPECT_EQ(at(1).seat.promised.size(), asked) << "it is known already";
}

TEST_F(LeaseService, IsRenewedByItsClient) {
  std::vector<pb::LeaseKeepAliveResponse> answers;
  bool closed = false;
  auto stream = rpc::open_stream<pb::LeaseKeepAliveResponse>(
      to(1), "/etcdserverpb.Lease/LeaseKeepAlive", {},
      {.message = [&](const auto& response) { answers.push_back(response); },
       .closed =
           [&](const rpc::Answer& answer) {
             EXPECT_TRUE(answer.status.ok());
             closed = true;
           }});
  const LeaseId lease = grant(to(1), 1);
  const auto renew = [&](LeaseId id) {
    pb::LeaseKeepAliveRequest request;
    request.set_id(id);
    stream.send(request);
    const std::size_t before = answers.size();
    until([&] { return answers.size() > before; });
    EXPECT_EQ(answers.back().id(), id);
    EXPECT_TRUE(answers.back().has_header());
    return answers.back().ttl();
  };
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(renew(lease), 1);
    loop.restart();
    loop.run_for(200ms);
  }
  EXPECT_EQ(renew(12345), 0) << "there is no such lease";
  until([&] { return at(1).desk->stats().leases_expired == 1; });
  EXPECT_EQ(renew(lease), 0);
  stream.half_close();
  until([&] { return closed; });
}

TEST_F(LeaseService, SaysHowLongAndForWhat) {
  const auto unknown = look(5);
  EXPECT_EQ(unknown.ttl(), -1);
  EXPECT_EQ(unknown.id(), 5);
  EXPECT_TRUE(unknown.has_header());
  const LeaseId lease = grant(to(1), 60);
  locked(lock(to(1), "a", lease));
  locked(lock(to(1), "b\n/c", lease));
  EXPECT_EQ(look(lease).keys_size(), 0);
  const auto with_keys = look(lease, true);
  ASSERT_EQ(with_keys.keys_size(), 2);
  EXPECT_EQ(with_keys.keys(0), "a/" + in_hex(lease));
  EXPECT_EQ(with_keys.keys(1), "b\n/c/" + in_hex(lease));
  unlock(to(1), "a/" + in_hex(lease));
  EXPECT_EQ(look(lease, true).keys_size(), 1);
}

TEST_F(LeaseService, IsListedAndRevoked) {
  const LeaseId first = grant(to(1), 60, 3);
  const LeaseId second = grant(to(1), 60, 2);
  const auto list = [&] {
    return ask<pb::LeaseLeasesResponse>(to(1), "/etcdserverpb.Lease/LeaseLeases", pb::LeaseLeasesRequest())
        ->response;
  };
  ASSERT_EQ(list().leases_size(), 2);
  EXPECT_EQ(list().leases(0).id(), second);
  revoke(to(1), second);
  ASSERT_EQ(list().leases_size(), 1);
  EXPECT_EQ(list().leases(0).id(), first);
  pb::LeaseRevokeRequest request;
  request.set_id(second);
  EXPECT_EQ(ask<pb::LeaseRevokeResponse>(to(1), "/etcdserverpb.Lease/LeaseRevoke", request)->status,
            (rpc::Status{rpc::Code::not_found, "etcdserver: requested lease not found"}));
}

class FewLeases : public LeaseService {
 protected:
  FewLeases() : LeaseService({.leases = {.most = 8}}) {}
};

// A connection may have a quarter of them.
TEST_F(FewLeases, AreNotMoreThanThereIsRoomFor) {
  const LeaseId first = grant(to(1), 60);
  grant(to(1), 60);
  EXPECT_EQ(refusal(60), (rpc::Status{rpc::Code::resource_exhausted, "etcdserver: too many requests"}));
  revoke(to(1), first);
  grant(to(1), 60);
}

}  // namespace
}  // namespace conclave::desk
