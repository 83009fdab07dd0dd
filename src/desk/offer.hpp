// How the desk puts a call on offer: as everybody does, and until it is closed.
#pragma once
#include "desk/desk.hpp"
#include "rpc/offer.hpp"

namespace conclave::desk {

inline const rpc::Status server_stopped = {rpc::Code::unavailable, "etcdserver: server stopped"};

template <class Request, class Handler>
void Desk::offer(const std::string& grpc_path, const std::string& json_path, Handler handler, bool many) {
  rpc::offer<Request>(
      server_, grpc_path, json_path,
      [this, handler](const Request& request, const CallerPtr& caller) {
        if (closed_) return caller->refuse(server_stopped);
        handler(request, caller);
      },
      many);
}

}  // namespace conclave::desk
