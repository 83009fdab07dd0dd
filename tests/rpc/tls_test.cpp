// gRPC and HTTP over TLS, with and without client certificates.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "loopback.hpp"

namespace conclave::rpc {
namespace {

class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = testing::TempDir() + "rpc_tls_XXXXXX";
    directory = mkdtemp(name.data());
    const std::string command = "bash " RPC_TESTS "/certificates.sh " + directory + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << "openssl makes certificates";
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory); }

  static std::string file(const std::string& name) { return directory + "/" + name; }

  std::uint16_t listen(bool client_certificates) {
    const TlsFiles files = {.certificate = file("server.pem"),
                            .key = file("server.key"),
                            .authority = file("authority.pem"),
                            .require_client_certificate = client_certificates};
    return world.server().listen("127.0.0.1:0", server_tls(files).value()).value();
  }
  Heard call(std::uint16_t port, const TlsFiles& files, const std::string& request = "x") {
    const auto channel =
        world.open({.endpoints = {"https://127.0.0.1:" + std::to_string(port)}, .tls = files});
    Heard heard;
    channel->unary(echo, request, {.timeout = 10s}, heard.done());
    world.until(heard);
    return heard;
  }
  static int curl(std::uint16_t port, const std::string& options) {
    const std::string command = "curl -sf -m 10 --cacert " + file("authority.pem") + " " + options +
                                " https://localhost:" + std::to_string(port) + "/who -o " + file("answer");
    return std::system(command.c_str());
  }

  static inline std::string directory;
  Loopback world;
};

TEST_F(Tls, CarriesCalls) {
  const std::uint16_t port = listen(false);
  EXPECT_EQ(call(port, {.authority = file("authority.pem")}).status, Status{});
  const std::string large(1'000'000, 'x');
  EXPECT_TRUE(call(port, {.authority = file("authority.pem")}, large).message == large);
}

TEST_F(Tls, TrustsOnlyWhoShowsAProperCertificate) {
  const std::uint16_t port = listen(false);
  const Heard stranger = call(port, {.authority = file("stranger.pem")});
  EXPECT_EQ(stranger.status.code, Code::unavailable);
  EXPECT_TRUE(stranger.status.message.contains("TLS")) << stranger.status.message;
  EXPECT_EQ(call(port, {.authority = file("authority.pem"), .server_name = "example.org"}).status.code,
            Code::unavailable);
  EXPECT_EQ(call(port, {.trust_anybody = true}).status, Status{});
}

TEST_F(Tls, AsksClientsForTheirCertificate) {
  const std::uint16_t port = listen(true);
  std::string who;
  world.server().before_each([&](const Call& asking) {
    who = asking.peer().certificate_name;
    return Status{};
  });
  TlsFiles files = {.authority = file("authority.pem")};
  EXPECT_EQ(call(port, files).status.code, Code::unavailable) << "nobody";
  files.certificate = file("mallory.pem");
  files.key = file("mallory.key");
  EXPECT_EQ(call(port, files).status.code, Code::unavailable) << "signed by a stranger";
  EXPECT_EQ(who, "");
  files.certificate = file("alice.pem");
  files.key = file("alice.key");
  EXPECT_EQ(call(port, files).status, Status{});
  EXPECT_EQ(who, "alice");
}

TEST_F(Tls, SurvivesWhoDoesNotSpeakIt) {
  const std::uint16_t port = listen(false);
  const auto plain = world.open({.endpoints = {"127.0.0.1:" + std::to_string(port)}});
  Heard heard;
  plain->unary(echo, "x", {.timeout = 5s}, heard.done());
  world.until(heard);
  EXPECT_EQ(heard.status.code, Code::unavailable);
  EXPECT_EQ(call(port, {.authority = file("authority.pem")}).status, Status{});
}

// Of handshakes that come to nothing no more are kept than the limit, and those of one address leave room.
TEST_F(Tls, BoundsHandshakesUnderWay) {
  Loopback small({.handshakes = 10});
  const TlsFiles files = {.certificate = file("server.pem"), .key = file("server.key")};
  const std::uint16_t port = small.server().listen("127.0.0.1:0", server_tls(files).value()).value();
  namespace ip = boost::asio::ip;
  std::vector<ip::tcp::socket> stuck;
  for (int i = 0; i < 100; ++i) {
    stuck.emplace_back(small.loop()).connect({ip::make_address("127.0.0.1"), port});
    small.for_a_while(0ms);
  }
  small.until([&] { return small.server().stats().handshakes_ended == 95; });
  EXPECT_EQ(small.server().stats().handshakes_open, 5u);
  EXPECT_EQ(small.server().stats().connections_open, 5u);
  Heard heard;
  const auto channel = small.open({.endpoints = {"https://127.0.0.1:" + std::to_string(port)},
                                   .tls = {.authority = file("authority.pem")}});
  channel->unary(echo, "beside them", {.timeout = 10s}, heard.done());
  small.until(heard);
  EXPECT_EQ(heard.message, "beside them");
  EXPECT_EQ(small.server().stats().handshakes_open, 4u) << "the oldest of its address went";
}

TEST_F(Tls, SaysWhichFileIsWrong) {
  EXPECT_TRUE(server_tls({}).error().contains("certificate"));
  EXPECT_TRUE(server_tls({.certificate = "/no/such", .key = "/no/such"}).error().contains("/no/such"));
  EXPECT_TRUE(
      server_tls({.certificate = file("server.pem"), .key = file("alice.key")}).error().contains("alice"));
  EXPECT_FALSE(server_tls(
      {.certificate = file("server.pem"), .key = file("server.key"), .require_client_certificate = true}));
}

// The same handler for curl over HTTP/1.1 and over HTTP/2.
TEST_F(Tls, ServesPagesInBothVersions) {
  const std::uint16_t port = listen(false);
  std::string body(100'000, 'y');
  world.server().http("/who", [&](const HttpRequest& request, HttpReply reply) {
    reply.send(200, "text/plain", std::string(request.method) + std::string(request.body) + body);
  });
  for (const char* options : {"--http1.1", "--http2", "--http1.1 -d sent", "--http2 -d sent", "--http2 -I"}) {
    int outcome = -1;
    std::atomic<bool> done = false;
    std::thread user([&] {
      outcome = curl(port, options);
      done = true;
    });
    world.until([&] { return done.load(); });
    user.join();
    EXPECT_EQ(outcome, 0) << options;
  }
  EXPECT_EQ(world.server().stats().http_requests, 5u);
}

}  // namespace
}  // namespace conclave::rpc
