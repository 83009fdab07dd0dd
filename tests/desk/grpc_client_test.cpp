// An independent client, gRPC C++, at a group of real members: etcd's Lease, Lock and Election as its users
// know them. Nothing here has to happen fast, only in the end, and nothing too early.
#include <grpcpp/grpcpp.h>
#include <proto/conclave.grpc.pb.h>
#include <proto/election.grpc.pb.h>
#include <proto/lock.grpc.pb.h>
#include <proto/rpc.grpc.pb.h>

#include <fstream>
#include <future>

#include "process.hpp"

namespace conclave::desk {
namespace {

using namespace std::chrono_literals;
using live::Clock;
using live::soon;

// What one client has: a connection of its own to one member.
struct Client {
  explicit Client(const std::string& endpoint) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    const auto channel = grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
    leases = etcdserverpb::Lease::NewStub(channel);
    locks = v3lockpb::Lock::NewStub(channel);
    elections = v3electionpb::Election::NewStub(channel);
    store = etcdserverpb::KV::NewStub(channel);
    desk = conclavepb::Conclave::NewStub(channel);
  }
  std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  std::unique_ptr<v3lockpb::Lock::Stub> locks;
  std::unique_ptr<v3electionpb::Election::Stub> elections;
  std::unique_ptr<etcdserverpb::KV::Stub> store;
  std::unique_ptr<conclavepb::Conclave::Stub> desk;
};

template <class Response>
struct Answer {
  grpc::Status status;
  Response response;
};

// A call that may take its time. Whoever made it may cancel it.
template <class Response>
struct Pending {
  std::shared_ptr<grpc::ClientContext> context;
  std::future<Answer<Response>> answer;

  bool waits() { return answer.wait_for(0s) != std::future_status::ready; }
  Response get() {
    Answer<Response> got = answer.get();
    EXPECT_TRUE(got.status.ok()) << got.status.error_message();
    return got.response;
  }
};

template <class Response, class Stub, class Request>
Pending<Response> call(Stub& stub,
                       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                       Request request, std::chrono::milliseconds patience = soon) {
  auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + patience);
  return {context, std::async(std::launch::async, [&stub, method, context, request = std::move(request)] {
            Answer<Response> answer;
            answer.status = (stub.*method)(context.get(), request, &answer.response);
            return answer;
          })};
}

class GrpcClient : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string members;
    for (int i = 1; i <= 3; ++i) {
      members += (i > 1 ? "," : "") + std::to_string(i) + "=" + at(live::free_port());
      endpoints[i] = at(live::free_port());
    }
    for (int i = 1; i <= 3; ++i)
      group[i] = std::make_unique<live::Process>(
          std::vector<std::string>{CONCLAVE, "serve", "--engine", "ricart-agrawala", "--id",
                                   std::to_string(i), "--members", members, "--client", endpoints[i]});
    for (int i = 1; i <= 3; ++i) {
      const Client client(endpoints[i]);
      ASSERT_TRUE(until([&] { return members_up(client) == 3; })) << "member " << i;
    }
  }
  static void TearDownTestSuite() { group.clear(); }

  static std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
  template <class Condition>
  static bool until(Condition&& condition) {
    const auto end = Clock::now() + soon;
    while (!condition()) {
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

  static conclavepb::StatusResponse status(const Client& client) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);  // members take a moment to start
    context.set_deadline(std::chrono::system_clock::now() + soon);
    conclavepb::StatusResponse response;
    client.desk->Status(&context, {}, &response);
    return response;
  }
  static int members_up(const Client& client) {
    const conclavepb::StatusResponse answer = status(client);
    int up = 0;
    for (const auto& member : answer.members()) up += member.up();
    return up;
  }
  // Who waits at that client's member.
  static std::uint64_t queue(const Client& client, const std::string& name) {
    const conclavepb::StatusResponse answer = status(client);
    for (const auto& known : answer.names()) {
      if (known.name() == name) return known.queue_length();
    }
    return 0;
  }

  static std::int64_t grant(const Client& client, std::int64_t ttl) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(ttl);
    return call(*client.leases, &etcdserverpb::Lease::Stub::LeaseGrant, request).get().id();
  }
  static Pending<v3lockpb::LockResponse> lock(const Client& client, const std::string& name,
                                              std::int64_t lease = 0,
                                              std::chrono::milliseconds patience = soon) {
    v3lockpb::LockRequest request;
    request.set_name(name);
    request.set_lease(lease);
    return call(*client.locks, &v3lockpb::Lock::Stub::Lock, request, patience);
  }
  static void unlock(const Client& client, const v3lockpb::LockResponse& held) {
    v3lockpb::UnlockRequest request;
    request.set_key(held.key());
    call(*client.locks, &v3lockpb::Lock::Stub::Unlock, request).get();
  }
  static Pending<v3electionpb::CampaignResponse> campaign(const Client& client, const std::string& name,
                                                          std::int64_t lease, const std::string& value) {
    v3electionpb::CampaignRequest request;
    request.set_name(name);
    request.set_lease(lease);
    request.set_value(value);
    return call(*client.elections, &v3electionpb::Election::Stub::Campaign, request);
  }
  static grpc::Status proclaim(const Client& client, const v3electionpb::LeaderKey& key,
                               const std::string& value) {
    v3electionpb::ProclaimRequest request;
    *request.mutable_leader() = key;
    request.set_value(value);
    return call(*client.elections, &v3electionpb::Election::Stub::Proclaim, request).answer.get().status;
  }
  static void resign(const Client& client, const v3electionpb::LeaderKey& key) {
    v3electionpb::ResignRequest request;
    *request.mutable_leader() = key;
    call(*client.elections, &v3electionpb::Election::Stub::Resign, request).get();
  }

  static inline std::map<int, std::unique_ptr<live::Process>> group;
  static inline std::map<int, std::string> endpoints;
  Client one{endpoints[1]};
  Client two{endpoints[2]};
  Client three{endpoints[3]};
};

