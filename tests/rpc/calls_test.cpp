// Calls between our server and our channel: the ordinary ways, and the ways they end.
#include "loopback.hpp"

namespace conclave::rpc {
namespace {

TEST(Calls, AreAnswered) {
  Loopback world;
  const Heard heard = world.call(echo, "hello");
  EXPECT_EQ(heard.status, Status{});
  EXPECT_EQ(heard.message, "hello");
}

TEST(Calls, CarryMessagesOfEverySize) {
  Loopback world;
  for (const std::size_t size : {0u, 1u, 16'379u, 16'384u, 65'535u, 65'536u, 300'000u, 2'000'000u}) {
    std::string message(size, 'x');
    for (std::size_t i = 0; i < size; i += 7) message[i] = static_cast<char>(i * 31);
    const Heard heard = world.call(echo, message);
    EXPECT_EQ(heard.status, Status{}) << size;
    EXPECT_TRUE(heard.message == message) << size;
  }
}

TEST(Calls, MayBeAnsweredLater) {
  Loopback world;
  std::vector<Call> kept;
  world.server().unary("/test.Later/Wait",
                       [&](Call call, std::string_view) { kept.push_back(std::move(call)); });
  Heard first, second;
  world.channel().unary("/test.Later/Wait", "", {}, first.done());
  world.channel().unary("/test.Later/Wait", "", {}, second.done());
  world.until([&] { return kept.size() == 2; });
  world.for_a_while(20ms);
  EXPECT_FALSE(first.over);
  kept[1].reply("second");
  kept[0].reply("first");
  world.until(first);
  world.until(second);
  EXPECT_EQ(first.message, "first");
  EXPECT_EQ(second.message, "second");
  EXPECT_TRUE(kept[0].over());
  kept[0].reply("again");  // goes nowhere
  kept[0].finish({Code::internal, "again"});
}

TEST(Calls, ShowTheirHandlerWhoAsksAndHow) {
  Loopback world;
  Metadata seen;
  Peer peer;
  std::optional<std::chrono::nanoseconds> left;
  world.server().unary("/test.Look/At", [&](Call call, std::string_view) {
    seen = call.metadata();
    peer = call.peer();
    left = *call.deadline() - std::chrono::steady_clock::now();
    EXPECT_EQ(call.path(), "/test.Look/At");
    call.add_trailer("answered-by", "test");
    call.reply("");
  });
  Heard heard;
  std::string answered_by;
  world.channel().unary("/test.Look/At", "",
                        {.timeout = 5s, .metadata = {{"token", "abc"}, {"token", "def"}}},
                        [&](const Answer& answer) {
                          answered_by = answer.trailers.get("answered-by").value_or("nobody");
                          heard.over = true;
                        });
  world.until(heard);
  EXPECT_EQ(seen.get("token"), "abc");
  EXPECT_EQ(seen.get("user-agent"), "conclave");
  EXPECT_TRUE(peer.address.starts_with("127.0.0.1:"));
  EXPECT_GT(static_cast<std::uint64_t>(peer.connection), 0u);
  EXPECT_LE(*left, 5s);
  EXPECT_GT(*left, 1s);
  EXPECT_EQ(answered_by, "test");
}

TEST(Calls, EndWithTheStatusOfTheHandler) {
  Loopback world;
  const Status status = {Code::out_of_range,
                         "etcdserver: mvcc: required revision has been compacted: 100 %\n"};
  world.server().unary("/test.Refuse/It", [&](Call call, std::string_view) { call.finish(status); });
  const Heard heard = world.call("/test.Refuse/It", "");
  EXPECT_EQ(heard.status, status);
  EXPECT_TRUE(heard.may_have_run);
}

TEST(Calls, ToUnknownMethodsAreUnimplemented) {
  Loopback world;
  EXPECT_EQ(world.call("/test.Nobody/Home", "").status.code, Code::unimplemented);
  world.server().unknown([](std::string_view path) {
    return Status{Code::unimplemented, "another engine has " + std::string(path)};
  });
  EXPECT_EQ(world.call("/test.Nobody/Home", "").status.message, "another engine has /test.Nobody/Home");
}

TEST(Calls, PassTheGateFirst) {
  Loopback world;
  world.server().before_each([](const Call& call) {
    return call.metadata().get("token") ? Status{} : Status{Code::unauthenticated, "who are you?"};
  });
  EXPECT_EQ(world.call(echo, "x").status, (Status{Code::unauthenticated, "who are you?"}));
  EXPECT_EQ(world.call(echo, "x", {.metadata = {{"token", "t"}}}).status, Status{});
}

TEST(Calls, TenThousandOfThemReuseWhatTheyNeed) {
  Loopback world;
  constexpr int all = 10'000;
  int answered = 0;
  int sent = 0;
  std::function<void()> next = [&] {
    if (sent++ >= all) return;
    const std::string request = std::to_string(sent);
    world.channel().unary(echo, request, {.timeout = 10s}, [&, request](const Answer& answer) {
      EXPECT_EQ(answer.message, request);
      ++answered;
      next();
    });
  };
  for (int i = 0; i < 64; ++i) next();
  world.until([&] { return answered == all; }, 60s);
  EXPECT_EQ(world.server().stats().calls_started, static_cast<std::uint64_t>(all));
  EXPECT_EQ(world.server().stats().calls_open, 0u);
  EXPECT_EQ(world.server().stats().connections_accepted, 1u);
}

TEST(Calls, ThatAreTooLargeAreRefused) {
  Loopback world({.session = {.message_bytes = 1000}});
  EXPECT_EQ(world.call(echo, std::string(1000, 'x')).status, Status{});
  EXPECT_EQ(world.call(echo, std::string(1001, 'x')).status.code, Code::resource_exhausted);
  EXPECT_EQ(world.call(echo, std::string(1'000'000, 'x')).status.code, Code::resource_exhausted);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Calls, WithTooManyHeadersAreRefused) {
  Loopback world({.session = {.header_list_bytes = 2000}});
  EXPECT_EQ(world.call(echo, "", {.metadata = {{"large", std::string(2000, 'x')}}}).status.code,
            Code::resource_exhausted);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Calls, ThatAreCancelledTellTheirHandler) {
  Loopback world;
  std::optional<Status> told;
  Call kept;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) {
    kept = call;
    call.on_cancel([&](const Status& status) { told = status; });
  });
  Heard heard;
  ClientStream call = world.channel().unary("/test.Later/Wait", "", {}, heard.done());
  world.until([&] { return static_cast<bool>(kept); });
  call.cancel();
  EXPECT_FALSE(heard.over) << "never from inside the call";
  world.until([&] { return told.has_value(); });
  EXPECT_EQ(told->code, Code::cancelled);
  EXPECT_EQ(heard.status.code, Code::cancelled);
  EXPECT_TRUE(heard.may_have_run);
  EXPECT_TRUE(kept.over());
  EXPECT_EQ(world.server().stats().calls_cancelled, 1u);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Calls, EndWhenTheConnectionIsLost) {
  Loopback world;
  std::optional<Status> told;
  std::optional<ConnectionId> gone;
  Call kept;
  world.server().on_disconnect([&](ConnectionId id) {
    EXPECT_TRUE(told) << "calls first, then their connection";
    gone = id;
  });
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) {
    kept = call;
    call.on_cancel([&](const Status& status) { told = status; });
  });
  Heard heard;
  world.channel().unary("/test.Later/Wait", "", {}, heard.done());
  world.until([&] { return static_cast<bool>(kept); });
  const ConnectionId id = kept.peer().connection;
  world.drop_channel();
  EXPECT_EQ(heard.status.code, Code::unavailable);
  world.until([&] { return gone.has_value(); });
  EXPECT_EQ(*gone, id);
  EXPECT_TRUE(kept.over());
}

