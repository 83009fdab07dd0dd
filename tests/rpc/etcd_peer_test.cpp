// Our channel against a real etcd, and the real etcdctl against our server.
#include <gtest/gtest.h>
#include <proto/election.pb.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>

#include <cstdio>
#include <thread>

#include "../etcd.hpp"
#include "rpc/typed_client.hpp"
#include "rpc/typed_server.hpp"

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;
namespace pb = etcdserverpb;

class EtcdPeer : public testing::Test {
 protected:
  static void SetUpTestSuite() { etcd = std::make_unique<Etcd>(); }
  static void TearDownTestSuite() { etcd.reset(); }

  EtcdPeer()
      : channel(std::move(
            Channel::open(loop, {.endpoints = {"http://127.0.0.1:" + std::to_string(etcd->port)}}).value())) {
  }

  void until(const auto& seen) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop.restart();
      loop.run_one_for(20ms);
    }
  }
  template <class Response>
  std::expected<Response, Failure> ask(std::string_view path, const google::protobuf::MessageLite& request) {
    std::optional<std::expected<Response, Failure>> answer;
    call<Response>(*channel, path, request, {.timeout = 20s, .wait_for_ready = true},
                   [&](std::expected<Response, Failure> heard) { answer = std::move(heard); });
    until([&] { return answer.has_value(); });
    return std::move(*answer);
  }
  void put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    pb::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    request.set_lease(lease);
    const auto answer = ask<pb::PutResponse>("/etcdserverpb.KV/Put", request);
    ASSERT_TRUE(answer) << answer.error().status.message;
    EXPECT_GT(answer->header().revision(), 1);
    EXPECT_NE(answer->header().cluster_id(), 0u);
  }

  static inline std::unique_ptr<Etcd> etcd;
  boost::asio::io_context loop{1};
  std::unique_ptr<Channel> channel;
};

TEST_F(EtcdPeer, PutsAndReads) {
  put("a", "first");
  put("a", "second");
  put("large", std::string(1'000'000, 'x'));
  pb::RangeRequest request;
  request.set_key("a");
  const auto answer = ask<pb::RangeResponse>("/etcdserverpb.KV/Range", request);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->kvs_size(), 1);
  EXPECT_EQ(answer->kvs(0).value(), "second");
  EXPECT_EQ(answer->kvs(0).version(), 2);
  request.set_key("large");
  EXPECT_EQ(ask<pb::RangeResponse>("/etcdserverpb.KV/Range", request)->kvs(0).value().size(), 1'000'000u);
}

TEST_F(EtcdPeer, IsToldErrorsInEtcdsWords) {
  const auto refused = ask<pb::PutResponse>("/etcdserverpb.KV/Put", pb::PutRequest());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, (Status{Code::invalid_argument, "etcdserver: key is not provided"}));
  EXPECT_EQ(ask<pb::PutResponse>("/etcdserverpb.KV/Nonsense", pb::PutRequest()).error().status.code,
            Code::unimplemented);
}

TEST_F(EtcdPeer, ComparesAndSwaps) {
  pb::TxnRequest request;
  pb::Compare& compare = *request.add_compare();
  compare.set_key("new");
  compare.set_target(pb::Compare::CREATE);
  compare.set_create_revision(0);
  pb::PutRequest& then = *request.add_success()->mutable_request_put();
  then.set_key("new");
  then.set_value("mine");
  EXPECT_TRUE(ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request)->succeeded());
  EXPECT_FALSE(ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request)->succeeded());
}

TEST_F(EtcdPeer, KeepsALeaseAlive) {
  pb::LeaseGrantRequest grant;
  grant.set_ttl(60);
  const auto granted = ask<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", grant);
  ASSERT_TRUE(granted);
  put("leased", "x", granted->id());
  std::vector<std::int64_t> ttls;
  bool over = false;
  ClientStream stream = open_stream<pb::LeaseKeepAliveResponse>(
      *channel, "/etcdserverpb.Lease/LeaseKeepAlive", {.metadata = {{"hasleader", "true"}}},
      {.message = [&](const pb::LeaseKeepAliveResponse& one) { ttls.push_back(one.ttl()); },
       .closed = [&](const Answer&) { over = true; }});
  pb::LeaseKeepAliveRequest keep;
  keep.set_id(granted->id());
  for (std::size_t i = 1; i <= 3; ++i) {
    stream.send(keep);
    until([&] { return ttls.size() == i; });
  }
  EXPECT_EQ(ttls, (std::vector<std::int64_t>{60, 60, 60}));
  stream.half_close();
  until([&] { return over; });
}