TEST_F(GrpcClient, ALockIsHeldOnALeaseUntilItIsGivenBack) {
  const std::int64_t lease = grant(one, 60);
  const v3lockpb::LockResponse held = lock(one, "door", lease).get();
  EXPECT_TRUE(held.key().starts_with("door/")) << held.key();
  etcdserverpb::LeaseTimeToLiveRequest asked;
  asked.set_id(lease);
  asked.set_keys(true);
  const auto left = call(*one.leases, &etcdserverpb::Lease::Stub::LeaseTimeToLive, asked).get();
  ASSERT_EQ(left.keys_size(), 1);
  EXPECT_EQ(left.keys(0), held.key());
  auto other = lock(two, "door", grant(two, 60));
  ASSERT_TRUE(until([&] { return queue(two, "door") == 1; }));
  EXPECT_TRUE(other.waits());
  unlock(one, held);
  EXPECT_GT(other.get().header().revision(), held.header().revision()) << "fences grow from holder to holder";
}

TEST_F(GrpcClient, WhoComesFirstIsServedFirst) {
  const v3lockpb::LockResponse held = lock(one, "line", grant(one, 60)).get();
  const Client second_client(endpoints[1]);
  const Client third_client(endpoints[1]);
  auto second = lock(second_client, "line", grant(second_client, 60));
  ASSERT_TRUE(until([&] { return queue(one, "line") == 1; }));
  auto third = lock(third_client, "line", grant(third_client, 60));
  ASSERT_TRUE(until([&] { return queue(one, "line") == 2; }));
  unlock(one, held);
  const v3lockpb::LockResponse seconds = second.get();
  EXPECT_TRUE(third.waits());
  unlock(second_client, seconds);
  EXPECT_GT(third.get().header().revision(), seconds.header().revision());
}

TEST_F(GrpcClient, ALeaseThatNobodyRenewsHandsTheLockOver) {
  const std::int64_t lease = grant(one, 2);
  lock(one, "kept", lease).get();
  auto next = lock(two, "kept", grant(two, 60));
  grpc::ClientContext context;
  const auto keeping = one.leases->LeaseKeepAlive(&context);
  for (int i = 0; i < 6; ++i) {
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    ASSERT_TRUE(keeping->Write(request));
    etcdserverpb::LeaseKeepAliveResponse response;
    ASSERT_TRUE(keeping->Read(&response));
    ASSERT_EQ(response.ttl(), 2) << "renewal " << i;
    ASSERT_TRUE(next.waits()) << "the lease was renewed, and somebody else has the lock";
    std::this_thread::sleep_for(400ms);
  }
  const auto renewed = Clock::now() - 400ms;
  next.get();
  EXPECT_GE(Clock::now() - renewed, 1900ms) << "before the lease had ended";
  keeping->WritesDone();
  EXPECT_TRUE(keeping->Finish().ok());
}

