// A member whose log has a command that nobody can read, and its clients.
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <concepts>
#include <filesystem>

#include "etcd/front.hpp"
#include "faulty_disk.hpp"
#include "left_behind.hpp"
#include "live/children.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;
namespace pb = etcdserverpb;
using boost::asio::ip::tcp;

class Stopped : public testing::Test {
 protected:
  Stopped() {
    std::string path = testing::TempDir() + "stopped-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder = path;
    options.server = {.data = folder + "/data", .heartbeat = 10ms, .patience = 50ms};
    options.server.links = {.self = {1},
                            .members = {{{1}, "127.0.0.1", live::free_ports(1).value()[0]}},
                            .group = "test",
                            .algorithm = "raft"};
  }
  ~Stopped() override {
    storage::faulty::heal();
    stop();
    std::filesystem::remove_all(folder);
  }

  static log::Propose put(std::uint64_t serial, const std::string& key) {
    return {serial, 0, Payload(encode(kv::Command(kv::Put{.key = key, .value = "1"})))};
  }
  void open() {
    const live::Log silent = [](live::LogLevel, std::string_view) {};
    auto opened = Machine::open(
        loop, options, [this](Machine::End, const std::string& why) { failure = why; }, silent);
    ASSERT_TRUE(opened) << opened.error();
    machine = std::move(*opened);
    server.emplace(loop);
    front.emplace(*server, *machine, FrontOptions{}, silent);
    port = server->listen("127.0.0.1:0").value();
    channel =
        std::move(rpc::Channel::open(loop, {.endpoints = {"127.0.0.1:" + std::to_string(port)}}).value());
  }
  void stop() {
    channel.reset();
    server.reset();
    front.reset();
    machine.reset();
    loop.restart();
    loop.poll();
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
  std::expected<Response, rpc::Status> ask(std::string_view path, const google::protobuf::Message& request) {
    std::optional<std::expected<Response, rpc::Status>> heard;
    const auto call =
        rpc::call<Response>(*channel, path, request, {}, [&](std::expected<Response, rpc::Failure> answer) {
          if (answer)
            heard = std::move(*answer);
          else
            heard = std::unexpected(answer.error().status);
        });
    until([&] { return heard.has_value(); });
    return *heard;
  }
  std::expected<pb::RangeResponse, rpc::Status> get(const std::string& key, bool serializable = false) {
    pb::RangeRequest request;
    request.set_key(key);
    request.set_serializable(serializable);
    return ask<pb::RangeResponse>("/etcdserverpb.KV/Range", request);
  }
  std::expected<pb::PutResponse, rpc::Status> put(const std::string& key) {
    pb::PutRequest request;
    request.set_key(key);
    return ask<pb::PutResponse>("/etcdserverpb.KV/Put", request);
  }
  // The whole answer.
  std::string page(const std::string& path) {
    tcp::socket socket(loop);
    socket.connect({boost::asio::ip::address_v4::loopback(), port});
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    boost::asio::write(socket, boost::asio::buffer(request));
    std::string answer;
    bool over = false;
    boost::asio::async_read(socket, boost::asio::dynamic_buffer(answer),
                            [&](const boost::system::error_code&, std::size_t) { over = true; });
    until([&] { return over; });
    return answer;
  }
  bool is_stopped() const { return !machine->trouble().ok(); }

  boost::asio::io_context loop{1};
  std::string folder;
  MachineOptions options = {};
  std::string failure;
  std::unique_ptr<Machine> machine;
  std::optional<rpc::Server> server;
  std::optional<Front> front;
  std::uint16_t port = 0;
  std::unique_ptr<rpc::Channel> channel;
};

TEST_F(Stopped, SaysWhyAndServesNothingThatMayBeOld) {
  const std::uint64_t at = leave_behind(options.server.data, {put(1, "a"), {2, 0, payload("\xff\xff")}}) + 1;
  open();
  until([&] { return is_stopped(); });
  const auto told = [&](const rpc::Status& status) {
    EXPECT_EQ(status.code, rpc::Code::unavailable);
    EXPECT_NE(status.message.find("entry " + std::to_string(at) + " of the log"), std::string::npos)
        << status.message;
    EXPECT_NE(status.message.find("--skip-entry " + std::to_string(at)), std::string::npos);
  };
  told(get("a").error());
  told(put("b").error());
  told(ask<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant",
                                   [] {
                                     pb::LeaseGrantRequest request;
                                     request.set_ttl(5);
                                     return request;
                                   }())
           .error());
  told(ask<pb::MemberAddResponse>("/etcdserverpb.Cluster/MemberAdd",
                                  [] {
                                    pb::MemberAddRequest request;
                                    request.add_peerurls("http://127.0.0.1:1");
                                    request.set_islearner(true);
                                    return request;
                                  }())
           .error());
  told(ask<v3lockpb::LockResponse>("/v3lockpb.Lock/Lock",
                                   [] {
                                     v3lockpb::LockRequest request;
                                     request.set_name("door");
                                     return request;
                                   }())
           .error());
  EXPECT_EQ(get("a", true).value().kvs_size(), 1) << "who takes what is old may have it";

