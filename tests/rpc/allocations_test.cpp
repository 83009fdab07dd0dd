// A steady server takes no memory for a call: counted, by frames fed to a session without a socket.
#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "rpc/server_call.hpp"

namespace conclave::rpc {
namespace {

struct Echoes final : Session::Owner {
  boost::asio::io_context loop{1};
  std::shared_ptr<ServerCore> core = std::make_shared<ServerCore>(loop, ServerLimits{});
  boost::intrusive_ptr<CountedPeer> peer{new CountedPeer};
  Session session{Session::Side::server, SessionLimits(), *this};

  Echoes() {
    core->methods["/test.Echo/Unary"] = {
        .unary = [](Call call, std::string_view bytes) { call.reply(bytes); }};
    session.receive({NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN}, {});
  }
  StreamPtr open_stream() override {
    auto call = core->pool->take();
    call->open(*core, peer);
    return call;
  }
  void output_waits() override {}
  void goaway_received() override {}
  void pong_received() override {}
};

// What a client sends for one call; the bytes are made by hand, so that nobody else allocates.
std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xff);
  return bytes.append(payload);
}
std::string call_bytes(std::uint32_t stream) {
  std::string head;
  for (const auto& [name, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                    {":scheme", "http"},
                                    {":path", "/test.Echo/Unary"},
                                    {"content-type", "application/grpc"},
                                    {"grpc-timeout", "5S"}}) {
    head += '\0';
    head += static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
  }
  const std::string message = std::string("\0\0\0\1\0", 5) + std::string(256, 'x');
  return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, head) +
         frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, message);
}

TEST(ASteadyServer, TakesNoMemoryForACall) {
  constexpr std::uint32_t warm_up = 100;
  constexpr std::uint32_t calls = 1000;
  Echoes server;
  server.session.receive(frame(NGHTTP2_SETTINGS, 0, 0, ""), {});
  std::vector<std::string> input;
  for (std::uint32_t i = 0; i < warm_up + calls; ++i) input.push_back(call_bytes(2 * i + 1));
  // The answers fill the client's window: it is opened once for all of them.
  server.session.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\0\x10\0\0", 4)), {});
  std::string out;
  for (std::uint32_t i = 0; i < warm_up + calls; ++i) {
    if (i == warm_up) {
      EXPECT_GT(bench::counted().count, 0u) << "the first calls take memory, and the counter sees it";
    }
    if (i == 0 || i == warm_up) bench::start_counting();
    ASSERT_TRUE(server.session.receive(input[i], {}));
    out.clear();
    server.session.produce(out, 64 * 1024);
    ASSERT_GT(out.size(), 256u);
  }
  bench::stop_counting();
  EXPECT_EQ(bench::counted().count, 0u);
  EXPECT_EQ(server.core->stats.calls_started, warm_up + calls);
  EXPECT_EQ(server.core->stats.calls_open, 0u);
}

}  // namespace
}  // namespace conclave::rpc