TEST_F(GrpcClient, WithoutALeaseALockLivesAsLongAsItsConnection) {
  auto holder = std::make_unique<Client>(endpoints[1]);
  lock(*holder, "connected").get();
  auto next = lock(two, "connected");
  ASSERT_TRUE(until([&] { return queue(two, "connected") == 1; }));
  EXPECT_TRUE(next.waits());
  holder.reset();
  next.get();
}

TEST_F(GrpcClient, WhoGivesUpWaitingLeavesTheLine) {
  const v3lockpb::LockResponse held = lock(one, "busy", grant(one, 60)).get();
  const std::int64_t lease = grant(two, 60);
  EXPECT_EQ(lock(two, "busy", lease, 300ms).answer.get().status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(until([&] { return queue(two, "busy") == 0; }));
  auto cancelled = lock(two, "busy", lease);
  ASSERT_TRUE(until([&] { return queue(two, "busy") == 1; }));
  cancelled.context->TryCancel();
  EXPECT_EQ(cancelled.answer.get().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(until([&] { return queue(two, "busy") == 0; }));
  unlock(one, held);
  lock(three, "busy", grant(three, 60)).get();
}

TEST_F(GrpcClient, ALeaderIsSeenByEverybodyUntilItResigns) {
  const auto first = campaign(one, "king", grant(one, 60), "Ada").get().leader();
  auto second = campaign(two, "king", grant(two, 60), "Bob");
  grpc::ClientContext context;
  v3electionpb::LeaderRequest request;
  request.set_name("king");
  const auto observing = three.elections->Observe(&context, request);
  v3electionpb::LeaderResponse seen;
  const auto sees = [&](const std::string& value) {
    while (observing->Read(&seen)) {
      if (seen.kv().value() == value) return true;
    }
    return false;
  };
  ASSERT_TRUE(sees("Ada"));
  EXPECT_EQ(seen.kv().key(), first.key());
  EXPECT_TRUE(proclaim(one, first, "Ada the second").ok());
  ASSERT_TRUE(sees("Ada the second"));
  EXPECT_TRUE(second.waits());
  resign(one, first);
  const auto bobs = second.get().leader();
  EXPECT_GT(bobs.rev(), first.rev());
  ASSERT_TRUE(sees("Bob"));
  EXPECT_EQ(seen.kv().create_revision(), bobs.rev());
  EXPECT_EQ(proclaim(one, first, "Ada again").error_message(), "election: not leader");
  const auto leader = call(*two.elections, &v3electionpb::Election::Stub::Leader, request).get();
  EXPECT_EQ(leader.kv().value(), "Bob");
  context.TryCancel();
  EXPECT_EQ(observing->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// Pages of a process that are in memory, in bytes.
std::size_t resident(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::size_t all = 0;
  std::size_t there = 0;
  file >> all >> there;
  return there * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(GrpcClient, AnObserverThatDoesNotReadCostsLittleAndMissesOnlyWhatIsOver) {
  const auto key = campaign(one, "fickle", grant(one, 60), "first").get().leader();
  grpc::ClientContext context;
  v3electionpb::LeaderRequest request;
  request.set_name("fickle");
  const auto observing = one.elections->Observe(&context, request);
  v3electionpb::LeaderResponse seen;
  ASSERT_TRUE(observing->Read(&seen));
  constexpr int values = 800;
  constexpr std::size_t size = 60'000;  // 48 MB in all
  const auto value = [](int i) { return std::to_string(i) + std::string(size, '.'); };
  const Client speaker(endpoints[1]);
  std::size_t before = 0;
  for (int i = 1; i <= values; ++i) {
    if (i == values / 5) before = resident(group[1]->id());
    ASSERT_TRUE(proclaim(speaker, key, value(i)).ok()) << i;
  }
  const std::size_t after = resident(group[1]->id());
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed for a while
  EXPECT_LT(after, before + 20'000'000) << "what nobody reads is kept";
#endif
  int read = 1;
  while (seen.kv().value() != value(values) && observing->Read(&seen)) ++read;
  EXPECT_EQ(seen.kv().value(), value(values)) << "the last one was lost";
  EXPECT_EQ(seen.kv().version(), values + 1);
  EXPECT_LT(read, values / 2) << "nothing was left out: the observer was not slow";
  context.TryCancel();
  observing->Finish();
}

TEST_F(GrpcClient, ThereIsNoStore) {
  const auto answer =
      call(*one.store, &etcdserverpb::KV::Stub::Range, etcdserverpb::RangeRequest{}).answer.get();
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(answer.status.error_message().contains("no key-value store")) << answer.status.error_message();
}

}  // namespace
}  // namespace conclave::desk
