// Channels with several endpoints, servers that go and come back.
#include "loopback.hpp"

namespace conclave::rpc {
namespace {

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

// A port that nobody listens on.
std::uint16_t nobody(boost::asio::io_context& loop) {
  boost::asio::ip::tcp::acceptor acceptor(loop, {boost::asio::ip::make_address("127.0.0.1"), 0});
  return acceptor.local_endpoint().port();
}

TEST(Channel, SaysWhatIsWrongWithItsOptions) {
  boost::asio::io_context loop;
  EXPECT_FALSE(Channel::open(loop, {}));
  EXPECT_FALSE(Channel::open(loop, {.endpoints = {"nonsense"}}));
  EXPECT_FALSE(Channel::open(loop, {.endpoints = {"https://x:1"}, .tls = {.authority = "/no/such/file"}}));
}

TEST(Channel, TriesTheNextEndpoint) {
  Loopback world;
  const auto channel = world.open({.endpoints = {at(nobody(world.loop())), at(world.port())}});
  std::vector<std::string> told;
  channel->on_connection(
      [&](const std::string&, const Status& status) { told.emplace_back(name(status.code)); });
  Heard heard;
  channel->unary(echo, "x", {}, heard.done());
  world.until(heard);
  EXPECT_EQ(heard.status, Status{});
  EXPECT_EQ(channel->endpoint(), at(world.port()));
  EXPECT_EQ(told, (std::vector<std::string>{"UNAVAILABLE", "OK"}));
}

TEST(Channel, FailsWhenNobodyAnswers) {
  Loopback world;
  const auto channel = world.open({.endpoints = {at(nobody(world.loop())), at(nobody(world.loop()))}});
  Heard heard;
  channel->unary(echo, "x", {}, heard.done());
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::unavailable);
  EXPECT_FALSE(heard.may_have_run);
  EXPECT_TRUE(heard.status.message.contains("refused")) << heard.status.message;
  Heard patient;
  channel->unary(echo, "x", {.timeout = 200ms, .wait_for_ready = true}, patient.done());
  world.until(patient);
  EXPECT_EQ(patient.status.code, Code::deadline_exceeded);
  EXPECT_FALSE(patient.may_have_run);
}

TEST(Channel, FindsAServerThatComesBack) {
  Loopback world;
  const std::uint16_t port = nobody(world.loop());
  const auto channel = world.open({.endpoints = {at(port)}});
  Heard heard;
  channel->unary(echo, "x", {.timeout = 20s, .wait_for_ready = true}, heard.done());
  world.for_a_while(200ms);
  EXPECT_FALSE(heard.over);
  ASSERT_TRUE(world.server().listen(at(port)));
  world.until(heard);
  EXPECT_EQ(heard.status, Status{});
}

TEST(Channel, MovesOnWhenItsServerDies) {
  Loopback world;
  auto other = std::make_unique<Server>(world.loop());
  Call kept;
  other->unary(std::string(echo), [&](Call call, std::string_view) { kept = call; });
  const auto channel =
      world.open({.endpoints = {at(other->listen("127.0.0.1:0").value()), at(world.port())}});
  Heard lost;
  channel->unary(echo, "x", {}, lost.done());
  world.until([&] { return static_cast<bool>(kept); });
  other.reset();
  world.until(lost);
  EXPECT_EQ(lost.status.code, Code::unavailable);
  EXPECT_TRUE(lost.may_have_run);
  Heard next;
  channel->unary(echo, "x", {}, next.done());
  world.until(next);
  EXPECT_EQ(next.status, Status{});
}

TEST(Channel, MovesOnWhenTold) {
  Loopback world;
  Server other(world.loop());
  other.unary(std::string(echo), [](Call call, std::string_view) { call.reply("other"); });
  const auto channel = world.open({.endpoints = {at(other.listen("127.0.0.1:0").value()), at(world.port())}});
  for (const char* expected : {"other", "mine", "other"}) {
    Heard heard;
    channel->unary(echo, "mine", {}, heard.done());
    world.until(heard);
    EXPECT_EQ(heard.message, expected);
    channel->next_endpoint();
  }
}

TEST(Channel, ClosesInTheMiddleOfACallback) {
  Loopback world;
  auto channel = world.open();
  std::vector<Heard> heard(20);
  bool first = false;
  channel->unary(echo, "x", {}, [&](const Answer&) {
    first = true;
    channel.reset();
  });
  for (Heard& one : heard) channel->unary(echo, "x", {}, one.done());
  world.until([&] { return first; });
  for (Heard& one : heard) world.until(one);
  world.for_a_while(20ms);
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Shutdown, LetsCallsFinish) {
  Loopback world;
  Call kept;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) { kept = call; });
  Heard heard;
  world.channel().unary("/test.Later/Wait", "", {}, heard.done());
  world.until([&] { return static_cast<bool>(kept); });
  bool done = false;
  world.server().shutdown(10s, [&] { done = true; });
  world.for_a_while(20ms);
  EXPECT_FALSE(done);
  const Heard late = world.call(echo, "too late");
  EXPECT_EQ(late.status.code, Code::unavailable);
  EXPECT_FALSE(late.may_have_run);
  kept.reply("in time");
  world.until(heard);
  EXPECT_EQ(heard.message, "in time");
  world.until([&] { return done; });
  EXPECT_EQ(world.server().stats().connections_open, 0u);
}

TEST(Shutdown, EndsWhatTakesTooLong) {
  Loopback world;
  std::optional<Status> told;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) {
    call.on_cancel([&](const Status& status) { told = status; });
  });
  Heard heard;
  world.channel().unary("/test.Later/Wait", "", {}, heard.done());
  Stranger http(world);
  http.send("GET /x HTTP");
  world.for_a_while(20ms);
  bool done = false;
  world.server().shutdown(50ms, [&] { done = true; });
  world.until(heard);
  EXPECT_EQ(heard.status, (Status{Code::unavailable, "the server is shutting down"}));
  EXPECT_EQ(told->code, Code::unavailable);
  world.until([&] { return done; });
}

TEST(Shutdown, OfAnIdleServerIsDoneAtOnce) {
  Loopback world;
  bool done = false;
  world.server().shutdown(10s, [&] { done = true; });
  world.until([&] { return done; });
}

TEST(Shutdown, SendsClientsElsewhereWithoutAnError) {
  Loopback world;
  Server other(world.loop());
  other.unary(std::string(echo), [](Call call, std::string_view) { call.reply("other"); });
  const auto channel = world.open({.endpoints = {at(other.listen("127.0.0.1:0").value()), at(world.port())}});
  int answered = 0;
  int failed = 0;
  bool gone = false;
  bool stop = false;
  std::function<void()> next = [&] {
    channel->unary(echo, "mine", {}, [&](const Answer& answer) {
      answered += answer.status.ok();
      failed += !answer.status.ok();
      if (!stop) next();
    });
  };
  for (int i = 0; i < 8; ++i) next();
  world.until([&] { return answered > 500; });
  other.shutdown(5s, [&] { gone = true; });
  world.until([&] { return gone && answered > 2000; });
  EXPECT_EQ(failed, 0);
  stop = true;
  world.for_a_while(50ms);
}

}  // namespace
}  // namespace conclave::rpc
