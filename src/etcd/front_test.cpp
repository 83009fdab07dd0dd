#include "etcd/front.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <filesystem>
#include <limits>

#include "live/children.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;
namespace pb = etcdserverpb;

// What became of a call.
template <class Response>
struct Heard {
  bool over = false;
  rpc::Status status = {};
  Response response = {};
  rpc::ClientStream call = {};
};

const FrontOptions usual = {.watches = {.bytes = 20 * kv::WatchRequest{}.cost(), .response_bytes = 100}};

// One member alone, with its front and a client.
class Fronts : public testing::Test {
 protected:
  explicit Fronts(const FrontOptions& front_options = usual) {
    std::string path = testing::TempDir() + "front-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder = path;
    MachineOptions options;
    options.server = {.data = folder + "/data", .heartbeat = 10ms, .patience = 50ms};
    options.server.links = {.self = {1},
                            .members = {{{1}, "127.0.0.1", live::free_ports(1).value()[0]}},
                            .group = "test",
                            .algorithm = "raft"};
    const live::Log silent = [](live::LogLevel, std::string_view) {};
    machine = std::move(Machine::open(loop, options, {}, silent).value());
    serve({}, front_options);
  }
  void serve(const rpc::ServerLimits& limits, const FrontOptions& front_options = usual) {
    channel.reset();
    server.reset();
    front.reset();
    server.emplace(loop, limits);
    front.emplace(*server, *machine, front_options, [](live::LogLevel, std::string_view) {});
    const std::uint16_t port = server->listen("127.0.0.1:0").value();
    endpoint = "127.0.0.1:" + std::to_string(port);
    channel = open_channel();
  }
  ~Fronts() override {
    channel.reset();
    server.reset();
    front.reset();
    machine.reset();
    loop.restart();
    loop.poll();
    std::filesystem::remove_all(folder);
  }

  std::unique_ptr<rpc::Channel> open_channel() {
    return std::move(rpc::Channel::open(loop, {.endpoints = {endpoint}}).value());
  }
  template <std::predicate Seen>
  void until(Seen&& seen) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop.restart();
      loop.run_one_for(10ms);
    }
  }
  template <class Response>
  std::shared_ptr<Heard<Response>> begin(rpc::Channel& to, std::string_view path,
                                         const google::protobuf::Message& request) {
    auto heard = std::make_shared<Heard<Response>>();
    heard->call =
        rpc::call<Response>(to, path, request, {}, [heard](std::expected<Response, rpc::Failure> answer) {
          heard->over = true;
          if (answer)
            heard->response = std::move(*answer);
          else
            heard->status = answer.error().status;
        });
    return heard;
  }
  template <class Response>
  std::shared_ptr<Heard<Response>> ask(std::string_view path, const google::protobuf::Message& request) {
    auto heard = begin<Response>(*channel, path, request);
    until([&] { return heard->over; });
    return heard;
  }

  pb::PutResponse put(const std::string& key, const std::string& value) {
    pb::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    const auto heard = ask<pb::PutResponse>("/etcdserverpb.KV/Put", request);
    EXPECT_TRUE(heard->status.ok()) << heard->status.message;
    return heard->response;
  }
  // Keys "many/000" and so on, with this value.
  void put_many(int count, const std::string& value) {
    for (int i = 0; i < count;) {
      pb::TxnRequest request;
      for (std::size_t bytes = 0; i < count && bytes < 1'000'000 && request.success_size() < 128; ++i) {
        pb::PutRequest& one = *request.add_success()->mutable_request_put();
        one.set_key("many/" + std::to_string(10'000 + i));
        one.set_value(value);
        bytes += value.size();
      }
      EXPECT_TRUE(ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request)->status.ok());
    }
  }
  static pb::RangeRequest many() {
    pb::RangeRequest request;
    request.set_key("many/");
    request.set_range_end("many0");
    return request;
  }
  auto range(const pb::RangeRequest& request) {
    return ask<pb::RangeResponse>("/etcdserverpb.KV/Range", request);
  }
  auto txn(const pb::TxnRequest& request) { return ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request); }
  auto save(rpc::Channel& from) {
    auto saved = std::make_shared<Heard<std::string>>();
    saved->call = rpc::open_stream<pb::SnapshotResponse>(
        from, "/etcdserverpb.Maintenance/Snapshot", {},
        {.message = [saved](const pb::SnapshotResponse& response) { saved->response += response.blob(); },
         .closed =
             [saved](const rpc::Answer& answer) {
               saved->over = true;
               saved->status = answer.status;
             }});
    saved->call.send(pb::SnapshotRequest());
    saved->call.half_close();
    return saved;
  }
  auto lock(rpc::Channel& to, const std::string& name, kv::LeaseId lease = 0) {
    v3lockpb::LockRequest request;
    request.set_name(name);
    request.set_lease(lease);
    return begin<v3lockpb::LockResponse>(to, "/v3lockpb.Lock/Lock", request);
  }

  void unlock(const std::string& key) {
    v3lockpb::UnlockRequest request;
    request.set_key(key);
    EXPECT_TRUE(ask<v3lockpb::UnlockResponse>("/v3lockpb.Lock/Unlock", request)->status.ok());
  }
  kv::LeaseId lease(std::int64_t id = 0) {
    pb::LeaseGrantRequest request;
    request.set_id(id);
    request.set_ttl(60);
    const auto heard = ask<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request);
    EXPECT_TRUE(heard->status.ok()) << heard->status.message;
    return heard->response.id();
  }
  std::uint64_t places(const std::string& name) const {
    return machine->store().history().keys().count({name + '/', name + '0'});
  }
  std::size_t leases() const { return machine->store().leases().all().size(); }

  struct Observing {
    std::vector<std::string> told = {};
    rpc::Status ended = {};
    rpc::ClientStream call = {};
  };
  std::shared_ptr<Observing> observe(rpc::Channel& to, const std::string& name) {
    auto observing = std::make_shared<Observing>();
    observing->call = rpc::open_stream<v3electionpb::LeaderResponse>(
        to, "/v3electionpb.Election/Observe", {},
        {.message =
             [observing](const v3electionpb::LeaderResponse& one) {
               observing->told.push_back(one.kv().value());
             },
         .closed = [observing](const rpc::Answer& answer) { observing->ended = answer.status; }});
    v3electionpb::LeaderRequest request;
    request.set_name(name);
    observing->call.send(request);
    return observing;
  }

  // A stream of one watcher's client; what it was told.
  struct Watching {
    std::vector<pb::WatchResponse> told = {};
    rpc::ClientStream call = {};
  };
  std::shared_ptr<Watching> watch() { return watch(*channel); }
  static std::shared_ptr<Watching> watch(rpc::Channel& to) {
    auto watching = std::make_shared<Watching>();
    watching->call = rpc::open_stream<pb::WatchResponse>(
        to, "/etcdserverpb.Watch/Watch", {},
        {.message = [watching](const pb::WatchResponse& response) { watching->told.push_back(response); }});
    return watching;
  }
  static void create(Watching& watching, const pb::WatchCreateRequest& wish) {
    pb::WatchRequest request;
    *request.mutable_create_request() = wish;
    watching.call.send(request);
  }
  static pb::WatchCreateRequest wish_for(const std::string& key, std::int64_t start = 0) {
    pb::WatchCreateRequest wish;
    wish.set_key(key);
    wish.set_start_revision(start);
    return wish;
  }

  boost::asio::io_context loop{1};
  std::string folder;
  std::unique_ptr<Machine> machine;
  std::optional<Front> front;
  std::optional<rpc::Server> server;
  std::string endpoint;
  std::unique_ptr<rpc::Channel> channel;
};

