// Calls to gRPC servers, ours or others', from the caller's loop.
//
//   auto channel = rpc::Channel::open(loop, {.endpoints = {"127.0.0.1:2379", "127.0.0.1:3379"}});
//   if (!channel) return complain(channel.error());
//   (*channel)->unary("/etcdserverpb.KV/Put", bytes, {.timeout = 5s}, [](const rpc::Answer& answer) { … });
//
// rpc/typed_client.hpp has the same with messages of protobuf. Everything happens on the loop, which one
// thread runs; callbacks never come from inside the call that registers them.
//
// A channel talks to one endpoint at a time. When the connection is lost, or the server says that it goes
// away, the next endpoint is tried; after all of them failed it waits, longer each time and never exactly as
// long as others do. Calls made meanwhile wait for the outcome of one round.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/limits.hpp"
#include "rpc/metadata.hpp"
#include "rpc/status.hpp"
#include "rpc/tls.hpp"

namespace google::protobuf {
class MessageLite;
}

namespace conclave::rpc {

class ClientCall;
struct ChannelCore;

struct ChannelOptions {
  std::vector<std::string> endpoints = {};  // "host:port", or with http:// or https://
  TlsFiles tls = {};                        // for endpoints with https://
  Metadata metadata = {};                   // with every call
  std::string user_agent = "conclave";
  std::chrono::milliseconds connect_timeout{2'000};  // for each endpoint
  std::chrono::milliseconds first_wait{50};          // after all endpoints failed; doubles
  std::chrono::milliseconds longest_wait{3'000};
  SessionLimits limits = {.message_bytes = 64 * 1024 * 1024, .half_received_bytes = 256 * 1024 * 1024};
};

struct CallOptions {
  std::optional<std::chrono::nanoseconds> timeout = {};  // none: as long as it takes
  Metadata metadata = {};
  // Waits for a connection until the time-out, where otherwise one failed round over all endpoints is enough.
  bool wait_for_ready = false;
};

// How a call ended. Valid during the callback.
struct Answer {
  const Status& status;
  std::string_view message;  // of a unary call, if the status is OK
  const Metadata& headers;   // what the server sent before and after the messages
  const Metadata& trailers;
  // False if no server can have acted on the call: then it may be made again whatever it does.
  bool may_have_run;
};

// One call under way. A handle: dropping it does not cancel the call.
class ClientStream {
 public:
  ClientStream() = default;
  explicit ClientStream(ClientCall* call);
  ClientStream(const ClientStream& other);
  ClientStream(ClientStream&& other) noexcept;
  ClientStream& operator=(ClientStream other) noexcept;
  ~ClientStream();
  explicit operator bool() const { return call_ != nullptr; }

  bool send(std::string_view message);  // false: the call is over
  bool send(const google::protobuf::MessageLite& message);
  void half_close();  // nothing more will be sent
  // Ends the call; `closed` is told CANCELLED, on the next turn of the loop.
  void cancel();
  void fail(Status status);  // the same, and `closed` is told this
  bool over() const;

  bool congested() const;
  void on_writable(std::move_only_function<void()> then);
  void pause();
  void resume();

 private:
  ClientCall* call_ = nullptr;
};

struct StreamEvents {
  std::move_only_function<void(std::string_view)> message = {};
  std::move_only_function<void(const Answer&)> closed = {};  // once, and nothing after it
};

class Channel {
 public:
  static std::expected<std::unique_ptr<Channel>, std::string> open(boost::asio::io_context& loop,
                                                                   const ChannelOptions& options);
  ~Channel();  // as `close`
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  using Done = std::move_only_function<void(const Answer&)>;
  ClientStream unary(std::string_view path, std::string_view request, const CallOptions& options, Done done);
  ClientStream unary(std::string_view path, const google::protobuf::MessageLite& request,
                     const CallOptions& options, Done done);
  ClientStream stream(std::string_view path, const CallOptions& options, StreamEvents events);

  // Sent with every later call in place of what the options said: tokens change.
  void set_metadata(Metadata metadata);
  // Leaves the present endpoint for the next; calls under way finish where they are.
  void next_endpoint();
  // Where the channel is connected to; empty: nowhere.
  std::string endpoint() const;
  // Told of every connection that stands, and of every one that is lost or could not be made (with the
  // reason).
  void on_connection(std::function<void(const std::string& endpoint, const Status&)> then);
  // All calls end as CANCELLED, and nothing can be called any more.
  void close();

 private:
  explicit Channel(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {}
  std::shared_ptr<ChannelCore> core_;
};

}  // namespace conclave::rpc
