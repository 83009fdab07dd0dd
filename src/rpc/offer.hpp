// How a call of etcd's API is put on offer: one handler, reached by gRPC and by the JSON gateway.
#pragma once
#include <google/protobuf/message.h>

#include "rpc/caller.hpp"
#include "rpc/typed_server.hpp"

namespace conclave::rpc {

// The version of etcd whose API this is. Clients take every part for a number.
inline constexpr std::string_view etcd_version = "3.5.0";

CallerPtr grpc_caller(Call call);

// As etcd's gateway writes it.
std::string in_json(const google::protobuf::Message& message);

// Reads the body into `request`; the caller to answer, or nothing if it was refused already.
CallerPtr json_caller(const HttpRequest& http, const HttpReply& reply, bool many,
                      google::protobuf::Message& request);

// One call; without a path for JSON, by gRPC only. `many`: the answer is a list of them.
template <class Request, class Handler>
void offer(Server& server, const std::string& grpc_path, const std::string& json_path, Handler handler,
           bool many = false, Access access = Access::calls) {
  server.unary(grpc_path, [handler](Call call, std::string_view bytes) {
    Request request;
    if (!typed::parse(request, bytes)) return call.finish(unreadable);
    handler(std::as_const(request), grpc_caller(std::move(call)));
  });
  if (json_path.empty()) return;
  server.http(
      json_path,
      [handler, many](const HttpRequest& http, const HttpReply& reply) {
        Request request;
        if (const CallerPtr caller = json_caller(http, reply, many, request))
          handler(std::as_const(request), caller);
      },
      access);
}

}  // namespace conclave::rpc
