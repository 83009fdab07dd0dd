// Streams in both directions, flow control and back-pressure.
#include "loopback.hpp"

namespace conclave::rpc {
namespace {

TEST(Streams, CarryMessagesBothWays) {
  Loopback world;
  Heard heard;
  ClientStream stream = world.channel().stream(chat, {}, heard.events());
  for (int i = 0; i < 1000; ++i) stream.send(std::to_string(i));
  stream.half_close();
  EXPECT_FALSE(stream.send("too late"));
  world.until(heard);
  EXPECT_EQ(heard.status, Status{});
  ASSERT_EQ(heard.messages.size(), 1000u);
  EXPECT_EQ(heard.messages[999], "999");
}

TEST(Streams, TalkInTurns) {
  Loopback world;
  Heard heard;
  ClientStream stream = world.channel().stream(chat, {}, heard.events());
  for (std::size_t i = 1; i <= 20; ++i) {
    stream.send("ping");
    world.until([&] { return heard.messages.size() == i; });
  }
  EXPECT_FALSE(heard.over);
  stream.half_close();
  world.until(heard);
}

TEST(Streams, BeginBeforeTheFirstMessage) {
  Loopback world;
  Call kept;
  world.server().stream("/test.Watch/Watch", [&](Call call) {
    call.begin();
    kept = call;
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  world.until([&] { return static_cast<bool>(kept); });
  kept.send("one");
  kept.send("two");
  kept.finish({Code::unavailable, "etcdserver: no leader"});
  world.until(heard);
  EXPECT_EQ(heard.messages, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(heard.status, (Status{Code::unavailable, "etcdserver: no leader"}));
}

TEST(Streams, EndedByTheServerStopTheClient) {
  Loopback world;
  world.server().stream("/test.Watch/Watch", [&](Call call) {
    call.on_message([call](std::string_view) mutable { call.finish({Code::aborted, "enough"}); });
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  for (int i = 0; i < 10; ++i) stream.send("x");
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::aborted);
  EXPECT_FALSE(stream.send("more"));
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Streams, AreCancelledByTheirClient) {
  Loopback world;
  std::optional<Status> told;
  world.server().stream("/test.Watch/Watch", [&](Call call) {
    call.begin();
    call.on_cancel([&](const Status& status) { told = status; });
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  stream.send("x");
  world.for_a_while(20ms);
  stream.cancel();
  world.until([&] { return told.has_value() && heard.over; });
  EXPECT_EQ(heard.status.code, Code::cancelled);
}

TEST(Streams, MayEndThemselvesInTheirOwnCallback) {
  Loopback world;
  Heard heard;
  ClientStream stream;
  stream = world.channel().stream(
      chat, {}, {.message = [&](std::string_view) { stream.cancel(); }, .closed = heard.done()});
  stream.send("a");
  stream.send("b");
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::cancelled);
}

SessionLimits narrow() {
  SessionLimits limits;
  limits.stream_window_bytes = 100;
  limits.connection_window_bytes = 65'535;  // no less is allowed
  return limits;
}

TEST(FlowControl, LargeMessagesGoThroughSmallWindows) {
  SessionLimits client = narrow();
  Loopback world({.session = narrow()}, {.limits = client});
  const std::string message(50'000, 'x');
  const Heard heard = world.call(echo, message);
  EXPECT_EQ(heard.status, Status{});
  EXPECT_TRUE(heard.message == message);
}

TEST(FlowControl, ManyStreamsShareOneConnection) {
  Loopback world({.session = narrow()}, {.limits = narrow()});
  std::vector<Heard> heard(50);
  std::vector<ClientStream> streams;
  for (Heard& one : heard) streams.push_back(world.channel().stream(chat, {}, one.events()));
  for (int i = 0; i < 10; ++i)
    for (ClientStream& stream : streams) stream.send(std::string(1000, 'x'));
  for (ClientStream& stream : streams) stream.half_close();
  for (Heard& one : heard) {
    world.until(one);
    EXPECT_EQ(one.messages.size(), 10u);
  }
}

TEST(BackPressure, AsksTheSenderToWait) {
  SessionLimits limits;
  limits.stream_window_bytes = 1000;
  limits.stream_output_bytes = 10'000;
  Loopback world({.session = limits}, {.limits = limits});
  std::size_t sent = 0;
  std::size_t most = 0;
  int waits = 0;
  Call call;
  std::function<void()> pour = [&] {
    while (!call.congested() && sent < 1000) {
      call.send(std::string(500, 'x'));
      most = std::max(most, call.pending_bytes());
      ++sent;
    }
    if (sent == 1000) return call.finish({});
    ++waits;
    call.on_writable(pour);
  };
  world.server().stream("/test.Watch/Watch", [&](Call opened) {
    call = opened;
    pour();
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  stream.pause();
  world.until([&] { return waits > 0; });
  world.for_a_while(30ms);
  EXPECT_EQ(waits, 1) << "a client that does not read is not sent to";
  EXPECT_LT(sent, 50u);
  stream.resume();
  world.until(heard);
  EXPECT_EQ(heard.messages.size(), 1000u);
  EXPECT_LT(most, 11'000u);
  EXPECT_GT(waits, 10);
}

TEST(BackPressure, HoldsAClientBackWhileTheServerPauses) {
  SessionLimits limits;
  limits.stream_window_bytes = 1000;
  limits.stream_output_bytes = 10'000;
  Loopback world({.session = limits}, {.limits = limits});
  Call call;
  std::size_t got = 0;
  bool half_closed = false;
  world.server().stream("/test.Put/Many", [&](Call opened) {
    call = opened;
    call.on_message([&](std::string_view) {
      if (++got == 5) call.pause();
    });
    call.on_half_close([&] {
      half_closed = true;
      call.finish({});
    });
  });
  EXPECT_EQ(world.call(echo, "").status, Status{});  // by now the client knows the server's windows
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Put/Many", {}, heard.events());
  for (int i = 0; i < 100; ++i) stream.send(std::string(200, 'x'));
  stream.half_close();
  world.until([&] { return got == 5; });
  world.for_a_while(30ms);
  EXPECT_EQ(got, 5u);
  EXPECT_TRUE(stream.congested());
  call.resume();
  world.until(heard);
  EXPECT_EQ(got, 100u);
  EXPECT_TRUE(half_closed);
}

TEST(BackPressure, WhoPoursOnLosesTheCall) {
  SessionLimits limits;
  limits.stream_window_bytes = 1000;
  limits.refused_output_bytes = 100'000;
  Loopback world({.session = limits}, {.limits = limits});
  std::optional<Status> told;
  Call call;
  world.server().stream("/test.Watch/Watch", [&](Call opened) {
    call = opened;
    call.on_cancel([&](const Status& status) { told = status; });
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  stream.pause();
  world.until([&] { return static_cast<bool>(call); });
  int sent = 0;
  while (call.send(std::string(1000, 'x'))) ASSERT_LT(++sent, 1000);
  EXPECT_GE(sent, 99);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, Code::resource_exhausted);
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::resource_exhausted);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

// A large answer must not hold up a watch on the same connection.
TEST(Fairness, ASmallAnswerOvertakesALargeOne) {
  Loopback world({.session = {}},
                 {.limits = {.message_bytes = 200'000'000, .half_received_bytes = 400'000'000}});
  const std::string large(30'000'000, 'x');
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) { call.reply(large); });
  std::vector<std::string> order;
  bool both = false;
  world.channel().unary("/test.Large/Get", "", {}, [&](const Answer& answer) {
    EXPECT_EQ(answer.message.size(), large.size());
    order.push_back("large");
    both = order.size() == 2;
  });
  world.channel().unary(echo, "", {}, [&](const Answer&) {
    order.push_back("small");
    both = order.size() == 2;
  });
  world.until([&] { return both; });
  EXPECT_EQ(order, (std::vector<std::string>{"small", "large"}));
}

}  // namespace
}  // namespace conclave::rpc
