// The client against a member that does what no etcd does on demand: locks without leases, leases that end by
// themselves, services that are not there.
#include <gtest/gtest.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <conclave/client.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "rpc/typed_server.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;
namespace pb = etcdserverpb;

// Grants every lease and every lock.
class Member {
 public:
  explicit Member(rpc::TlsPtr tls = {}) {
    rpc::serve_unary<pb::LeaseGrantRequest, pb::LeaseGrantResponse>(
        *server_, "/etcdserverpb.Lease/LeaseGrant",
        [&](const pb::LeaseGrantRequest& request, rpc::Reply<pb::LeaseGrantResponse> reply) {
          pb::LeaseGrantResponse response;
          response.set_id(7);
          response.set_ttl(request.ttl());
          reply.send(response);
        });
    rpc::serve_unary<pb::LeaseRevokeRequest, pb::LeaseRevokeResponse>(
        *server_, "/etcdserverpb.Lease/LeaseRevoke",
        [&](const pb::LeaseRevokeRequest&, rpc::Reply<pb::LeaseRevokeResponse> reply) {
          ++revoked;
          reply.send({});
        });
    rpc::serve_stream<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse>(
        *server_, "/etcdserverpb.Lease/LeaseKeepAlive",
        [&](rpc::ServerStream<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse> stream) {
          stream.on_message([this, stream](const pb::LeaseKeepAliveRequest& request) mutable {
            stream_ = stream;
            renewal_came = BootClock::now();
            later_.expires_after(slowness);
            later_.async_wait([this, id = request.id()](const boost::system::error_code& error) {
              if (!error) answer(id, 3);
            });
          });
        });
    rpc::serve_unary<v3lockpb::LockRequest, v3lockpb::LockResponse>(
        *server_, "/v3lockpb.Lock/Lock",
        [&](const v3lockpb::LockRequest& request, rpc::Reply<v3lockpb::LockResponse> reply) {
          lease_of_lock = request.lease();
          v3lockpb::LockResponse response;
          response.set_key(request.name() + "/key");
          response.mutable_header()->set_revision(++fence_);
          reply.send(response);
        });
    rpc::serve_unary<v3lockpb::UnlockRequest, v3lockpb::UnlockResponse>(
        *server_, "/v3lockpb.Lock/Unlock",
        [&](const v3lockpb::UnlockRequest& request, rpc::Reply<v3lockpb::UnlockResponse> reply) {
          unlocked = request.key() == "door/key";
          reply.send({});
        });
    endpoint = "127.0.0.1:" + std::to_string(server_->listen("127.0.0.1:0", std::move(tls)).value());
    thread_ = std::jthread([&] { loop_.run(); });
  }
  ~Member() { leave(); }

