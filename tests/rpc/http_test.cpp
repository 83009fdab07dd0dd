// Plain HTTP on the port of gRPC.
#include "loopback.hpp"

namespace conclave::rpc {
namespace {

class Http : public testing::Test {
 protected:
  Http() {
    world.server().http("/health", [](const HttpRequest& request, HttpReply reply) {
      reply.send(200, "application/json",
                 "{\"health\":\"true\",\"query\":\"" + std::string(request.query) + "\"}");
    });
    world.server().http("/v3/", [](const HttpRequest& request, HttpReply reply) {
      reply.send(
          200, "text/plain",
          std::string(request.method) + " " + std::string(request.path) + " " + std::string(request.body));
    });
    world.server().http("/later", [this](const HttpRequest&, HttpReply reply) { kept = std::move(reply); });
  }

  ServerLimits limits = {.session = {.message_bytes = 1000, .header_list_bytes = 1000},
                         .request_timeout = 100ms};
  Loopback world{limits};
  std::optional<HttpReply> kept;
};

TEST_F(Http, AnswersOnTheSamePort) {
  Stranger stranger(world);
  stranger.send("GET /health?serializable=true HTTP/1.1\r\nHost: x\r\n\r\n");
  stranger.until_received("\"query\":\"serializable=true\"}");
  EXPECT_TRUE(
      stranger.received.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "));
  EXPECT_EQ(world.call(echo, "gRPC").message, "gRPC");
}

TEST_F(Http, UnderstandsRequestsHoweverTheyAreCut) {
  const std::string whole = "POST /v3/kv/put HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody";
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Stranger stranger(world);
    stranger.send(whole.substr(0, cut));
    world.for_a_while(1ms);
    stranger.send(whole.substr(cut));
    stranger.until_received("POST /v3/kv/put body");
  }
}

TEST_F(Http, UnderstandsChunksByteByByte) {
  for (const std::string body : {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "1\r\na\r\n0\r\nTrailer: x\r\n\r\n"}) {
    Stranger stranger(world);
    stranger.send("POST /v3/chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char byte : body) {
      world.for_a_while(1ms);
      stranger.send(std::string(1, byte));
    }
    stranger.until_received("POST /v3/chunks " + std::string(body[0] == '0' ? "" : body.substr(3, 1)));
  }
}

TEST_F(Http, AnswersOneAfterTheOther) {
  Stranger stranger(world);
  stranger.send(
      "GET /v3/1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /v3/2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /v3/3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  stranger.until_received("GET /v3/3");
  EXPECT_LT(stranger.received.find("GET /v3/1"), stranger.received.find("POST /v3/2 abcde"));
  stranger.until_closed();
}

TEST_F(Http, AnswersInPieces) {
  Stranger stranger(world);
  stranger.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  world.until([&] { return kept.has_value(); });
  kept->begin(200, {{"content-type", "application/json"}});
  EXPECT_TRUE(kept->write("{\"result\":1}\n"));
  stranger.until_received("transfer-encoding: chunked\r\n\r\nd\r\n{\"result\":1}\n\r\n");
  EXPECT_TRUE(kept->write("{\"result\":2}\n"));
  kept->end();
  stranger.until_received("0\r\n\r\n");
  EXPECT_TRUE(kept->over());
  stranger.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  stranger.until_received("\"health\"");
}

TEST_F(Http, TellsWhenTheClientIsGone) {
  bool told = false;
  {
    Stranger stranger(world);
    stranger.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    world.until([&] { return kept.has_value(); });
    kept->begin(200, {});
    kept->on_closed([&] { told = true; });
  }
  world.until([&] { return told; });
  EXPECT_FALSE(kept->write("into the void"));
  kept->end();
}

TEST_F(Http, ServesOldClients) {
  Stranger stranger(world);
  stranger.send("GET /later HTTP/1.0\r\n\r\n");
  world.until([&] { return kept.has_value(); });
  kept->begin(200, {});
  kept->write("no chunks here");
  kept->end();
  stranger.until_closed();
  EXPECT_TRUE(stranger.received.ends_with("connection: close\r\n\r\nno chunks here"));
}

TEST_F(Http, SendsNoBodyForHead) {
  Stranger stranger(world);
  stranger.send("HEAD /v3/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  stranger.until_closed();
  EXPECT_TRUE(stranger.received.contains("content-length: 11\r\n"));
  EXPECT_TRUE(stranger.received.ends_with("\r\n\r\n"));
}

TEST_F(Http, LetsLargeBodiesComeWhenAsked) {
  Stranger stranger(world);
  stranger.send("POST /v3/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  stranger.until_received("HTTP/1.1 100 Continue\r\n\r\n");
  stranger.send("ok");
  stranger.until_received("POST /v3/x ok");
}

TEST_F(Http, RefusesWhatItCannotTake) {
  const std::pair<std::string, std::string> cases[] = {
      {"nonsense\r\n\r\n", "HTTP/1.1 400"},
      {"GET /nobody HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404"},
      {"GET / HTTP/1.1\r\nlarge: " + std::string(2000, 'x') + "\r\n\r\n", "HTTP/1.1 431"},
      {"POST /v3/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 413"},
      {"POST /v3/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n500\r\n" + std::string(0x500, 'x'),
       "HTTP/1.1 413"},
      {"POST /v3/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400"},
  };
  for (const auto& [sent, expected] : cases) {
    Stranger stranger(world);
    stranger.send(sent);
    stranger.until_closed();
    EXPECT_TRUE(stranger.received.starts_with(expected)) << sent.substr(0, 80) << "\n" << stranger.received;
  }
}

TEST_F(Http, GivesUpOnSlowRequests) {
  Stranger stranger(world);
  stranger.send("POST /v3/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo");
  stranger.until_closed();
  EXPECT_EQ(world.server().stats().timed_out, 1u);
}

// The rules are gate_test.cpp's; that they are asked, and what is said, is here.
TEST_F(Http, AsksWhoSendsARequest) {
  world.server().http(
      "/api/", [](const HttpRequest&, HttpReply reply) { reply.send(200, "text/plain", "done"); },
      Access::calls);
  world.server().called([](std::string_view name) { return name == "store.example"; });
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"/api/put", "Host: 127.0.0.1\r\nContent-Type: application/json\r\n", "200"},
      {"/api/put", "Host: store.example:80\r\nContent-Type: application/json\r\n", "200"},
      {"/api/put", "Host: evil.example\r\nContent-Type: application/json\r\n", "403"},
      {"/api/put", "Host: 127.0.0.1\r\nContent-Type: text/plain\r\n", "415"},
      {"/api/put", "Host: 127.0.0.1\r\nContent-Type: application/json\r\nOrigin: http://evil.example\r\n",
       "403"},
      {"/v3/put", "Host: evil.example\r\nOrigin: http://evil.example\r\n", "200"},
  };
  for (const auto& [path, headers, status] : cases) {
    Stranger stranger(world);
    stranger.send("POST " + path + " HTTP/1.1\r\n" + headers +
                  "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
    stranger.until_closed();
    EXPECT_TRUE(stranger.received.starts_with("HTTP/1.1 " + status)) << headers << stranger.received;
    EXPECT_EQ(status != "200", stranger.received.contains("{\"error\":\"")) << stranger.received;
  }
  const ServerStats stats = world.server().stats();
  EXPECT_EQ(stats.http_refused_host, 1u);
  EXPECT_EQ(stats.http_refused_type, 1u);
  EXPECT_EQ(stats.http_refused_origin, 1u);
}

// Half of a body is memory of somebody who may never send the rest, over HTTP/1.1 as over HTTP/2.
TEST_F(Http, CountsWhatIsHalfSent) {
  Stranger stranger(world);
  stranger.send("POST /v3/x HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + std::string(500, 'x'));
  world.until([&] { return world.server().stats().request_bytes >= 500; });
  stranger.socket().close();
  world.until([&] { return world.server().stats().request_bytes == 0; });
}

TEST_F(Http, TakesTheLongestRoute) {
  world.server().http("/",
                      [](const HttpRequest&, HttpReply reply) { reply.send(200, "text/plain", "page"); });
  for (const auto& [path, expected] :
       {std::pair{"/", "page"}, {"/index.html", "page"}, {"/a/b/c", "page"}, {"/v3/a/b", "GET /v3/a/b"}}) {
    Stranger stranger(world);
    stranger.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    stranger.until_received(expected);
  }
}

}  // namespace
}  // namespace conclave::rpc
