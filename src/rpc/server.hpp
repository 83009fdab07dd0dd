// A server for gRPC and plain HTTP on one port, run by the caller's loop.
//
//   boost::asio::io_context loop(1);
//   rpc::Server server(loop);
//   server.unary("/etcdserverpb.KV/Put", [](rpc::Call call, std::string_view request) { … call.reply(answer);
//   }); server.stream("/etcdserverpb.Watch/Watch", [](rpc::Call call) { call.on_message(…); });
//   server.http("/health", [](const rpc::HttpRequest&, rpc::HttpReply reply) { reply.send(200, …); });
//   auto port = server.listen("127.0.0.1:2379");
//   loop.run();
//
// rpc/typed_server.hpp has the same with messages of protobuf instead of bytes. One thread runs the loop;
// handlers are called on it, and everything here is to be called on it (or before it runs).
#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/call.hpp"
#include "rpc/gate.hpp"
#include "rpc/http.hpp"
#include "rpc/limits.hpp"
#include "rpc/tls.hpp"

namespace conclave::rpc {

struct ServerCore;

// Counted from the start; for /metrics.
struct ServerStats {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;  // there were too many
  std::uint64_t connections_yielded = 0;  // idle ones, ended for newcomers of other addresses
  std::uint64_t connections_open = 0;
  std::uint64_t connections_limit = 0;
  std::uint64_t handshakes_open = 0;   // of TLS
  std::uint64_t handshakes_ended = 0;  // the oldest, because there were too many
  std::uint64_t calls_started = 0;
  std::uint64_t calls_open = 0;
  std::uint64_t calls_refused_streams = 0;  // too many at once on a connection
  std::uint64_t calls_refused_memory = 0;   // the memory for clients was used up
  std::uint64_t answers_not_taken = 0;      // large ones, of which a client took next to nothing
  std::uint64_t ended_memory = 0;           // connections that had most of it then
  std::uint64_t ended_resets = 0;           // connections whose address cancelled too many calls
  std::uint64_t calls_cancelled = 0;        // by clients, lost connections and deadlines
  std::uint64_t http_requests = 0;
  std::uint64_t http_refused_host = 0;    // called by a name that is not ours
  std::uint64_t http_refused_origin = 0;  // from a page of somebody else
  std::uint64_t http_refused_type = 0;    // a body that does not say that it is JSON
  std::uint64_t bad_requests = 0;         // heads and frames that no client should send
  std::uint64_t timed_out = 0;            // connections: silent, stalled, or without a preface
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  // Memory for clients, now.
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t stream_bytes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t watcher_bytes = 0;
  std::uint64_t connection_bytes = 0;
  std::uint64_t memory_limit = 0;
};

class Server {
 public:
  explicit Server(boost::asio::io_context& loop, const ServerLimits& limits = {});
  ~Server();  // whoever is connected is cut off; `shutdown` is politer
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  using UnaryHandler = std::function<void(Call, std::string_view request)>;
  using StreamHandler = std::function<void(Call)>;

  // `path` is "/package.Service/Method". A unary handler is called with the one message there is; a stream
  // handler when the call begins, and says there what it wants to hear.
  void unary(std::string path, UnaryHandler handler);
  void stream(std::string path, StreamHandler handler);
  // A path that ends in '/' stands for everything below it; the longest that fits counts.
  void http(std::string path, HttpHandler handler, Access access = Access::anybody);
  // By which names clients call this server, beyond addresses, `localhost`, the machine's own name and the
  // names in its certificates.
  void called(std::function<bool(std::string_view name)> is_ours);

  // Asked before every gRPC call; what is not OK is the answer. For tokens, leaders, versions.
  void before_each(std::function<Status(const Call&)> check);
  // The answer to paths that nobody registered; otherwise UNIMPLEMENTED.
  void unknown(std::function<Status(std::string_view path)> answer);
  // A connection is gone, after the calls on it were cancelled.
  void on_disconnect(std::function<void(ConnectionId)> then);
  // Ends a connection and the calls on it, on the next turn of the loop: for who must learn at once that what
  // lived with the connection is gone.
  void disconnect(ConnectionId connection);

  // "host:port", "[::1]:port"; port 0 takes a free one. The port listened on, or one sentence. May be called
  // for several addresses.
  std::expected<std::uint16_t, std::string> listen(const std::string& address, TlsPtr tls = {});

  // Takes no new connections or calls, lets those under way finish, at most for `grace`; then ends them as
  // UNAVAILABLE and closes. `done` is called when the last connection is gone.
  void shutdown(std::chrono::milliseconds grace, std::move_only_function<void()> done);

  ServerStats stats() const;
  boost::asio::io_context& loop() const;

 private:
  std::shared_ptr<ServerCore> core_;
};

}  // namespace conclave::rpc
