// Whatever bytes come over a connection, the front desk's transport answers or closes, and keeps its bounds.
// The first byte chooses who reads (S: a server's HTTP/2, C: a client's, H: HTTP/1.1, F: gRPC's framing, Q:
// the fields of a request's head, T: texts in headers), the second into which pieces the rest is cut.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "rpc/address.hpp"
#include "rpc/channel_core.hpp"
#include "rpc/framing.hpp"
#include "rpc/http1.hpp"
#include "rpc/request_head.hpp"
#include "rpc/server_call.hpp"
#include "rpc/timeout_header.hpp"

namespace {

using namespace conclave::rpc;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

// Hands the bytes on in pieces of that size; 0: all at once.
void in_pieces(std::string_view bytes, std::size_t size, const std::function<bool(std::string_view)>& take) {
  if (size == 0) size = bytes.size();
  while (!bytes.empty() && take(bytes.substr(0, size))) bytes.remove_prefix(std::min(size, bytes.size()));
}

const SessionLimits small = {.message_bytes = 1000,
                             .concurrent_streams = 20,
                             .header_list_bytes = 1000,
                             .half_received_bytes = 5000,
                             .stream_output_bytes = 2000,
                             .connection_output_bytes = 20'000};

// ---- HTTP/2

// What connections share is made once: it outlives them in a member too.
boost::asio::io_context& one_loop() {
  static boost::asio::io_context loop{1};
  return loop;
}

// Calls of all kinds: answered at once, kept, streams that echo, pause and break off.
struct FuzzedServer final : Session::Owner {
  const std::shared_ptr<ServerCore>& core = everybodys_core();
  boost::intrusive_ptr<CountedPeer> peer{new CountedPeer};
  Session session{Session::Side::server, small, *this};
  std::vector<Call> kept;
  std::vector<HttpReply> replies;

  FuzzedServer() { present() = this; }
  ~FuzzedServer() { present() = nullptr; }
  StreamPtr open_stream() override {
    auto call = core->pool->take();
    call->open(*core, peer);
    return call;
  }
  void output_waits() override {}
  void goaway_received() override {}
  void pong_received() override {}

 private:
  static FuzzedServer*& present() {
    static FuzzedServer* server = nullptr;
    return server;
  }
  static const std::shared_ptr<ServerCore>& everybodys_core() {
    static const std::shared_ptr<ServerCore> core = make_core();
    return core;
  }
  static std::shared_ptr<ServerCore> make_core() {
    auto core = std::make_shared<ServerCore>(one_loop(), ServerLimits{.session = small});
    core->methods["/u"] = {.unary = [](Call call, std::string_view bytes) { call.reply(bytes); }};
    core->methods["/k"] = {
        .unary = [](Call call, std::string_view) { present()->kept.push_back(std::move(call)); }};
    core->methods["/s"] = {.stream = [](Call call) {
      call.begin();
      call.on_message([call](std::string_view bytes) mutable {
        call.send(bytes);
        if (bytes.starts_with('e')) call.finish({Code::aborted, std::string(bytes)});
      });
      call.on_half_close([call]() mutable { call.finish({}); });
    }};
    core->methods["/p"] = {.stream = [](Call call) {
      call.on_message([call](std::string_view) mutable { call.pause(); });
      present()->kept.push_back(std::move(call));
    }};
    const auto answer = [](const HttpRequest& request, HttpReply reply) {
      if (request.body.empty()) return reply.send(200, "text/plain", request.path);
      reply.begin(200, {});
      reply.write(request.body);
      present()->replies.push_back(std::move(reply));
    };
    core->routes["/"] = {.handler = answer, .access = Access::anybody};
    core->routes["/v3"] = {.handler = answer, .access = Access::calls};
    return core;
  }
};

void feed_server(std::string_view bytes, std::size_t piece) {
  FuzzedServer server;
  std::string out;
  server.session.receive({NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN}, {});
  in_pieces(bytes, piece, [&](std::string_view some) {
    const bool well = server.session.receive(some, {});
    server.session.produce(out, out.size() + 4096);
    require(server.session.half_received() <= small.half_received_bytes + small.message_bytes + 5,
            "half messages are counted");
    require(server.session.pending_output() <= small.connection_output_bytes + 2 * small.message_bytes,
            "output is counted");
    for (Call& call : server.kept) call.resume();
    return well && !server.session.over();
  });
  for (Call& call : server.kept) call.reply("late");
  for (HttpReply& reply : server.replies) reply.end();
  server.session.produce(out, out.size() + 65536);
}

struct FuzzedClient final : Session::Owner {
  const std::shared_ptr<ChannelCore>& core = everybodys_core();
  Session session{Session::Side::client, small, *this};

  StreamPtr open_stream() override {
    require(false, "servers open no streams");
    return {};
  }
  void output_waits() override {}
  void goaway_received() override {}
  void pong_received() override {}

 private:
  static const std::shared_ptr<ChannelCore>& everybodys_core() {
    static const std::shared_ptr<ChannelCore> core = [] {
      auto made = std::make_shared<ChannelCore>(
          one_loop(), ChannelOptions{.endpoints = {"127.0.0.1:1"}, .limits = small});
      made->closed = true;  // refused calls are not made again: there is nowhere to go
      return made;
    }();
    return core;
  }
};

void feed_client(std::string_view bytes, std::size_t piece) {
  FuzzedClient client;
  int ended = 0;
  for (int i = 0; i < 4; ++i) {
    const ClientCallPtr call(
        new ClientCall(client.core, "/u", {}, i % 2 == 0,
                       {.message = [](std::string_view) {}, .closed = [&](const Answer&) { ++ended; }}));
    call->send("request");
    if (i % 2 == 0) call->half_close();
    client.session.request(*call, call->head(false, "x"));
  }
  std::string out;
  client.session.produce(out, 65536);
  in_pieces(bytes, piece, [&](std::string_view some) {
    const bool well = client.session.receive(some, {});
    client.session.produce(out, out.size() + 4096);
    return well && !client.session.over();
  });
  client.session.abandon(NGHTTP2_INTERNAL_ERROR);
  require(ended == 4, "every call ends once");
}

// ---- HTTP/1.1

struct FuzzedHttp1 final : Http1::Owner {
  Peer peer;
  Http1 http{small, peer, *this};
  std::vector<HttpReply> kept;
  std::size_t written = 0;
  bool closed = false;

  void http_request(const HttpRequest& request, HttpReply reply) override {
    require(request.body.size() <= small.message_bytes, "bodies are bounded");
    if (request.path == "/k") return kept.push_back(std::move(reply));
    reply.send(200, "text/plain", request.body);
  }
  void http_write(std::string_view bytes) override { written += bytes.size(); }
  std::size_t http_pending() const override { return 0; }
  std::size_t http_room() const override { return small.connection_output_bytes; }
  void http_wait_for_room() override {}
  void http_expects(bool) override {}
  void http_close() override { closed = true; }
};

void feed_http1(std::string_view bytes, std::size_t piece) {
  FuzzedHttp1 server;
  in_pieces(bytes, piece, [&](std::string_view some) {
    server.http.receive(some);
    auto replies = std::exchange(server.kept, {});
    for (HttpReply& reply : replies) {
      reply.begin(200, {});
      reply.write("piece");
      reply.end();
    }
    return !server.closed;
  });
}

// ---- framing and texts

std::string read_messages(std::string_view bytes, std::size_t piece) {
  FrameReader reader(1000);
  std::string all;
  in_pieces(bytes, piece, [&](std::string_view some) {
    while (true) {
      const auto next = reader.next(some);
      if (!next) {
        all += next.error() == FrameError::compressed ? "compressed" : "too large";
        return false;
      }
      if (!*next) return true;
      all += "[" + std::string(**next) + "]";
    }
  });
  require(reader.kept() <= 1005, "no more is kept than one message");
  return all;
}

// Lines of a name, a tab and a value.
void read_head(std::string_view lines) {
  constexpr std::size_t most = 500;
  RequestHead head;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::string_view name = line.substr(0, line.find('\t'));
    head.add(name, line.substr(std::min(line.size(), name.size() + 1)), most);
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  head.complete();
  require(head.fields().list_bytes() <= most, "no more is kept than the limit");
  if (head.malformed() || head.too_large()) return;
  require(!head.method().empty() && head.path().starts_with('/'), "a whole head says what is asked for");
  bool regular = false;
  for (std::size_t i = 0; i < head.fields().size(); ++i) {
    const bool pseudo = head.fields()[i].first.starts_with(':');
    require(!pseudo || !regular, "what HTTP/2 adds comes first");
    regular = regular || !pseudo;
  }
}

void read_texts(std::string_view text) {
  if (const auto timeout = parse_timeout(text)) {
    const auto again = parse_timeout(format_timeout(*timeout));
    require(again && *again >= *timeout, "a time-out that was written is no shorter");
  }
  require(decode_message(encode_message(text)) == text, "a message that was written reads the same");
  decode_message(text);
  parse_code(text);
  if (const auto address = parse_address(text)) {
    const auto again = parse_address((address->tls ? "https://" : "") + address->text());
    require(again == address, "an address that was written reads the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = data[1] - (data[1] >= '0' ? '0' : 0u);
  switch (data[0]) {
    case 'S': feed_server(bytes, piece); break;
    case 'C': feed_client(bytes, piece); break;
    case 'H': feed_http1(bytes, piece); break;
    case 'F': require(read_messages(bytes, piece) == read_messages(bytes, 0), "cuts change nothing"); break;
    case 'Q': read_head(bytes); break;
    case 'T': read_texts(bytes); break;
    default: break;
  }
  return 0;
}
