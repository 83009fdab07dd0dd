// What strangers send: garbage, floods, silence. The server closes their connection, and nobody else notices.
#include <malloc.h>
#include <nghttp2/nghttp2.h>

#include <deque>
#include <random>

#include "loopback.hpp"

namespace conclave::rpc {
namespace {

const std::string preface = NGHTTP2_CLIENT_MAGIC;

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xff);
  return bytes.append(payload);
}
const std::string settings = frame(NGHTTP2_SETTINGS, 0, 0, "");

// Header fields as literals that enter no table.
std::string fields(const std::vector<std::pair<std::string, std::string>>& list) {
  std::string block;
  for (const auto& [name, value] : list) {
    block += '\0';
    block += static_cast<char>(name.size());
    block += name;
    block += static_cast<char>(value.size());
    block += value;
  }
  return block;
}
std::string request(std::uint32_t stream, std::vector<std::pair<std::string, std::string>> more = {}) {
  std::vector<std::pair<std::string, std::string>> list = {{":method", "POST"},
                                                           {":scheme", "http"},
                                                           {":path", std::string(echo)},
                                                           {":authority", "http://127.0.0.1:2379"}};
  list.insert(list.end(), {"content-type", "application/grpc"});
  list.insert(list.end(), more.begin(), more.end());
  return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, fields(list));
}
std::string message(std::uint32_t stream, const std::string& text) {
  const std::string framed = std::string("\0\0\0\0", 4) + static_cast<char>(text.size()) + text;
  return frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, framed);
}

void still_serves(Loopback& world) { EXPECT_EQ(world.call(echo, "still here").message, "still here"); }

TEST(Strangers, AreUnderstoodHoweverTheirBytesAreCut) {
  const std::string whole = preface + settings + request(1) + message(1, "cut to pieces");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Loopback world;
    Stranger stranger(world);
    stranger.send(whole.substr(0, cut));
    world.for_a_while(1ms);
    stranger.send(whole.substr(cut));
    stranger.until_received("cut to pieces");
  }
}

TEST(Strangers, AreUnderstoodByteByByte) {
  Loopback world;
  Stranger stranger(world);
  for (const char c : preface + settings + request(1) + message(1, "one by one")) {
    stranger.send({&c, 1});
    world.for_a_while(0ms);
  }
  stranger.until_received("one by one");
}

TEST(Strangers, WhoSendGarbageAreCutOff) {
  Loopback world;
  std::minstd_rand random(1);
  for (int round = 0; round < 100; ++round) {
    Stranger stranger(world);
    std::string bytes = round % 3 == 0 ? "" : preface;
    if (round % 3 == 2) bytes += settings + request(1);
    for (int i = 0; i < 300; ++i) bytes += static_cast<char>(random());
    stranger.send(bytes);
    stranger.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send);
    stranger.until_closed();
  }
  still_serves(world);
}

TEST(Strangers, WithBadHeadsAreResetAndOthersAnswered) {
  Loopback world;
  Stranger stranger(world);
  stranger.send(preface + settings + request(1, {{"Upper", "case"}}) + request(3, {{":path", "/late"}}) +
                request(5, {{"connection", "close"}}) + request(7) + message(7, "well made"));
  stranger.until_received("well made");
  EXPECT_EQ(world.server().stats().bad_requests, 3u);
}

TEST(Strangers, WhoCompressOrSayTooLittleAreRefused) {
  Loopback world;
  Stranger stranger(world);
  const auto data = [](std::uint32_t stream, std::string_view bytes) {
    return frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, bytes);
  };
  stranger.send(preface + settings);
  stranger.send(request(1) + data(1, {"\1\0\0\0\1x", 6}));            // compressed
  stranger.send(request(3) + data(3, {"\0\0\0\0\5x", 6}));            // ends inside the message
  stranger.send(request(5) + data(5, ""));                            // no message
  stranger.send(request(7) + data(7, {"\0\0\0\0\0\0\0\0\0\0", 10}));  // two messages
  stranger.send(request(9) + message(9, "well made"));
  stranger.until_received("well made");
  EXPECT_EQ(world.server().stats().bad_requests, 2u);
  EXPECT_EQ(world.server().stats().calls_cancelled, 3u) << "two messages: the first was answered by then";
  still_serves(world);
}

