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

// A handler that does not ask whether its client keeps up: memory has an end, and so has the connection.
TEST(BackPressure, AClientThatTakesNothingIsCutOffWhenMemoryEnds) {
  SessionLimits limits;
  limits.stream_window_bytes = 1000;
  Loopback world({.session = limits, .memory_bytes = 1'000'000}, {.limits = limits});
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
  world.until([&] {
    if (call.send(std::string(1000, 'x'))) ++sent;
    return told.has_value();
  });
  EXPECT_GE(sent, 480);
  EXPECT_LT(sent, 700);
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::unavailable);
  EXPECT_EQ(world.server().stats().ended_memory, 1u);
  EXPECT_EQ(world.server().stats().answer_bytes, 0u);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

// A watcher that asked to be told when there is room, while it was another's answer that took the room.
// Nothing of its own waits, so nothing of its own can drain.
TEST(BackPressure, AStreamIsToldOfRoomThatAnotherTookAndLeft) {
  SessionLimits limits;
  limits.connection_output_bytes = 100'000;
  limits.stream_output_bytes = 50'000;
  Loopback world({.session = limits}, {.limits = {.message_bytes = 200'000'000}});
  const std::string large(10'000'000, 'x');
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) { call.reply(large); });
  Call watch;
  world.server().stream("/test.Watch/Watch", [&](Call opened) {
    watch = opened;
    watch.begin();
  });
  Heard heard;
  ClientStream stream = world.channel().stream("/test.Watch/Watch", {}, heard.events());
  world.until([&] { return static_cast<bool>(watch); });
  std::vector<Heard> gets(3);
  for (Heard& get : gets) world.channel().unary("/test.Large/Get", "", {}, get.done());
  world.until([&] { return watch.congested(); });
  watch.on_writable([&] { watch.send("room"); });
  world.until([&] { return !heard.messages.empty(); });
  EXPECT_EQ(heard.messages, std::vector<std::string>{"room"});
  for (Heard& get : gets) world.until(get);
}

// Who has a large answer waits until those before it have left; small ones go on meanwhile.
TEST(BackPressure, LargeAnswersAreMadeOneAfterTheOther) {
  Loopback world({}, {.limits = {.message_bytes = 200'000'000, .half_received_bytes = 400'000'000}});
  const std::string large(20'000'000, 'x');
  std::size_t most = 0;
  std::size_t waiting = 0;
  std::function<void(Call)> answer = [&](Call call) {
    if (call.room() < large.size()) {
      ++waiting;
      return call.when_room(large.size(), [&, call] { answer(call); });
    }
    call.reply(large);
    most = std::max(most, world.server().stats().answer_bytes);
  };
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) { answer(call); });
  std::vector<Heard> gets(5);
  std::vector<Heard> smalls(20);
  for (Heard& get : gets) world.channel().unary("/test.Large/Get", "", {}, get.done());
  for (Heard& small : smalls) world.channel().unary(echo, "small", {}, small.done());
  for (Heard& get : gets) {
    world.until(get);
    EXPECT_EQ(get.message.size(), large.size());
  }
  for (Heard& small : smalls) EXPECT_EQ(small.message, "small");
  EXPECT_LT(most, large.size() + (9u << 20));
  EXPECT_GE(waiting, 4u);
  EXPECT_LT(waiting, 20u) << "nobody is told again and again";
}

