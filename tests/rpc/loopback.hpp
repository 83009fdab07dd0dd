// A server and a channel on one loop, which the test turns until it has seen what it waits for.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <concepts>

#include "rpc/client.hpp"
#include "rpc/server.hpp"

namespace conclave::rpc {

using namespace std::chrono_literals;

inline constexpr std::string_view echo = "/test.Echo/Unary";
inline constexpr std::string_view chat = "/test.Echo/Chat";

// What a callback heard, to be looked at later.
struct Heard {
  bool over = false;
  Status status = {};
  std::string message = {};
  bool may_have_run = true;
  std::vector<std::string> messages = {};

  // A call may outlast the test's interest in it.
  std::shared_ptr<bool> interested = std::make_shared<bool>(true);

  Channel::Done done() {
    return [this, still = std::weak_ptr(interested)](const Answer& answer) {
      if (still.expired()) return;
      EXPECT_FALSE(over) << "a call ends once";
      over = true;
      status = answer.status;
      message = answer.message;
      may_have_run = answer.may_have_run;
    };
  }
  StreamEvents events() {
    return {.message = [this](std::string_view bytes) { messages.emplace_back(bytes); }, .closed = done()};
  }
};

class Loopback {
 public:
  explicit Loopback(const ServerLimits& limits = {}, const ChannelOptions& options = {})
      : server_(loop_, limits) {
    server_.unary(std::string(echo), [](Call call, std::string_view request) { call.reply(request); });
    server_.stream(std::string(chat), [](Call call) {
      call.on_message([call](std::string_view message) mutable { call.send(message); });
      call.on_half_close([call]() mutable { call.finish({}); });
    });
    port_ = server_.listen("127.0.0.1:0").value();
    channel_ = open(options);
  }

  std::unique_ptr<Channel> open(ChannelOptions options = {}) {
    if (options.endpoints.empty()) options.endpoints = {"127.0.0.1:" + std::to_string(port_)};
    return std::move(Channel::open(loop_, options).value());
  }

  // Turns the loop until `seen`, or until patience ends: then the test fails.
  template <std::predicate Seen>
  void until(Seen&& seen, std::chrono::milliseconds patience = 20s) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop_.restart();
      loop_.run_one_for(10ms);
    }
  }
  void for_a_while(std::chrono::milliseconds time) {
    loop_.restart();
    loop_.run_for(time);
  }
  void until(const Heard& heard) {
    until([&] { return heard.over; });
  }

  Heard call(std::string_view path, std::string_view request, const CallOptions& options = {}) {
    Heard heard;
    channel_->unary(path, request, options, heard.done());
    until(heard);
    return heard;
  }

  boost::asio::io_context& loop() { return loop_; }
  Server& server() { return server_; }
  Channel& channel() { return *channel_; }
  std::uint16_t port() const { return port_; }
  void drop_channel() { channel_.reset(); }

 private:
  boost::asio::io_context loop_{1};
  Server server_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Channel> channel_;
};

// Somebody who sends what it likes.
class Stranger {
 public:
  explicit Stranger(Loopback& world, const std::string& from = "127.0.0.1")
      : world_(world), socket_(world.loop(), {boost::asio::ip::make_address(from), 0}) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), world.port()});
    socket_.non_blocking(true);
  }
  void send(std::string_view bytes) {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(bytes), error);
  }
  // Reads what is there; false once the server has hung up.
  bool read() {
    char buffer[4096];
    boost::system::error_code error;
    while (!error) received.append(buffer, socket_.read_some(boost::asio::buffer(buffer), error));
    return error == boost::asio::error::would_block;
  }
  void until_received(std::string_view text) {
    world_.until([&] {
      read();
      return received.find(text) != std::string::npos;
    });
  }
  void until_closed(std::chrono::milliseconds patience = 20s) {
    world_.until([&] { return !read(); }, patience);
  }
  boost::asio::ip::tcp::socket& socket() { return socket_; }
  std::string received = {};

 private:
  Loopback& world_;
  boost::asio::ip::tcp::socket socket_;
};

}  // namespace conclave::rpc