TEST(Strangers, WhoPingWithoutEndAreCutOff) {
  Loopback world;
  Stranger stranger(world);
  stranger.send(preface + settings);
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += frame(NGHTTP2_PING, 0, 0, "12345678");
  stranger.send(pings);
  stranger.until_closed();
  still_serves(world);
}

TEST(Strangers, MayPingBetweenCalls) {
  Loopback world;
  Stranger stranger(world);
  stranger.send(preface + settings);
  for (std::uint32_t i = 0; i < 500; ++i) {
    const std::string text = "number " + std::to_string(i);
    stranger.send(frame(NGHTTP2_PING, 0, 0, "12345678") + request(2 * i + 1) + message(2 * i + 1, text));
    stranger.until_received(text);
  }
}

TEST(Strangers, WhoSendEmptyFramesWithoutEndAreCutOff) {
  Loopback world;
  Stranger stranger(world);
  std::string bytes = preface + settings + request(1);
  for (int i = 0; i < 1000; ++i) bytes += frame(NGHTTP2_DATA, 0, 1, "");
  stranger.send(bytes);
  stranger.until_closed();
  still_serves(world);
}

TEST(Strangers, WhoOpenAndCancelWithoutEndAreCutOff) {
  Loopback world({.session = {.resets_burst = 100, .resets_per_second = 10}});
  Stranger stranger(world);
  std::string bytes = preface + settings;
  for (std::uint32_t i = 0; i < 5000; ++i)
    bytes += request(2 * i + 1) + frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, std::string("\0\0\0\10", 4));
  stranger.send(bytes);
  stranger.until_closed();
  still_serves(world);
  EXPECT_LT(world.server().stats().calls_started, 1500u) << "what was read with the limit is still looked at";
}

