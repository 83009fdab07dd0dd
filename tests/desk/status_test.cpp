// What operators and monitors see, and what engines without a store answer.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "desks.hpp"

namespace conclave::desk {
namespace {

namespace pb = conclavepb;

class StatusService : public Desks {
 protected:
  StatusService() { open({.client_urls = {{NodeId{1}, {"http://127.0.0.1:2379"}}}}); }

  pb::StatusResponse status(std::uint32_t member) {
    return ask<pb::StatusResponse>(to(member), "/conclavepb.Conclave/Status", pb::StatusRequest())->response;
  }
  // One request over HTTP/1.1; the whole answer.
  std::string http(const std::string& method, const std::string& path, const std::string& body = {}) {
    boost::asio::ip::tcp::socket socket(loop);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), at(1).port});
    socket.non_blocking(true);
    boost::asio::write(
        socket,
        boost::asio::buffer(
            method + " " + path +
            " HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n" +
            "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    std::string received;
    until([&] {
      char buffer[4096];
      boost::system::error_code error;
      while (!error) received.append(buffer, socket.read_some(boost::asio::buffer(buffer), error));
      return error != boost::asio::error::would_block;
    });
    return received;
  }
  std::string post(const std::string& path, const std::string& body) { return http("POST", path, body); }
};

TEST_F(StatusService, NamesMembersHoldersQueuesAndWhomItWaitsFor) {
  const LeaseId lease = grant(to(1), 60);
  locked(lock(to(1), "a", lease));
  const auto second = lock(to(1), "a");
  const auto elsewhere = lock(to(2), "a");
  settle();
  const pb::StatusResponse here = status(1);
  EXPECT_EQ(here.member_id(), 1u);
  EXPECT_EQ(here.engine(), "hall");
  EXPECT_EQ(here.group(), "test");
  EXPECT_EQ(here.epoch(), 1u);
  EXPECT_EQ(here.leases(), 1u);
  EXPECT_EQ(here.longest_lease_ms(), 60'000);
  ASSERT_EQ(here.members_size(), 2);
  EXPECT_TRUE(here.members(0).self());
  EXPECT_TRUE(here.members(1).up());
  EXPECT_EQ(here.members(1).since_ms(), 5000);
  ASSERT_EQ(here.names_size(), 1);
  const pb::Name& name = here.names(0);
  EXPECT_EQ(name.name(), "a");
  EXPECT_EQ(name.kind(), pb::Name::LOCK);
  EXPECT_EQ(name.phase(), "holding");
  EXPECT_EQ(name.fence(), 1u);
  EXPECT_EQ(name.holder().lease(), lease);
  EXPECT_EQ(name.holder().key(), "a/" + in_hex(lease));
  EXPECT_TRUE(name.holder().address().starts_with("127.0.0.1:"));
  EXPECT_EQ(name.queue_length(), 1u);
  EXPECT_EQ(name.queue(0).lease(), 0);
  const pb::Name there = status(2).names(0);
  EXPECT_EQ(there.phase(), "waiting");
  EXPECT_FALSE(there.has_holder());
  ASSERT_EQ(there.waits_for_size(), 1);
  EXPECT_EQ(there.waits_for(0), 1u);
  EXPECT_EQ(there.waiting_ms(), 12'000);
  EXPECT_EQ(there.words(), "waits for the reply of member 1");
}

TEST_F(StatusService, SaysWhenALeadersMemberIsDown) {
  v3electionpb::CampaignRequest request;
  request.set_name("e");
  request.set_value("me");
  ask<v3electionpb::CampaignResponse>(to(1), "/v3electionpb.Election/Campaign", request);
  settle();
  pb::Name name = status(2).names(0);
  EXPECT_EQ(name.kind(), pb::Name::ELECTION);
  EXPECT_EQ(name.leader().member(), 1u);
  EXPECT_EQ(name.leader().value(), "me");
  EXPECT_FALSE(name.leader().member_down());
  hall.cut({1}, {2});
  EXPECT_TRUE(status(2).names(0).leader().member_down());
  EXPECT_FALSE(status(1).names(0).leader().member_down());
}

TEST_F(StatusService, Evicts) {
  pb::EvictRequest request;
  request.set_member_id(2);
  const auto heard = ask<pb::EvictResponse>(to(1), "/conclavepb.Conclave/Evict", request);
  ASSERT_TRUE(heard->ok) << heard->status.message;
  EXPECT_EQ(heard->response.epoch(), 2u);
  EXPECT_TRUE(status(1).members(1).evicted());
  request.set_member_id(9);
  EXPECT_EQ(ask<pb::EvictResponse>(to(1), "/conclavepb.Conclave/Evict", request)->status,
            (rpc::Status{rpc::Code::failed_precondition, "there is no member 9"}));
  request.set_member_id(std::uint64_t{1} << 40);
  EXPECT_EQ(ask<pb::EvictResponse>(to(1), "/conclavepb.Conclave/Evict", request)->status.code,
            rpc::Code::invalid_argument);
  EXPECT_TRUE(http("GET", "/health").contains(R"({"health":"true"})"));
  hall.evict({1});
  EXPECT_TRUE(http("GET", "/health").contains("503"));
}

TEST_F(StatusService, SaysWhichEngineHasAStore) {
  const auto heard =
      ask<etcdserverpb::PutResponse>(to(1), "/etcdserverpb.KV/Put", etcdserverpb::PutRequest());
  EXPECT_EQ(heard->status.code, rpc::Code::unimplemented);
  EXPECT_EQ(heard->status.message,
            "the engine hall has no key-value store and does not serve /etcdserverpb.KV/Put; the engine raft "
            "has one");
  EXPECT_EQ(ask<etcdserverpb::PutResponse>(to(1), "/a.B/C", etcdserverpb::PutRequest())->status,
            (rpc::Status{rpc::Code::unimplemented, "unknown method /a.B/C"}));
}

TEST_F(StatusService, ListsMembersAsEtcdDoes) {
  const auto heard = ask<etcdserverpb::MemberListResponse>(to(1), "/etcdserverpb.Cluster/MemberList",
                                                           etcdserverpb::MemberListRequest());
  ASSERT_EQ(heard->response.members_size(), 2);
  EXPECT_EQ(heard->response.members(0).id(), heard->response.header().member_id());
  EXPECT_EQ(heard->response.members(0).clienturls(0), "http://127.0.0.1:2379");
  const auto status = ask<etcdserverpb::StatusResponse>(to(1), "/etcdserverpb.Maintenance/Status",
                                                        etcdserverpb::StatusRequest());
  EXPECT_EQ(status->response.version(), etcd_version);
  EXPECT_TRUE(status->response.has_header());
}

TEST_F(StatusService, HasPagesForMonitors) {
  locked(lock(to(1), "a"));
  const auto waiting = lock(to(1), "a");
  settle();
  EXPECT_TRUE(http("GET", "/version").contains(R"({"etcdserver":"3.5.0","etcdcluster":"3.5.0"})"));
  const std::string metrics = http("GET", "/metrics");
  EXPECT_TRUE(metrics.contains("\nconclave_held 1\n")) << metrics;
  EXPECT_TRUE(metrics.contains("\nconclave_waiting 1\n"));
  EXPECT_TRUE(metrics.contains("\nconclave_locks_granted_total 1\n"));
}

TEST_F(StatusService, SpeaksJson) {
  const std::string granted = post("/v3/lease/grant", R"({"TTL": "30", "ID": 77, "unknown": 1})");
  EXPECT_TRUE(granted.contains(R"("ID":"77","TTL":"30")")) << granted;
  const std::string locked = post("/v3/lock/lock", R"({"name": "YQ==", "lease": 77})");
  EXPECT_TRUE(locked.contains(R"("key":"YS80ZA==")")) << locked;  // a/4d
  EXPECT_TRUE(locked.contains(R"("revision":"1")"));
  const std::string alive = post("/v3/lease/keepalive", R"({"ID": 77})");
  EXPECT_TRUE(alive.contains(R"({"result":{"header":{)")) << alive;
  EXPECT_TRUE(alive.contains(R"("TTL":"30")"));
  EXPECT_TRUE(
      post("/v3/kv/lease/timetolive", R"({"ID": 77, "keys": true})").contains(R"("keys":["YS80ZA=="])"));
  EXPECT_TRUE(post("/v3/lease/leases", "").contains(R"("leases":[{"ID":"77"}])"));
  EXPECT_TRUE(post("/v3/lock/unlock", R"({"key": "YS80ZA=="})").contains("200 OK"));
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
  const std::string refused = post("/v3/lease/revoke", R"({"ID": 78})");
  EXPECT_TRUE(refused.contains("404")) << refused;
  EXPECT_TRUE(refused.contains(R"("message":"etcdserver: requested lease not found","code":5)"));
  EXPECT_TRUE(post("/v3/election/leader", R"({"name": "ZQ=="})").contains("500"));
  EXPECT_TRUE(post("/v3/lock/lock", "{nonsense").contains("400"));
  EXPECT_TRUE(http("GET", "/v3/lock/lock").contains("405"));
}

// A lock that lives as long as the connection ends with the request that asked for it, if that closes it.
TEST_F(StatusService, GivesALockByJsonBackWithTheConnection) {
  EXPECT_TRUE(post("/v3/lock/lock", R"({"name": "YQ=="})").contains("200 OK"));
  until([&] { return !hall.holder("lock/a").has_value(); });
}

TEST_F(StatusService, TakesWhoHangsUpOutOfTheLine) {
  locked(lock(to(2), "a"));
  boost::asio::ip::tcp::socket socket(loop);
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), at(1).port});
  const std::string body = R"({"name": "YQ=="})";
  boost::asio::write(
      socket, boost::asio::buffer(
                  "POST /v3/lock/lock HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                  "content-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  until([&] { return hall.waiting("lock/a") == 1; });
  socket.close();
  until([&] { return hall.waiting("lock/a") == 0; });
}

}  // namespace
}  // namespace conclave::desk