TEST_F(EtcdPeer, Watches) {
  std::vector<pb::WatchResponse> seen;
  Status ended;
  bool over = false;
  ClientStream stream =
      open_stream<pb::WatchResponse>(*channel, "/etcdserverpb.Watch/Watch", {},
                                     {.message = [&](const pb::WatchResponse& one) { seen.push_back(one); },
                                      .closed =
                                          [&](const Answer& answer) {
                                            ended = answer.status;
                                            over = true;
                                          }});
  pb::WatchRequest watch;
  watch.mutable_create_request()->set_key("watched");
  stream.send(watch);
  until([&] { return seen.size() == 1; });
  EXPECT_TRUE(seen[0].created());
  put("watched", "one");
  put("elsewhere", "two");
  put("watched", "three");
  until([&] { return seen.size() == 3; });
  EXPECT_EQ(seen[1].events(0).kv().value(), "one");
  EXPECT_EQ(seen[2].events(0).kv().value(), "three");
  stream.cancel();
  until([&] { return over; });
  EXPECT_EQ(ended.code, Code::cancelled);
}

TEST_F(EtcdPeer, LocksAndCampaigns) {
  v3lockpb::LockRequest lock;
  lock.set_name("printer");
  const auto held = ask<v3lockpb::LockResponse>("/v3lockpb.Lock/Lock", lock);
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->key().starts_with("printer/"));
  v3electionpb::CampaignRequest campaign;
  campaign.set_name("boss");
  campaign.set_value("me");
  const auto elected = ask<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign", campaign);
  ASSERT_TRUE(elected);
  v3electionpb::LeaderRequest leader;
  leader.set_name("boss");
  EXPECT_EQ(ask<v3electionpb::LeaderResponse>("/v3electionpb.Election/Leader", leader)->kv().value(), "me");
}

TEST_F(EtcdPeer, MovesToAnotherEtcd) {
  Etcd other;
  channel =
      std::move(Channel::open(loop, {.endpoints = {"127.0.0.1:" + std::to_string(other.port)}}).value());
  put("x", "y");  // it is up
  channel = std::move(Channel::open(loop, {.endpoints = {"127.0.0.1:" + std::to_string(other.port),
                                                         "127.0.0.1:" + std::to_string(etcd->port)}})
                          .value());
  put("x", "y");
  EXPECT_EQ(channel->endpoint(), "127.0.0.1:" + std::to_string(other.port));
  channel->next_endpoint();
  put("x", "y");
  EXPECT_EQ(channel->endpoint(), "127.0.0.1:" + std::to_string(etcd->port));
}

// etcdctl asks named endpoints with ":authority: http://127.0.0.1:2379", which nghttp2 by itself refuses.
TEST(Etcdctl, IsAnsweredAtANamedEndpoint) {
  boost::asio::io_context loop(1);
  Server server(loop);
  std::string authority;
  serve_unary<pb::StatusRequest, pb::StatusResponse>(
      server, "/etcdserverpb.Maintenance/Status",
      [&](const pb::StatusRequest&, Reply<pb::StatusResponse> reply) {
        authority = reply.call().metadata().get(":authority").value_or("");
        pb::StatusResponse response;
        response.mutable_header()->set_member_id(0xabc);
        response.set_version("3.4.23");
        reply.send(response);
      });
  const std::uint16_t port = server.listen("127.0.0.1:0").value();
  std::string output;
  std::thread user([&] {
    const std::string command =
        "ETCDCTL_API=3 timeout 20 etcdctl --endpoints=http://127.0.0.1:" + std::to_string(port) +
        " endpoint status 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[512];
    while (fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
    pclose(pipe);
    loop.stop();
  });
  loop.run();
  user.join();
  EXPECT_TRUE(output.contains("abc, 3.4.23")) << output;
  EXPECT_TRUE(authority.starts_with("http://")) << authority;
}

}  // namespace
}  // namespace conclave::rpc