// Where many may watch.
class RoomyFronts : public Fronts {
 protected:
  RoomyFronts() : Fronts(FrontOptions{}) {}
};

TEST_F(Fronts, HeadersSayWhoAnsweredAndWhen) {
  const pb::PutResponse first = put("a", "1");
  EXPECT_NE(first.header().cluster_id(), 0u);
  EXPECT_EQ(first.header().member_id(), 1u);
  EXPECT_EQ(first.header().revision(), 2);
  EXPECT_GE(first.header().raft_term(), 1u);
  EXPECT_EQ(put("a", "1").header().revision(), 3);  // the same value is a change as well
}

// Otherwise a client writes as much as it likes to the log of a member.
TEST_F(Fronts, SayNothingOfTextsThatAreNone) {
  testing::internal::CaptureStderr();
  rpc::Status status;
  const auto call = channel->unary("/etcdserverpb.Cluster/MemberAdd", std::string("\x0a\x01\xff"), {},
                                   [&](const rpc::Answer& answer) { status = answer.status; });
  until([&] { return !status.ok(); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Fronts, NestedAnswersOfATransactionSayOnlyTheRevision) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_put()->set_key("a");
  request.add_success()->mutable_request_range()->set_key("a");
  const auto heard = ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request);
  ASSERT_EQ(heard->response.responses_size(), 2);
  EXPECT_TRUE(heard->response.succeeded());
  const pb::RangeResponse& read = heard->response.responses(1).response_range();
  EXPECT_EQ(read.header().revision(), 2);
  EXPECT_EQ(read.header().cluster_id(), 0u);
  EXPECT_EQ(read.kvs_size(), 1);
}

