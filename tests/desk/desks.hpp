// Several members, each with a server, a desk and a channel to it, on one loop that the test turns.
#pragma once
#include <gtest/gtest.h>

#include <concepts>

#include "desk/desk.hpp"
#include "hall.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::desk {

using namespace std::chrono_literals;

// What became of a call.
template <class Response>
struct Heard {
  bool over = false;
  bool ok = false;
  rpc::Status status = {};
  Response response = {};
  rpc::ClientStream call = {};
};
template <class Response>
using Answer = std::shared_ptr<Heard<Response>>;

struct Member {
  Member(boost::asio::io_context& loop, Hall& hall, std::uint32_t id, Options options)
      : seat(hall.seat(id)), server(loop) {
    desk = std::make_unique<Desk>(server, seat, std::move(options), [](live::LogLevel, std::string_view) {});
    port = server.listen("127.0.0.1:0").value();
  }
  Hall::Seat& seat;
  rpc::Server server;
  std::unique_ptr<Desk> desk = {};
  std::uint16_t port = 0;
};

class Desks : public testing::Test {
 protected:
  static constexpr std::uint32_t member_count = 2;

  Desks() : hall(loop) {
    for (std::uint32_t id = 1; id <= member_count; ++id) hall.seat(id);
  }
  ~Desks() override {
    channels.clear();
    loop.restart();
    loop.poll();
  }

  // Once, with whatever the test wants to be different.
  void open(const Options& options = {}) {
    for (std::uint32_t id = 1; id <= member_count; ++id) {
      members.push_back(std::make_unique<Member>(loop, hall, id, options));
      channels.push_back(channel_to(id));
    }
  }
  // Another client of that member.
  std::unique_ptr<rpc::Channel> channel_to(std::uint32_t id) {
    return std::move(
        rpc::Channel::open(loop, {.endpoints = {"127.0.0.1:" + std::to_string(at(id).port)}}).value());
  }
  Member& at(std::uint32_t id) { return *members[id - 1]; }
  rpc::Channel& to(std::uint32_t id) { return *channels[id - 1]; }

  template <std::predicate Seen>
  void until(Seen&& seen) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop.restart();
      loop.run_one_for(10ms);
    }
  }
  // Long enough for everything under way to arrive: the loop has had nothing to do for a while.
  void settle() {
    for (int quiet = 0; quiet < 3;) {
      loop.restart();
      quiet = loop.run_for(5ms) == 0 ? quiet + 1 : 0;
    }
  }

  template <class Response>
  Answer<Response> begin(rpc::Channel& channel, std::string_view path,
                         const google::protobuf::Message& request,
                         std::optional<std::chrono::nanoseconds> timeout = {}) {
    auto heard = std::make_shared<Heard<Response>>();
    heard->call = rpc::call<Response>(channel, path, request, {.timeout = timeout},
                                      [heard](std::expected<Response, rpc::Failure> answer) {
                                        heard->over = true;
                                        heard->ok = answer.has_value();
                                        if (answer)
                                          heard->response = std::move(*answer);
                                        else
                                          heard->status = answer.error().status;
                                      });
    return heard;
  }
  template <class Response>
  Answer<Response> ask(rpc::Channel& channel, std::string_view path,
                       const google::protobuf::Message& request) {
    auto heard = begin<Response>(channel, path, request);
    until([&] { return heard->over; });
    return heard;
  }

  LeaseId grant(rpc::Channel& channel, std::int64_t seconds, LeaseId id = 0) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(seconds);
    request.set_id(id);
    const auto heard =
        ask<etcdserverpb::LeaseGrantResponse>(channel, "/etcdserverpb.Lease/LeaseGrant", request);
    EXPECT_TRUE(heard->ok) << heard->status.message;
    return heard->response.id();
  }
  void revoke(rpc::Channel& channel, LeaseId id) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(id);
    EXPECT_TRUE(
        ask<etcdserverpb::LeaseRevokeResponse>(channel, "/etcdserverpb.Lease/LeaseRevoke", request)->ok);
  }
  std::int64_t time_to_live(rpc::Channel& channel, LeaseId id) {
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(id);
    return ask<etcdserverpb::LeaseTimeToLiveResponse>(channel, "/etcdserverpb.Lease/LeaseTimeToLive", request)
        ->response.ttl();
  }
  Answer<v3lockpb::LockResponse> lock(rpc::Channel& channel, const std::string& name, LeaseId lease = 0,
                                      std::optional<std::chrono::nanoseconds> timeout = {}) {
    v3lockpb::LockRequest request;
    request.set_name(name);
    request.set_lease(lease);
    return begin<v3lockpb::LockResponse>(channel, "/v3lockpb.Lock/Lock", request, timeout);
  }
  // Waits for the answer, and expects the lock.
  v3lockpb::LockResponse locked(const Answer<v3lockpb::LockResponse>& heard) {
    until([&] { return heard->over; });
    EXPECT_TRUE(heard->ok) << heard->status.message;
    return heard->response;
  }
  void unlock(rpc::Channel& channel, const std::string& key) {
    v3lockpb::UnlockRequest request;
    request.set_key(key);
    const auto heard = ask<v3lockpb::UnlockResponse>(channel, "/v3lockpb.Lock/Unlock", request);
    EXPECT_TRUE(heard->ok) << heard->status.message;
    EXPECT_TRUE(heard->response.has_header());
  }

  boost::asio::io_context loop{1};
  Hall hall;
  std::vector<std::unique_ptr<Member>> members = {};
  std::vector<std::unique_ptr<rpc::Channel>> channels = {};
};

}  // namespace conclave::desk