// No call of a client waits for another; what is too much is refused, and was not done.
TEST(Strangers, AreRefusedCallsBeyondTheLimit) {
  Loopback world({.session = {.concurrent_streams = 10}});
  std::vector<Call> kept;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) { kept.push_back(call); });
  std::vector<Heard> heard(30);
  for (Heard& one : heard) world.channel().unary("/test.Later/Wait", "", {}, one.done());
  world.until([&] { return std::ranges::count_if(heard, &Heard::over) == 20; });
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_EQ(world.server().stats().calls_refused_streams, 20u);
  EXPECT_EQ(std::ranges::count(heard, Code::resource_exhausted, [](auto& one) { return one.status.code; }),
            20);
  for (Call& call : kept) call.reply("");
  world.until([&] { return std::ranges::all_of(heard, &Heard::over); });
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Strangers, AreRefusedCallsThatTakeTooMuchTogether) {
  Loopback world({.session = {.open_calls_bytes = 30'000}});
  std::vector<Call> kept;
  world.server().unary("/test.Later/Wait", [&](Call call, std::string_view) { kept.push_back(call); });
  std::vector<Heard> heard(30);
  for (Heard& one : heard) world.channel().unary("/test.Later/Wait", "", {}, one.done());
  world.until([&] { return world.server().stats().calls_refused_streams > 0; });
  world.until([&] { return kept.size() + world.server().stats().calls_refused_streams == 30; });
  EXPECT_GT(kept.size(), 8u);
  EXPECT_LT(kept.size(), 15u);
  for (Call& call : kept) call.reply("");
  world.until([&] { return std::ranges::all_of(heard, &Heard::over); });
  EXPECT_EQ(world.call(echo, "still here").status, Status{});
}

TEST(Strangers, MayOpenThousandsOfStreamsAndGoOnCalling) {
  Loopback world;
  std::vector<Heard> heard(6000);
  std::vector<ClientStream> streams;
  for (Heard& one : heard) {
    streams.push_back(world.channel().stream(chat, {}, one.events()));
    streams.back().send("hello");
  }
  EXPECT_EQ(world.call(echo, "beside them").message, "beside them");
  world.until([&] { return std::ranges::all_of(heard, [](auto& one) { return one.messages.size() == 1; }); });
}

TEST(Strangers, WhoSayNothingAreCutOff) {
  Loopback world({.preface_timeout = 50ms});
  Stranger silent(world);
  Stranger slow(world);
  slow.send("PRI * HT");
  Stranger slower(world);
  slower.send("GET / HTTP/1.1\r\nhost:");
  const auto begin = std::chrono::steady_clock::now();
  silent.until_closed();
  slow.until_closed();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_GE(world.server().stats().timed_out, 2u);
}

TEST(Strangers, WhoFallSilentAreCutOff) {
  Loopback world({.session = {.keepalive_interval = 50ms, .keepalive_timeout = 50ms}});
  std::optional<ConnectionId> gone;
  world.server().on_disconnect([&](ConnectionId id) { gone = id; });
  Stranger stranger(world);
  stranger.send(preface + settings);
  world.until([&] { return gone.has_value(); });
  // One that answers pings stays.
  Heard heard;
  ClientStream stream = world.channel().stream(chat, {}, heard.events());
  stream.send("x");
  world.for_a_while(300ms);
  EXPECT_FALSE(heard.over);
}

TEST(Strangers, WhoTakeNoneOfTheirAnswersAreCutOff) {
  Loopback world({.session = {.stalled_after = 100ms}});
  const std::string large(40'000'000, 'x');
  world.server().http("/large",
                      [&](const HttpRequest&, HttpReply reply) { reply.send(200, "text/plain", large); });
  Stranger stranger(world);
  stranger.send("GET /large HTTP/1.1\r\nhost: x\r\n\r\n");
  world.until([&] { return world.server().stats().timed_out == 1; });
  still_serves(world);
}

// One address has all places as long as nobody else wants one.
TEST(Places, OfWhoHasMostGoToNewcomersOfOtherAddresses) {
  Loopback world({.connections = 4});
  std::deque<Stranger> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.emplace_back(world).send(preface + settings);
    world.for_a_while(20ms);
  }
  EXPECT_EQ(world.server().stats().connections_open, 4u);
  Stranger newcomer(world, "127.0.0.2");
  newcomer.send(preface + settings + request(1) + message(1, "from elsewhere"));
  newcomer.until_received("from elsewhere");
  greedy.front().until_closed();
  EXPECT_EQ(world.server().stats().connections_yielded, 1u);
  Stranger another(world);
  another.until_closed();
  EXPECT_EQ(world.server().stats().connections_refused, 1u) << "one more of the greedy";
  EXPECT_TRUE(newcomer.read()) << "the newcomer has its place";
}

TEST(Places, AreSharedEvenly) {
  Loopback world({.connections = 4});
  std::deque<Stranger> some, others;
  for (int i = 0; i < 4; ++i) some.emplace_back(world).send(preface + settings);
  world.until([&] { return world.server().stats().connections_open == 4; });
  for (int i = 0; i < 3; ++i) others.emplace_back(world, "127.0.0.2").send(preface + settings);
  world.until([&] { return world.server().stats().connections_accepted == 6; });
  world.until([&] { return world.server().stats().connections_refused == 1; });
  EXPECT_EQ(world.server().stats().connections_yielded, 2u) << "nobody takes from an equal";
}

// With a call under way on each, nothing is idle; but no address keeps more than three quarters from others.
TEST(Places, OfTheBusyAreKeptUpToTheirPart) {
  Loopback world({.connections = 8});
  std::deque<Stranger> busy;
  for (int i = 0; i < 8; ++i) busy.emplace_back(world).send(preface + settings + request(1));
  world.until([&] { return world.server().stats().calls_open == 8; });
  std::deque<Stranger> others;
  for (unsigned i = 1; i <= 4; ++i) {
    others.emplace_back(world, "127.0.0.2").send(preface + settings);
    world.until([&] {
      return world.server().stats().connections_accepted + world.server().stats().connections_refused ==
             8 + i;
    });
  }
  EXPECT_EQ(world.server().stats().connections_yielded, 2u);
  EXPECT_EQ(world.server().stats().connections_refused, 2u);
}

// A connection that says good-bye still has its descriptor.
TEST(Places, AreTakenUntilTheDescriptorIsFree) {
  Loopback world({.connections = 2});
  world.server().http("/bye",
                      [](const HttpRequest&, HttpReply reply) { reply.send(200, "text/plain", "bye"); });
  std::deque<Stranger> leaving;
  for (int i = 0; i < 2; ++i) {
    leaving.emplace_back(world).send("GET /bye HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    leaving.back().until_received("bye");
  }
  EXPECT_EQ(world.server().stats().connections_open, 0u);
  Stranger early(world);
  early.until_closed();
  EXPECT_EQ(world.server().stats().connections_refused, 1u);
  leaving.clear();
  world.for_a_while(50ms);
  Stranger late(world);
  late.send(preface + settings + request(1) + message(1, "room again"));
  late.until_received("room again");
}

// A head of some bytes may stand for thousands: the table of HPACK has the value.
TEST(Memory, OfHeadsIsCounted) {
  Loopback world;
  Stranger stranger(world);
  std::string head = fields({{":method", "POST"},
                             {":scheme", "http"},
                             {":path", std::string(chat)},
                             {"content-type", "application/grpc"}});
  std::string filler = "\x40";  // a literal that enters the table
  filler += std::string("\x01") + "x" + std::string("\x7f\xa1\x1e") + std::string(4000, 'v');
  stranger.send(preface + settings + frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, head + filler));
  std::string more;
  for (std::uint32_t i = 1; i < 100; ++i)
    more += frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, head + "\xbe\xbe\xbe");
  stranger.send(more);
  world.until([&] { return world.server().stats().calls_open == 100; });
  EXPECT_GT(world.server().stats().stream_bytes, 1'000'000u);
  stranger.socket().close();
  world.until([&] { return world.server().stats().connections_open == 0; });
  EXPECT_EQ(world.server().stats().stream_bytes, 0u);
}

// One that never ends lets nobody count what is there at its end.
TEST(Memory, OfHeadsThatAreNotWholeIsCounted) {
  Loopback world;
  Stranger stranger(world);
  const std::string head = fields({{":method", "POST"}, {":scheme", "http"}, {":path", std::string(chat)}});
  const std::string filler = "\x40\x01x\x7f\xa1\x1e" + std::string(4000, 'v');
  stranger.send(preface + settings + frame(NGHTTP2_HEADERS, 0, 1, head + filler + "\xbe\xbe"));
  world.until([&] { return world.server().stats().stream_bytes > 12'000u; });
  stranger.socket().close();
  world.until([&] { return world.server().stats().connections_open == 0; });
  EXPECT_EQ(world.server().stats().stream_bytes, 0u);
}

// What is read at once may be much, and a connection that says nothing more may last for days.
TEST(Memory, OfTheFirstBytesIsGivenBack) {
  constexpr int count = 100;
  Loopback world;
  const std::string first = preface + settings + frame(0x42, 0, 0, std::string(16'000, 'x')) +
                            frame(0x42, 0, 0, std::string(16'000, 'x'));
  const std::size_t before = ::mallinfo2().uordblks;
  if (before == 0) GTEST_SKIP() << "a sanitizer's allocator does not say how much is taken";
  std::deque<Stranger> strangers;
  for (int i = 0; i < count; ++i) strangers.emplace_back(world).send(first);
  world.until([&] { return world.server().stats().bytes_received == count * first.size(); });
  EXPECT_LT((::mallinfo2().uordblks - before) / count, 40'000u) << "a connection takes some 30 kB by itself";
}

// Many who are idle have much together; who goes is the one that half sends much.
TEST(Memory, IsTakenFromWhoUsesItAndNotFromTheIdle) {
  Loopback world({.memory_bytes = 1'000'000, .connection_bytes = 10'000});
  std::deque<Stranger> idle;
  for (int i = 0; i < 40; ++i) idle.emplace_back(world, "127.0.0.2").send(preface + settings);
  world.until([&] { return world.server().stats().connections_open == 40; });
  Stranger greedy(world);
  greedy.send("POST /v3/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1900000\r\n\r\n");
  world.until([&] {
    greedy.send(std::string(10'000, 'x'));
    return !greedy.read();
  });
  EXPECT_EQ(world.server().stats().ended_memory, 1u);
  EXPECT_EQ(world.server().stats().connections_open, 40u);
}

TEST(Memory, OfConnectionsIsCounted) {
  Loopback world({.memory_bytes = 1'000'000, .connection_bytes = 100'000});
  std::deque<Stranger> strangers;
  for (int i = 0; i < 8; ++i) strangers.emplace_back(world);
  world.until([&] { return world.server().stats().connections_refused == 3; });
  EXPECT_EQ(world.server().stats().connection_bytes, 500'000u) << "half of the memory is for what is said";
}

TEST(Strangers, BeyondTheLimitAreTurnedAway) {
  Loopback world({.connections = 2});
  Stranger first(world);
  Stranger second(world);
  world.for_a_while(10ms);
  Stranger third(world);
  third.until_closed();
  EXPECT_EQ(world.server().stats().connections_refused, 1u);
  EXPECT_EQ(world.server().stats().connections_open, 2u);
}

}  // namespace
}  // namespace conclave::rpc
