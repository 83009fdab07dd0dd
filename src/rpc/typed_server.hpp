// Handlers that take and give messages of protobuf instead of bytes.
//
//   rpc::serve_unary<PutRequest, PutResponse>(server, "/etcdserverpb.KV/Put",
//       [&](const PutRequest& request, rpc::Reply<PutResponse> reply) { … reply.send(response); });
//   rpc::serve_stream<WatchRequest, WatchResponse>(server, "/etcdserverpb.Watch/Watch",
//       [&](rpc::ServerStream<WatchRequest, WatchResponse> stream) { stream.on_message(…); });
#pragma once
#include <google/protobuf/arena.h>

#include <array>

#include "rpc/server.hpp"

namespace conclave::rpc {

inline const Status unreadable = {Code::internal, "the message cannot be read"};

namespace typed {

// Requests are read into memory that is used again for the next one.
class RequestArena {
 public:
  google::protobuf::Arena* get() { return &arena_; }
  void reset() { arena_.Reset(); }

 private:
  static google::protobuf::ArenaOptions options(char* block, std::size_t size) {
    google::protobuf::ArenaOptions result;
    result.initial_block = block;
    result.initial_block_size = size;
    return result;
  }
  std::array<char, 16 * 1024> block_ = {};
  google::protobuf::Arena arena_{options(block_.data(), block_.size())};
};

template <class Request>
bool parse(Request& request, std::string_view bytes) {
  return request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace typed

// The answer to a unary call, now or later; or a refusal.
template <class Response>
class Reply {
 public:
  Reply(Call call, google::protobuf::Arena* arena) : call_(std::move(call)), arena_(arena) {}

  // A response for a handler that answers at once: it costs no allocation, and is gone when the handler
  // returns.
  Response& fresh() const { return *google::protobuf::Arena::CreateMessage<Response>(arena_); }

  void send(const Response& response) { call_.reply(response); }
  void fail(Status status) { call_.finish(std::move(status)); }
  Call& call() { return call_; }
  const Call& call() const { return call_; }

 private:
  Call call_;
  google::protobuf::Arena* arena_;
};

// A stream in both directions.
template <class Request, class Response>
class ServerStream {
 public:
  explicit ServerStream(Call call) : call_(std::move(call)) {}

  void on_message(std::move_only_function<void(const Request&)> then) {
    call_.on_message(
        [then = std::move(then), call = call_, request = Request()](std::string_view bytes) mutable {
          if (!typed::parse(request, bytes)) return call.finish(unreadable);
          then(request);
        });
  }
  bool send(const Response& response) { return call_.send(response); }
  void finish(Status status) { call_.finish(std::move(status)); }
  Call& call() { return call_; }  // for the rest: half_close, cancel, back-pressure, metadata
  const Call& call() const { return call_; }

 private:
  Call call_;
};

// The request is valid until the handler returns.
template <class Request, class Response, class Handler>
void serve_unary(Server& server, std::string path, Handler handler) {
  server.unary(std::move(path),
               [handler = std::move(handler), arena = std::make_shared<typed::RequestArena>()](
                   Call call, std::string_view bytes) {
                 auto& request = *google::protobuf::Arena::CreateMessage<Request>(arena->get());
                 if (typed::parse(request, bytes))
                   handler(std::as_const(request), Reply<Response>(std::move(call), arena->get()));
                 else
                   call.finish(unreadable);
                 arena->reset();
               });
}

template <class Request, class Response, class Handler>
void serve_stream(Server& server, std::string path, Handler handler) {
  server.stream(std::move(path), [handler = std::move(handler)](Call call) {
    handler(ServerStream<Request, Response>(std::move(call)));
  });
}

// One request, many responses.
template <class Request, class Response, class Handler>
void serve_answers(Server& server, std::string path, Handler handler) {
  server.unary(std::move(path), [handler = std::move(handler)](Call call, std::string_view bytes) {
    Request request;
    if (!typed::parse(request, bytes)) return call.finish(unreadable);
    handler(std::as_const(request), ServerStream<Request, Response>(std::move(call)));
  });
}

}  // namespace conclave::rpc