TEST(Calls, OutlastTheirServer) {
  Call kept;
  Heard heard;
  {
    Loopback world;
    world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) { kept = call; });
    world.channel().unary("/test.Later/Wait", "", {}, heard.done());
    world.until([&] { return static_cast<bool>(kept); });
  }
  EXPECT_TRUE(heard.over);
  EXPECT_TRUE(kept.over());
  EXPECT_EQ(kept.path(), "/test.Later/Wait");
  kept.reply("into the void");
}

TEST(Deadlines, EndTheCallAtTheServer) {
  Loopback world;
  std::optional<Status> told;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) {
    call.on_cancel([&](const Status& status) { told = status; });
  });
  // Only the server knows of this one.
  const Heard heard = world.call("/test.Later/Wait", "", {.metadata = {{"grpc-timeout", "20m"}}});
  EXPECT_EQ(heard.status.code, Code::deadline_exceeded);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, Code::deadline_exceeded);
}

TEST(Deadlines, EndTheCallAtTheClient) {
  Loopback world;
  Stranger silent(world);  // keeps the loop company
  std::vector<Call> kept;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) { kept.push_back(call); });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(world.call("/test.Later/Wait", "", {.timeout = 30ms}).status.code, Code::deadline_exceeded);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  world.until([&] { return kept.size() == 1 && kept[0].over(); });
}

TEST(Deadlines, OfNoTimeAreOverAtOnce) {
  Loopback world;
  EXPECT_EQ(world.call(echo, "x", {.metadata = {{"grpc-timeout", "0n"}}}).status.code, Code::ok)
      << "an answer that is there is given";
  EXPECT_EQ(world.call(echo, "x", {.metadata = {{"grpc-timeout", "soon"}}}).status.code,
            Code::invalid_argument);
}

TEST(Handlers, ThatThrowStopTheLoop) {
  Loopback world;
  world.server().unary("/test.Broken/Invariant",
                       [](Call, std::string_view) { throw std::logic_error("what we believed"); });
  Heard heard;
  world.channel().unary("/test.Broken/Invariant", "", {}, heard.done());
  EXPECT_THROW(world.until(heard), std::logic_error);
}

}  // namespace
}  // namespace conclave::rpc