// What a client asks while it takes nothing is not begun: so nothing that was done goes unanswered.
TEST(BackPressure, CallsOfACrowdedConnectionAreHeldBackAndThenAnswered) {
  SessionLimits limits;
  limits.connection_output_bytes = 100'000;
  limits.stream_output_bytes = 10'000;
  Loopback world({.session = limits}, {.limits = {.stream_window_bytes = 1000}});
  std::size_t begun = 0;
  const std::string answer(5000, 'x');
  world.server().unary("/test.Some/Get", [&](Call call, std::string_view) {
    ++begun;
    call.reply(answer);
  });
  std::vector<Heard> gets(1000);
  EXPECT_EQ(world.call(echo, "").status, Status{});
  for (Heard& get : gets) world.channel().unary("/test.Some/Get", "a request", {}, get.done());
  std::size_t most = 0;
  world.until([&] {
    most = std::max(most, world.server().stats().answer_bytes);
    return std::ranges::all_of(gets, &Heard::over);
  });
  EXPECT_EQ(begun, 1000u);
  for (Heard& get : gets) EXPECT_EQ(get.message, answer);
  EXPECT_LT(most, 200'000u);
}

TEST(BackPressure, AnAnswerBeyondTheLimitIsRefusedBeforeItIsMade) {
  Loopback world({.session = {.answer_bytes = 10'000}});
  world.server().unary("/test.Large/Get",
                       [&](Call call, std::string_view) { call.reply(std::string(10'001, 'x')); });
  EXPECT_EQ(world.call("/test.Large/Get", "").status.code, Code::resource_exhausted);
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

// Of a large answer nobody has more than what is on its way.
TEST(Pieces, OfAMessageArriveAsOne) {
  Loopback world({}, {.limits = {.message_bytes = 8u << 20}});
  const std::string piece(100'000, 'x');
  std::size_t most_waiting = 0;
  std::function<void(Call, int)> go_on = [&](Call call, int left) {
    while (left > 0 && !call.congested()) {
      EXPECT_TRUE(call.add_to_message(piece));
      most_waiting = std::max(most_waiting, call.pending_bytes());
      --left;
    }
    if (left == 0) return call.finish({});
    EXPECT_EQ(world.server().stats().read_bytes, static_cast<std::size_t>(left) * piece.size());
    call.on_writable([&, call, left] { go_on(call, left); });
  };
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) {
    EXPECT_TRUE(call.begin_message(50 * piece.size()));
    go_on(call, 50);
  });
  Heard get;
  world.channel().unary("/test.Large/Get", "", {}, get.done());
  world.until(get);
  EXPECT_EQ(get.status, Status{});
  EXPECT_EQ(get.message.size(), 50 * piece.size());
  EXPECT_LT(most_waiting, 500'000u);
  EXPECT_EQ(world.server().stats().read_bytes, 0u);
}

TEST(Pieces, ThatAreMissingWhenACallEndsLeaveNothingHalfSaid) {
  Loopback world;
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) {
    call.reserve(77);
    EXPECT_EQ(world.server().stats().read_bytes, 77u);
    call.begin_message(1000);
    call.add_to_message("half of it");
    call.finish({});
  });
  Heard get;
  world.channel().unary("/test.Large/Get", "", {}, get.done());
  world.until(get);
  EXPECT_NE(get.status, Status{});
  EXPECT_EQ(get.message, "");
  EXPECT_EQ(world.server().stats().read_bytes, 0u);
}

TEST(Pieces, WhoTakesNothingOfALargeAnswerIsNotWaitedForForEver) {
  SessionLimits limits;
  limits.answer_quiet = 200ms;
  Loopback world({.session = limits}, {.limits = {.stream_window_bytes = 1000}});
  Call kept;
  bool gone = false;
  world.server().unary("/test.Large/Get", [&](Call call, std::string_view) {
    kept = call;
    call.reserve(1'000'000);  // and never more
    call.on_cancel([&](const Status&) { gone = true; });
  });
  Heard get;
  world.channel().unary("/test.Large/Get", "", {}, get.done());
  world.until(get);
  EXPECT_TRUE(gone);
  EXPECT_EQ(get.status.code, Code::resource_exhausted);
  EXPECT_EQ(world.server().stats().answers_not_taken, 1u);
  EXPECT_EQ(world.server().stats().read_bytes, 0u);
}

}  // namespace
}  // namespace conclave::rpc
