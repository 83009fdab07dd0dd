// How a call is put on offer: one handler, reached by gRPC and by the JSON gateway.
#pragma once
#include <google/protobuf/message.h>

#include "desk/caller.hpp"
#include "desk/desk.hpp"
#include "rpc/typed_server.hpp"

namespace conclave::desk {

inline const rpc::Status server_stopped = {rpc::Code::unavailable, "etcdserver: server stopped"};

CallerPtr grpc_caller(rpc::Call call);

// Reads the body into `request`; the caller to answer, or nothing if it was refused already.
CallerPtr json_caller(const rpc::HttpRequest& http, const rpc::HttpReply& reply, bool many,
                      google::protobuf::Message& request);

template <class Request, class Handler>
void Desk::offer(const std::string& grpc_path, const std::string& json_path, Handler handler, bool many) {
  server_.unary(grpc_path, [this, handler](rpc::Call call, std::string_view bytes) {
    Request request;
    if (closed_) return call.finish(server_stopped);
    if (!rpc::typed::parse(request, bytes)) return call.finish(rpc::unreadable);
    handler(std::as_const(request), grpc_caller(std::move(call)));
  });
  if (json_path.empty()) return;
  server_.http(json_path, [this, handler, many](const rpc::HttpRequest& http, const rpc::HttpReply& reply) {
    Request request;
    const CallerPtr caller = json_caller(http, reply, many, request);
    if (!caller) return;
    if (closed_) return caller->refuse(server_stopped);
    handler(std::as_const(request), caller);
  });
}

}  // namespace conclave::desk