  void leave() {
    if (!thread_.joinable()) return;
    boost::asio::post(loop_, [&] {
      later_.cancel();
      stream_.reset();
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  // Says without being asked that the lease ended, as members do.
  void end_lease() {
    boost::asio::post(loop_, [&] { answer(7, 0); });
  }

  std::string endpoint;
  std::chrono::milliseconds slowness{0};  // of answers to renewals
  std::atomic<BootClock::time_point> renewal_came = {};
  std::atomic<std::int64_t> lease_of_lock = -1;
  std::atomic<bool> unlocked = false;
  std::atomic<int> revoked = 0;

 private:
  void answer(std::int64_t id, std::int64_t ttl) {
    pb::LeaseKeepAliveResponse response;
    response.set_id(id);
    response.set_ttl(ttl);
    if (stream_) stream_->send(response);
  }
  boost::asio::io_context loop_{1};
  boost::asio::steady_timer later_{loop_};
  std::unique_ptr<rpc::Server> server_ = std::make_unique<rpc::Server>(loop_);
  std::optional<rpc::ServerStream<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse>> stream_ = {};
  std::int64_t fence_ = 0;
  std::jthread thread_ = {};
};

bool fired_within(const std::stop_token& token, std::chrono::nanoseconds time) {
  const auto end = BootClock::now() + time;
  while (!token.stop_requested() && BootClock::now() < end) std::this_thread::sleep_for(2ms);
  return token.stop_requested();
}

TEST(ClientOfAMember, LocksForAsLongAsTheConnectionStands) {
  Member member;
  Mutex mutex(connect({.endpoints = {member.endpoint}}).value(), "door", {.ttl = 0s});
  const auto fence = mutex.acquire();
  ASSERT_TRUE(fence) << fence.error().message;
  EXPECT_EQ(member.lease_of_lock, 0);
  EXPECT_EQ(mutex.good_until(), BootClock::time_point::max());
  ASSERT_TRUE(mutex.release());
  EXPECT_TRUE(member.unlocked);
  ASSERT_TRUE(mutex.acquire());
  EXPECT_GT(mutex.fence(), *fence);
  EXPECT_FALSE(fired_within(mutex.lost(), 100ms));
  member.leave();
  EXPECT_TRUE(fired_within(mutex.lost(), 5s));
  EXPECT_FALSE(mutex.held());
}

TEST(ClientOfAMember, HearsOfTheEndOfALeaseUnasked) {
  Member member;
  const auto lease = Lease::grant(connect({.endpoints = {member.endpoint}}).value(), 3s);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(fired_within(lease->lost(), 1200ms));  // renewed once: there is a stream
  member.end_lease();
  EXPECT_TRUE(fired_within(lease->lost(), 500ms));
}

// The server counts from when it heard of the renewal at the earliest: whoever counts from its answer counts
// too long.
TEST(ClientOfAMember, CountsALeaseFromTheSendingOfItsRenewal) {
  Member member;
  member.slowness = 600ms;
  const auto lease = Lease::grant(connect({.endpoints = {member.endpoint}}).value(), 3s);
  ASSERT_TRUE(lease);
  const auto granted = lease->good_until();
  const auto end = BootClock::now() + 5s;
  while (lease->good_until() == granted && BootClock::now() < end) std::this_thread::sleep_for(1ms);
  ASSERT_GT(lease->good_until(), granted) << "it was renewed";
  EXPECT_LE(lease->good_until(), member.renewal_came.load() + 3s - lease->margin());
}

TEST(ClientOfAMember, GivesItsLeasesBackAtTheEnd) {
  Member member;
  {
    Mutex mutex(connect({.endpoints = {member.endpoint}}).value(), "door", {.ttl = 60s});
    ASSERT_TRUE(mutex.acquire());
    EXPECT_EQ(member.lease_of_lock, 7);
  }
  EXPECT_TRUE(member.unlocked);
  EXPECT_EQ(member.revoked, 1);
}

TEST(ClientOfAMember, ShowsAndAsksForCertificates) {
  std::string folder = testing::TempDir() + "client_tls_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(std::system(("bash " RPC_TESTS "/certificates.sh " + folder + " >/dev/null 2>&1").c_str()), 0);
  const auto file = [&](const char* name) { return folder + "/" + name; };
  Member member(rpc::server_tls({.certificate = file("server.pem"),
                                 .key = file("server.key"),
                                 .authority = file("authority.pem"),
                                 .require_client_certificate = true})
                    .value());
  const Options ours = {.endpoints = {member.endpoint},  // https, because files are named
                        .certificate = file("alice.pem"),
                        .key = file("alice.key"),
                        .authority = file("authority.pem"),
                        .call_timeout = 1s};
  EXPECT_TRUE(Mutex(connect(ours).value(), "door").acquire());
  Options strangers = ours;
  strangers.authority = file("stranger.pem");
  EXPECT_EQ(Mutex(connect(strangers).value(), "door").acquire().error().kind, ErrorKind::unreachable);
  std::filesystem::remove_all(folder);
}

TEST(ClientOfAMember, SaysWhatAServerDoesNotKnow) {
  Member member;
  const auto leader = Election(connect({.endpoints = {member.endpoint}}).value(), "boss").leader();
  ASSERT_FALSE(leader);
  EXPECT_EQ(leader.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace conclave