  EXPECT_TRUE(page("/health").starts_with("HTTP/1.1 503"));
  EXPECT_NE(page("/health").find("\"health\":\"false\",\"reason\":\"entry "), std::string::npos)
      << page("/health");
  EXPECT_TRUE(page("/health?serializable=true").starts_with("HTTP/1.1 503"));
  EXPECT_NE(page("/metrics").find("stopped_at " + std::to_string(at)), std::string::npos);
  const auto status =
      ask<conclavepb::StatusResponse>("/conclavepb.Conclave/Status", conclavepb::StatusRequest());
  ASSERT_EQ(status.value().notes_size(), 1);
  told({rpc::Code::unavailable, status->notes(0)});
  EXPECT_EQ(failure, "") << "it stays up";
}

TEST_F(Stopped, GoesOnWithoutTheEntryAndNeedNotBeToldTwice) {
  const std::uint64_t at =
      leave_behind(options.server.data, {put(1, "a"), {2, 0, payload("\xff\xff")}, put(3, "b")}) + 1;
  options.server.skip = {at};
  open();
  until([&] { return machine->stats().snapshots == 1; });
  EXPECT_EQ(get("b").value().kvs_size(), 1);
  EXPECT_TRUE(put("c"));
  EXPECT_TRUE(page("/health").starts_with("HTTP/1.1 200"));
  until([&] { return machine->server().status().snapshot_index >= at; });
  stop();
  options.server.skip = {};
  open();
  EXPECT_EQ(get("c").value().kvs_size(), 1);
  EXPECT_FALSE(is_stopped());
}

// Here it comes to it while somebody waits.
TEST_F(Stopped, EndsWatchesAndWhatIsUnderWay) {
  open();
  ASSERT_TRUE(put("a"));
  std::optional<rpc::Status> ended;
  pb::WatchRequest request;
  request.mutable_create_request()->set_key("a");
  bool created = false;
  auto watch =
      rpc::open_stream<pb::WatchResponse>(*channel, "/etcdserverpb.Watch/Watch", {},
                                          {.message = [&](const pb::WatchResponse&) { created = true; },
                                           .closed = [&](const rpc::Answer& why) { ended = why.status; }});
  watch.send(request);
  until([&] { return created; });
  std::optional<Machine::Outcome> outcome;
  machine->server().propose(payload("\xff\xff"));
  machine->propose(kv::Put{.key = "b"}, [&](Machine::Outcome came) { outcome = std::move(came); });
  until([&] { return ended && outcome; });
  EXPECT_EQ(*ended, machine->trouble());
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error(), machine->trouble());
  // And who comes back is not kept waiting.
  ended.reset();
  watch =
      rpc::open_stream<pb::WatchResponse>(*channel, "/etcdserverpb.Watch/Watch", {},
                                          {.message = [](const pb::WatchResponse&) {},
                                           .closed = [&](const rpc::Answer& why) { ended = why.status; }});
  watch.send(request);
  until([&] { return ended.has_value(); });
}

// Its disk takes nothing, and it has not noticed yet that it cannot lead so.
TEST_F(Stopped, IsNotHealthyWhileItsWritesStandStill) {
  options.server.patience = 2s;
  options.patience = 300ms;
  open();
  until([&] { return machine->server().leads(); });
  ASSERT_TRUE(put("a"));
  EXPECT_TRUE(page("/health").starts_with("HTTP/1.1 200"));
  storage::faulty::stall(options.server.data);
  EXPECT_FALSE(put("b"));
  until([&] { return machine->writes_stand_still(); });
  EXPECT_TRUE(page("/health").starts_with("HTTP/1.1 503"));
  storage::faulty::heal();
  until([&] { return !machine->writes_stand_still(); });
  until([&] { return page("/health").starts_with("HTTP/1.1 200"); });
}

// A snapshot for which there is no room is written later; nothing stops for it.
TEST_F(Stopped, IsNotWhoHasNoRoomForASnapshot) {
  options.snapshot_entries = 10;
  open();
  storage::faulty::fail(storage::faulty::Call::open, 1, 1, ENOSPC);
  int applied = 0;
  for (int i = 0; i < 30; ++i) {
    machine->propose(kv::Put{.key = "a", .value = "1"},
                     [&](const Machine::Outcome& outcome) { applied += outcome.has_value(); });
    until([&] { return applied == i + 1; });
  }
  EXPECT_EQ(machine->stats().snapshots, 0u);
  EXPECT_EQ(failure, "");
  storage::faulty::heal();
  bool saved = false;
  machine->save([&](const auto& state) { saved = state.has_value() && state->state.size() > 0; });
  until([&] { return saved; });
  EXPECT_EQ(std::ranges::count_if(std::filesystem::directory_iterator(folder + "/data"),
                                  [](const auto& one) { return one.path().string().contains("draft"); }),
            0);
}

}  // namespace
}  // namespace conclave::etcd