TEST_F(Fronts, ErrorsHaveEtcdsCodesAndTexts) {
  pb::RangeRequest future;
  future.set_key("a");
  future.set_revision(99);
  EXPECT_EQ(
      ask<pb::RangeResponse>("/etcdserverpb.KV/Range", future)->status,
      (rpc::Status{rpc::Code::out_of_range, "etcdserver: mvcc: required revision is a future revision"}));
  pb::TxnRequest empty;
  empty.add_success();
  EXPECT_EQ(ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", empty)->status.code, rpc::Code::invalid_argument);
  pb::LeaseRevokeRequest revoke;
  revoke.set_id(5);
  EXPECT_EQ(ask<pb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", revoke)->status, lease_not_found);
  v3electionpb::LeaderRequest nobody;
  nobody.set_name("crown");
  EXPECT_EQ(ask<v3electionpb::LeaderResponse>("/v3electionpb.Election/Leader", nobody)->status,
            (rpc::Status{rpc::Code::unknown, "election: no leader"}));
}

TEST_F(Fronts, AWideReadIsAnsweredAsASmallOneIs) {
  const std::string value(1000, 'v');
  put_many(300, value);
  const kv::Revision revision = machine->store().revision();
  auto heard = range(many());
  ASSERT_TRUE(heard->status.ok()) << heard->status.message;
  EXPECT_EQ(heard->response.header().revision(), revision);
  EXPECT_EQ(heard->response.header().member_id(), 1u);
  EXPECT_EQ(heard->response.count(), 300);
  ASSERT_EQ(heard->response.kvs_size(), 300);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(heard->response.kvs(i).key(), "many/" + std::to_string(10'000 + i));
    EXPECT_EQ(heard->response.kvs(i).value(), value);
  }
  pb::RangeRequest last = many();
  last.set_limit(100);
  last.set_sort_order(pb::RangeRequest::DESCEND);
  last.set_serializable(true);
  last.set_keys_only(true);
  last.set_revision(revision);
  put("many/10299", "later");
  heard = range(last);
  EXPECT_EQ(heard->response.header().revision(), revision + 1);
  ASSERT_EQ(heard->response.kvs_size(), 100);
  EXPECT_EQ(heard->response.kvs(0).key(), "many/10299");
  EXPECT_EQ(heard->response.kvs(0).version(), 1);
  EXPECT_EQ(heard->response.kvs(0).value(), "");
  EXPECT_TRUE(heard->response.more());
}

// Of 4 MiB, an answer may have one.
TEST_F(Fronts, AReadWhoseAnswerWouldBeTooLargeIsRefused) {
  serve({.memory_bytes = 2 << 20});
  put_many(20, std::string(60'000, 'v'));
  const auto refused = range(many());
  EXPECT_EQ(refused->status.code, rpc::Code::resource_exhausted);
  EXPECT_TRUE(refused->status.message.starts_with("grpc: trying to send message larger than max ("))
      << refused->status.message;
  pb::RangeRequest some = many();
  some.set_limit(10);
  EXPECT_EQ(range(some)->response.kvs_size(), 10);
  pb::TxnRequest request;
  for (int i = 0; i < 3; ++i) *request.add_success()->mutable_request_range() = some;
  EXPECT_EQ(txn(request)->status.code, rpc::Code::resource_exhausted) << "what is asked for counts together";
  request.mutable_success()->RemoveLast();
  request.mutable_success()->RemoveLast();
  EXPECT_EQ(txn(request)->response.responses(0).response_range().kvs_size(), 10);
}

TEST_F(Fronts, ReadsForWhichThereIsNoRoomWaitUntilThereIs) {
  serve({.memory_bytes = 4 << 20});
  put_many(15, std::string(60'000, 'v'));
  std::vector<std::shared_ptr<Heard<pb::RangeResponse>>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(begin<pb::RangeResponse>(*channel, "/etcdserverpb.KV/Range", many()));
  for (const auto& one : all) {
    until([&] { return one->over; });
    EXPECT_TRUE(one->status.ok()) << one->status.message;
    EXPECT_EQ(one->response.kvs_size(), 15);
  }
}

TEST_F(Fronts, WhoGoesAwayAmidAWideReadLeavesNothing) {
  put_many(200, std::string(10'000, 'v'));
  auto other = open_channel();
  std::vector<std::shared_ptr<Heard<pb::RangeResponse>>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(begin<pb::RangeResponse>(*other, "/etcdserverpb.KV/Range", many()));
  all[3]->call.cancel();
  until([&] { return all[0]->over || server->stats().answer_bytes + server->stats().read_bytes > 0; });
  other.reset();
  until([&] { return server->stats().answer_bytes + server->stats().read_bytes == 0; });
  EXPECT_EQ(range(many())->response.kvs_size(), 200);
}

TEST_F(Fronts, ATransactionThatOnlyReadsIsNotInTheLog) {
  put_many(100, "1");
  pb::TxnRequest request;
  pb::Compare& compare = *request.add_compare();
  compare.set_key("many/");
  compare.set_range_end("many0");
  compare.set_target(pb::Compare::VERSION);
  compare.set_version(1);
  *request.add_success()->mutable_request_range() = many();
  *request.add_success()->mutable_request_txn()->add_failure()->mutable_request_range() = many();
  request.add_failure()->mutable_request_range()->set_key("many/10001");
  const auto committed = machine->server().status().committed;
  for (const bool serializable : {true, false}) {
    request.mutable_success(0)->mutable_request_range()->set_serializable(serializable);
    const auto heard = txn(request);
    ASSERT_TRUE(heard->status.ok()) << heard->status.message;
    EXPECT_TRUE(heard->response.succeeded());
    EXPECT_EQ(heard->response.header().revision(), machine->store().revision());
    EXPECT_EQ(heard->response.responses(0).response_range().kvs_size(), 100);
    EXPECT_EQ(heard->response.responses(1).response_txn().responses_size(), 0);
  }
  EXPECT_EQ(machine->server().status().committed, committed);
  request.add_success()->mutable_request_delete_range()->set_key("nothing");
  EXPECT_EQ(txn(request)->response.responses_size(), 3);
  EXPECT_GT(machine->server().status().committed, committed);
}

TEST_F(Fronts, CommandsThatTouchManyKeysTellAllOfThem) {
  put_many(1500, std::string(100, 'v'));
  pb::TxnRequest request;
  request.add_success()->mutable_request_put()->set_key("many/9");
  *request.add_success()->mutable_request_range() = many();
  std::vector<std::shared_ptr<Heard<pb::TxnResponse>>> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(begin<pb::TxnResponse>(*channel, "/etcdserverpb.KV/Txn", request));
  for (const auto& one : all) {
    until([&] { return one->over; });
    ASSERT_TRUE(one->status.ok()) << one->status.message;
    EXPECT_EQ(one->response.responses(1).response_range().kvs_size(), 1501);
  }
  pb::DeleteRangeRequest everything;
  everything.set_key("many/");
  everything.set_range_end("many0");
  everything.set_prev_kv(true);
  const auto deleted = ask<pb::DeleteRangeResponse>("/etcdserverpb.KV/DeleteRange", everything);
  EXPECT_EQ(deleted->response.deleted(), 1501);
  EXPECT_EQ(deleted->response.prev_kvs_size(), 1501);
  EXPECT_EQ(deleted->response.prev_kvs(7).value().size(), 100u);
}

TEST_F(Fronts, WhoSavesTheStateAtTheSameTimeSharesIt) {
  put_many(200, std::string(5000, 'v'));
  const auto before = machine->stats().snapshots;
  std::vector<std::shared_ptr<Heard<std::string>>> all;
  for (int i = 0; i < 20; ++i) all.push_back(save(*channel));
  for (const auto& one : all) {
    until([&] { return one->over; });
    EXPECT_TRUE(one->status.ok()) << one->status.message;
    EXPECT_EQ(one->response.size() % 512, Sha256::size) << "whole pages, and their digest";
    EXPECT_EQ(one->response, all[0]->response);
  }
  EXPECT_LE(machine->stats().snapshots, before + 2);
}

TEST_F(Fronts, WhoTakesNothingOfAStateDoesNotKeepOthersFromSaving) {
  rpc::ServerLimits limits;
  limits.session.answer_quiet = 300ms;
  serve(limits);
  put_many(200, std::string(50'000, 'v'));
  auto others = open_channel();
  for (int i = 0; i < 5; ++i) {
    save(*others)->call.pause();
    put("between", std::to_string(i));  // so that each wants another state
  }
  const auto good = save(*channel);
  until([&] { return good->over; });
  EXPECT_TRUE(good->status.ok()) << good->status.message;
  EXPECT_GT(good->response.size(), 10'000'000u);
}

TEST_F(Fronts, ALockWithoutALeaseLivesAsLongAsItsConnection) {
  auto other = open_channel();
  const auto first = lock(*other, "door");
  until([&] { return first->over; });
  ASSERT_TRUE(first->status.ok()) << first->status.message;
  const auto second = lock(*channel, "door");
  until([&] { return machine->lines().size() == 1; });
  EXPECT_FALSE(second->over);
  other.reset();
  until([&] { return second->over; });
  EXPECT_TRUE(second->status.ok()) << second->status.message;
  EXPECT_GT(second->response.header().revision(), first->response.header().revision());
}

TEST_F(Fronts, TheCommitThatReleasesALockGivesItToTheNext) {
  auto other = open_channel();
  const auto holds = lock(*channel, "door");
  until([&] { return holds->over; });
  const auto waits = lock(*other, "door");
  until([&] { return machine->lines().size() == 1; });
  v3lockpb::UnlockRequest request;
  request.set_key(holds->response.key());
  const auto unlocked = begin<v3lockpb::UnlockResponse>(*channel, "/v3lockpb.Lock/Unlock", request);
  until([&] {
    // There is no moment at which the lock is free and somebody waits for it.
    const bool released = machine->store().history().keys().count({"door/", "door0"}) == 1;
    EXPECT_EQ(machine->lines().size(), released ? 0u : 1u);
    return unlocked->over && waits->over;
  });
  EXPECT_TRUE(waits->status.ok()) << waits->status.message;
}

TEST_F(Fronts, WhoStopsWaitingLeavesTheLine) {
  auto other = open_channel();
  const auto holds = lock(*channel, "door");
  until([&] { return holds->over; });
  const auto waits = lock(*other, "door");
  until([&] { return machine->lines().size() == 1; });
  EXPECT_EQ(machine->store().history().keys().count({"door/", "door0"}), 2u);
  waits->call.cancel();
  until([&] { return machine->store().history().keys().count({"door/", "door0"}) == 1; });
  EXPECT_EQ(machine->lines().size(), 0u);
  until([&] { return machine->store().leases().all().size() == 1; });  // its own is gone too
}

// Without turns all that is to be taken away would stand in the log before what others ask next.
TEST_F(Fronts, ManyWaitersLeaveALittleAtATime) {
  constexpr std::size_t many = 3000;
  const auto holds = lock(*channel, "door");
  until([&] { return holds->over; });
  auto other = open_channel();
  std::vector<std::shared_ptr<Heard<v3lockpb::LockResponse>>> waiting;
  for (std::size_t i = 0; i < many; ++i) waiting.push_back(lock(*other, "door"));
  const auto at_most = [&](std::size_t open) { return machine->server().status().open_proposals <= open; };
  until([&] {
    EXPECT_TRUE(at_most(300));
    return machine->lines().size() == many;
  });
  other.reset();
  until([&] { return machine->lines().size() < many; });
  pb::PutRequest request;
  request.set_key("a");
  const auto written = begin<pb::PutResponse>(*channel, "/etcdserverpb.KV/Put", request);
  until([&] {
    EXPECT_TRUE(at_most(300));
    return written->over;
  });
  EXPECT_GT(leases(), many / 4);
  until([&] { return leases() == 1; });
  EXPECT_EQ(places("door"), 1u);
  EXPECT_EQ(machine->lines().size(), 0u);
}

// What is to be taken away waits behind much else; meanwhile it is wanted again, by another connection.
TEST_F(Fronts, WhoComesBackWithTheSameLeaseKeepsThePlace) {
  constexpr std::size_t many = 3000;
  const kv::LeaseId mine = lease();
  const auto holds = lock(*channel, "door");
  until([&] { return holds->over; });
  auto other = open_channel();
  auto first = lock(*other, "door", mine);
  until([&] { return machine->lines().size() == 1; });
  std::vector<std::shared_ptr<Heard<v3lockpb::LockResponse>>> crowd;
  for (std::size_t i = 0; i < many; ++i) crowd.push_back(lock(*other, "crowd"));
  first->call.cancel();
  const auto seen = begin<pb::LeaseLeasesResponse>(*other, "/etcdserverpb.Lease/LeaseLeases",
                                                   pb::LeaseLeasesRequest());  // and so the cancellation was
  until([&] { return seen->over; });
  EXPECT_LT(leases(), many);
  const auto again = lock(*channel, "door", mine);
  until([&] {
    return machine->lines().size() == many || again->over;
  });  // all but the first of the crowd, and this
  put("later", "x");
  EXPECT_EQ(places("door"), 2u);
  unlock(holds->response.key());
  until([&] { return again->over; });
  ASSERT_TRUE(again->status.ok()) << again->status.message;
  EXPECT_EQ(places("door"), 1u);
}

// Whoever resigns or deletes the place has nothing any more that lived with the connection, which goes on.
TEST_F(Fronts, ASessionGoesWithItsPlaceHoweverThatGoes) {
  for (int round = 0; round < 3; ++round) {
    v3electionpb::CampaignRequest campaign;
    campaign.set_name("crown");
    const auto won = ask<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign", campaign);
    v3electionpb::ResignRequest resign;
    *resign.mutable_leader() = won->response.leader();
    EXPECT_TRUE(ask<v3electionpb::ResignResponse>("/v3electionpb.Election/Resign", resign)->status.ok());
    const auto holds = lock(*channel, "door");
    until([&] { return holds->over; });
    pb::DeleteRangeRequest erase;
    erase.set_key(holds->response.key());
    EXPECT_TRUE(ask<pb::DeleteRangeResponse>("/etcdserverpb.KV/DeleteRange", erase)->status.ok());
  }
  until([&] { return leases() == 0; });
  put("a", "the connection goes on");
}

TEST_F(Fronts, AllObserversAreToldWhoLeadsAtLast) {
  v3electionpb::CampaignRequest campaign;
  campaign.set_name("crown");
  campaign.set_value("0");
  const auto won = ask<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign", campaign);
  std::vector<std::shared_ptr<Observing>> observers;
  for (int i = 0; i < 500; ++i) observers.push_back(observe(*channel, "crown"));
  const auto all_know = [&](const std::string& value) {
    return std::ranges::all_of(
        observers, [&](const auto& one) { return !one->told.empty() && one->told.back() == value; });
  };
  until([&] { return all_know("0"); });
  for (int value = 1; value <= 5; ++value) {
    v3electionpb::ProclaimRequest proclaim;
    *proclaim.mutable_leader() = won->response.leader();
    proclaim.set_value(std::to_string(value));
    ask<v3electionpb::ProclaimResponse>("/v3electionpb.Election/Proclaim", proclaim);
  }
  until([&] { return all_know("5"); });
  for (const auto& one : observers) EXPECT_TRUE(std::ranges::is_sorted(one->told));
}

// etcd takes negative ids and writes them with a sign, as clients do.
TEST_F(Fronts, LeasesMayBeNegativeAsWithEtcd) {
  EXPECT_EQ(lease(-1), -1);
  const auto held = lock(*channel, "door", -1);
  until([&] { return held->over; });
  EXPECT_EQ(held->response.key(), "door/-1");
  const kv::LeaseId least = lease(std::numeric_limits<kv::LeaseId>::min());
  v3electionpb::CampaignRequest campaign;
  campaign.set_name("crown");
  campaign.set_lease(least);
  EXPECT_EQ(ask<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign", campaign)
                ->response.leader()
                .key(),
            "crown/-8000000000000000");
  pb::LeaseTimeToLiveRequest left;
  left.set_id(-1);
  left.set_keys(true);
  const auto told = ask<pb::LeaseTimeToLiveResponse>("/etcdserverpb.Lease/LeaseTimeToLive", left)->response;
  EXPECT_EQ(told.grantedttl(), 60);
  ASSERT_EQ(told.keys_size(), 1);
  EXPECT_EQ(told.keys(0), "door/-1");
  pb::LeaseKeepAliveRequest keep;
  keep.set_id(-1);
  EXPECT_EQ(ask<pb::LeaseKeepAliveResponse>("/etcdserverpb.Lease/LeaseKeepAlive", keep)->response.ttl(), 60);
  const auto all =
      ask<pb::LeaseLeasesResponse>("/etcdserverpb.Lease/LeaseLeases", pb::LeaseLeasesRequest())->response;
  ASSERT_EQ(all.leases_size(), 2);
  EXPECT_EQ(all.leases(0).id(), least);
  pb::LeaseRevokeRequest revoke;
  revoke.set_id(-1);
  EXPECT_TRUE(ask<pb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", revoke)->status.ok());
  EXPECT_EQ(ask<pb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", revoke)->status, lease_not_found);
  EXPECT_EQ(ask<pb::LeaseKeepAliveResponse>("/etcdserverpb.Lease/LeaseKeepAlive", keep)->response.ttl(), 0);
  EXPECT_EQ(ask<pb::LeaseTimeToLiveResponse>("/etcdserverpb.Lease/LeaseTimeToLive", left)->response.ttl(),
            -1);
  EXPECT_EQ(places("door"), 0u);
}

TEST_F(Fronts, ManyLeasesAndKeysOfALeaseAreToldWhole) {
  for (int i = 0; i < 600; ++i) lease(1 + i);
  EXPECT_EQ(ask<pb::LeaseLeasesResponse>("/etcdserverpb.Lease/LeaseLeases", pb::LeaseLeasesRequest())
                ->response.leases_size(),
            600);
  for (int first = 0; first < 600; first += 100) {
    pb::TxnRequest request;
    for (int i = first; i < first + 100; ++i) {
      pb::PutRequest& one = *request.add_success()->mutable_request_put();
      one.set_key("k" + std::to_string(1000 + i));
      one.set_lease(7);
    }
    EXPECT_TRUE(ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request)->status.ok());
  }
  pb::LeaseTimeToLiveRequest left;
  left.set_id(7);
  left.set_keys(true);
  const auto told = ask<pb::LeaseTimeToLiveResponse>("/etcdserverpb.Lease/LeaseTimeToLive", left)->response;
  ASSERT_EQ(told.keys_size(), 600);
  EXPECT_EQ(told.keys(599), "k1599");
}

// Renewals of what is there take an entry of the log, and others do not; answers keep the order of the
// questions.
TEST_F(Fronts, KeepAlivesAreAnsweredInTheirOrder) {
  lease(5);
  until([&] { return machine->store().leases().find(5)->deadline != 0; });
  std::vector<std::int64_t> told;
  auto call =
      rpc::open_stream<pb::LeaseKeepAliveResponse>(*channel, "/etcdserverpb.Lease/LeaseKeepAlive", {},
                                                   {.message = [&](const pb::LeaseKeepAliveResponse& one) {
                                                     told.push_back(one.id() * 100 + one.ttl());
                                                   }});
  for (const kv::LeaseId id : {5, 6, 5, 7, 5}) {
    pb::LeaseKeepAliveRequest request;
    request.set_id(id);
    call.send(request);
  }
  until([&] { return told.size() == 5; });
  EXPECT_EQ(told, (std::vector<std::int64_t>{560, 600, 560, 700, 560}));
}

// What is bounded for all is bounded for one connection: here two of eight.
class SmallFronts : public Fronts {
 protected:
  SmallFronts() : Fronts({.waiting = 8, .sessions = 12, .observers = 8}) {}
};

TEST_F(SmallFronts, AConnectionHasAQuarterOfWhatAllHave) {
  const kv::LeaseId mine = lease();
  const auto holds = lock(*channel, "door", mine);
  until([&] { return holds->over; });
  auto other = open_channel();
  std::vector<std::shared_ptr<Heard<v3lockpb::LockResponse>>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(lock(*other, "door"));
  until([&] { return machine->lines().size() == 2 && waiting[2]->over; });
  EXPECT_EQ(waiting[2]->status, too_many_requests);
  const auto waits = lock(*channel, "door");
  until([&] { return machine->lines().size() == 3; });
  EXPECT_FALSE(waits->over);
  other.reset();
  until([&] { return machine->lines().size() == 1 && places("door") == 2; });
  other = open_channel();
  const auto later = lock(*other, "door");
  until([&] { return machine->lines().size() == 2; });
  EXPECT_FALSE(later->over);
}

TEST_F(SmallFronts, WhatLivesWithAConnectionIsBoundedToo) {
  std::vector<std::shared_ptr<Heard<v3lockpb::LockResponse>>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(lock(*channel, "door" + std::to_string(i)));
    until([&] { return held.back()->over; });
  }
  EXPECT_TRUE(held[2]->status.ok());
  EXPECT_EQ(held[3]->status, too_many_requests);
  EXPECT_EQ(leases(), 3u);  // it surely has not happened
  unlock(held[0]->response.key());
  until([&] { return leases() == 2; });
  held.push_back(lock(*channel, "door9"));
  until([&] { return held.back()->over; });
  EXPECT_TRUE(held.back()->status.ok());
}

TEST_F(SmallFronts, ObserversAreBoundedAndLeave) {
  for (int round = 0; round < 3; ++round) {
    auto other = open_channel();
    std::vector<std::shared_ptr<Observing>> observers;
    for (int i = 0; i < 3; ++i) observers.push_back(observe(*other, "crown"));
    until([&] { return !observers[2]->ended.ok(); });
    EXPECT_EQ(observers[2]->ended, too_many_requests);
    EXPECT_TRUE(observers[0]->ended.ok());
    other.reset();
    for (int i = 0; i < 20; ++i) put("later", "x");
  }
}

TEST_F(Fronts, AWatcherIsToldWholeRevisionsUnlessItWantsFragments) {
  pb::TxnRequest request;
  for (const char* key : {"w1", "w2", "w3"}) {
    pb::PutRequest& one = *request.add_success()->mutable_request_put();
    one.set_key(key);
    one.set_value(std::string(80, 'x'));
  }
  ask<pb::TxnResponse>("/etcdserverpb.KV/Txn", request);
  put("w4", std::string(80, 'y'));
  const auto watching = watch();
  pb::WatchCreateRequest wish = wish_for("w1", 1);
  wish.set_range_end("x");
  create(*watching, wish);
  wish.set_fragment(true);
  create(*watching, wish);
  const auto events_of = [&](std::int64_t id) {
    std::vector<int> sizes;
    for (const auto& response : watching->told)
      if (response.watch_id() == id && response.events_size() > 0) sizes.push_back(response.events_size());
    return sizes;
  };
  until([&] { return events_of(0).size() >= 2 && events_of(1).size() >= 4; });
  EXPECT_EQ(events_of(0), (std::vector{3, 1}));
  EXPECT_EQ(events_of(1), (std::vector{1, 1, 1, 1}));
  EXPECT_TRUE(watching->told[0].created());
}

TEST_F(Fronts, WatchersThatCannotBeAreRefusedAndOthersGoOn) {
  const auto watching = watch();
  pb::WatchCreateRequest twice = wish_for("a");
  twice.set_watch_id(7);
  create(*watching, twice);
  create(*watching, twice);
  pb::WatchCreateRequest empty = wish_for("b");
  empty.set_range_end("a");
  create(*watching, empty);
  until([&] { return watching->told.size() == 3; });
  EXPECT_EQ(watching->told[0].watch_id(), 7);
  for (const int at : {1, 2}) {
    EXPECT_TRUE(watching->told[static_cast<std::size_t>(at)].canceled());
    EXPECT_EQ(watching->told[static_cast<std::size_t>(at)].watch_id(), -1);
  }
  put("a", "1");
  until([&] { return watching->told.size() == 4; });
  EXPECT_EQ(watching->told[3].events(0).kv().value(), "1");
  pb::WatchRequest progress;
  progress.mutable_progress_request();
  watching->call.send(progress);
  until([&] { return watching->told.size() == 5; });
  EXPECT_EQ(watching->told[4].watch_id(), -1);
  EXPECT_EQ(watching->told[4].header().revision(), 2);
}

TEST_F(Fronts, AWatcherFromBeforeACompactionIsToldSo) {
  for (int i = 0; i < 5; ++i) put("a", std::to_string(i));
  pb::CompactionRequest compaction;
  compaction.set_revision(5);
  ask<pb::CompactionResponse>("/etcdserverpb.KV/Compact", compaction);
  const auto watching = watch();
  create(*watching, wish_for("a", 2));
  until([&] { return watching->told.size() == 2; });
  EXPECT_TRUE(watching->told[0].created());
  EXPECT_FALSE(watching->told[0].canceled());
  EXPECT_TRUE(watching->told[1].canceled());
  EXPECT_EQ(watching->told[1].compact_revision(), 5);
}

// A connection may have as much as is left for others.
TEST_F(Fronts, WatchersAreRefusedBeforeOneConnectionHasTheRoomOfAll) {
  const auto watching = watch();
  for (int i = 0; i < 12; ++i) create(*watching, wish_for("a"));
  until([&] { return watching->told.size() == 12; });
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(watching->told[i].created());
    EXPECT_EQ(watching->told[i].canceled(), i >= 10) << i;
  }
  EXPECT_EQ(watching->told[11].watch_id(), -1);
  EXPECT_EQ(watching->told[11].cancel_reason(), "etcdserver: too many requests");
  EXPECT_EQ(machine->watches().size(), 10u);
  EXPECT_EQ(server->stats().watcher_bytes, machine->watches().bytes());
  // It is its connection that has too much, whatever the stream.
  const auto second = watch();
  create(*second, wish_for("a"));
  until([&] { return second->told.size() == 1; });
  EXPECT_TRUE(second->told[0].canceled());
  // There is room for a newcomer, and for who gave some back.
  const auto newcomers = open_channel();
  const auto newcomer = watch(*newcomers);
  for (int i = 0; i < 6; ++i) create(*newcomer, wish_for("a"));
  until([&] { return newcomer->told.size() == 6; });
  EXPECT_FALSE(newcomer->told[4].canceled());
  EXPECT_TRUE(newcomer->told[5].canceled());
  pb::WatchRequest cancelling;
  cancelling.mutable_cancel_request()->set_watch_id(3);
  for (int i = 4; i < 8; ++i) {
    watching->call.send(cancelling);
    cancelling.mutable_cancel_request()->set_watch_id(i);
  }
  create(*watching, wish_for("a"));
  until([&] { return watching->told.size() == 17; });
  EXPECT_TRUE(watching->told[16].created());
  EXPECT_FALSE(watching->told[16].canceled());
  watching->call.cancel();
  newcomer->call.cancel();
  until([&] { return machine->watches().size() == 0; });
  EXPECT_EQ(server->stats().watcher_bytes, 0u);
  EXPECT_EQ(machine->watches().bytes(), 0u);
}

TEST_F(RoomyFronts, ManyRequestsOfOneStreamLetOthersPass) {
  const auto watching = watch();
  constexpr std::size_t many = 5000;
  for (std::size_t i = 0; i < many; ++i) create(*watching, wish_for("a"));
  std::size_t most = 0;
  until([&] {
    const std::size_t before = machine->watches().size();
    loop.restart();
    loop.poll_one();
    most = std::max(most, machine->watches().size() - before);
    return watching->told.size() == many;
  });
  EXPECT_EQ(machine->watches().size(), many);
  EXPECT_LE(most, 512u) << "at once";
}

TEST_F(Fronts, AWatcherWhoseClientDoesNotReadIsToldEverythingLaterAndOthersNow) {
  const auto slow = watch();
  create(*slow, wish_for("a"));
  const auto others = open_channel();
  const auto quick = watch(*others);
  create(*quick, wish_for("a"));
  until([&] { return slow->told.size() == 1 && quick->told.size() == 1; });
  slow->call.pause();
  constexpr std::size_t puts = 40;
  for (std::size_t i = 0; i < puts; ++i) put("a", std::string(50'000, 'x'));
  const auto events = [](const Watching& watching) {
    std::vector<std::int64_t> revisions;
    for (const auto& response : watching.told)
      for (const auto& event : response.events()) revisions.push_back(event.kv().mod_revision());
    return revisions;
  };
  until([&] { return events(*quick).size() == puts; });
  EXPECT_EQ(machine->watches().behind(), 1u);
  EXPECT_LT(server->stats().answer_bytes, 1'000'000u) << "what is not taken is not kept";
  slow->call.resume();
  until([&] { return events(*slow).size() == puts; });
  EXPECT_EQ(events(*slow), events(*quick));
  EXPECT_EQ(machine->watches().behind(), 0u);
}

}  // namespace
}  // namespace conclave::etcd
