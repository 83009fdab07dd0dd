// Calls that take and give messages of protobuf instead of bytes.
//
//   rpc::call<PutResponse>(channel, "/etcdserverpb.KV/Put", request, {.timeout = 5s},
//       [](std::expected<PutResponse, rpc::Failure> answer) { … });
#pragma once
#include <google/protobuf/message_lite.h>

#include "rpc/client.hpp"

namespace conclave::rpc {

struct Failure {
  Status status;
  bool may_have_run;  // see Answer
};

template <class Response>
ClientStream call(Channel& channel, std::string_view path, const google::protobuf::MessageLite& request,
                  const CallOptions& options,
                  std::move_only_function<void(std::expected<Response, Failure>)> done) {
  return channel.unary(path, request, options, [done = std::move(done)](const Answer& answer) mutable {
    if (!answer.status.ok()) return done(std::unexpected(Failure{answer.status, answer.may_have_run}));
    Response response;
    if (!response.ParseFromArray(answer.message.data(), static_cast<int>(answer.message.size())))
      return done(std::unexpected(Failure{{Code::internal, "the answer cannot be read"}, true}));
    done(std::move(response));
  });
}

// What a stream of responses tells: each message, valid during the call, and once how it ended.
template <class Response>
struct Responses {
  std::move_only_function<void(const Response&)> message = {};
  std::move_only_function<void(const Answer&)> closed = {};
};

template <class Response>
ClientStream open_stream(Channel& channel, std::string_view path, const CallOptions& options,
                         Responses<Response> events) {
  const auto self =
      std::make_shared<ClientStream>();  // forgotten when the call is over, as the callbacks are
  *self = channel.stream(
      path, options,
      {.message =
           [self, then = std::move(events.message), response = Response()](std::string_view bytes) mutable {
             if (!response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
               return self->fail({Code::internal, "a message of the stream cannot be read"});
             if (then) then(response);
           },
       .closed = std::move(events.closed)});
  return *self;
}

}  // namespace conclave::rpc
