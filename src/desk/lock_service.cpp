// etcd's Lock service. A lock lives as long as the lease it was taken with, or without one, as long as the
// connection it was taken by.
#include <fmt/format.h>

#include "desk/offer.hpp"

namespace conclave::desk {

void Desk::offer_locks() {
  offer<v3lockpb::LockRequest>(
      "/v3lockpb.Lock/Lock", "/v3/lock/lock",
      [this](const auto& request, const CallerPtr& caller) { lock(request, caller); });
  offer<v3lockpb::UnlockRequest>(
      "/v3lockpb.Lock/Unlock", "/v3/lock/unlock",
      [this](const auto& request, const CallerPtr& caller) { unlock(request, caller); });
}

void Desk::lock(const v3lockpb::LockRequest& request, const CallerPtr& caller) {
  if (elects_)
    return caller->refuse(
        {rpc::Code::unimplemented,
         fmt::format("the engine {} elects leaders and has no locks; engines with locks: {}", engine_,
                     fmt::join(options_.lock_engines, ", "))});
  stand_in_line(Kind::lock, request.name(), request.lease(), {}, caller);
}

// As with etcd, a key that is not there is unlocked already.
void Desk::unlock(const v3lockpb::UnlockRequest& request, const CallerPtr& caller) {
  lines_.end(place_of(Kind::lock, request.key()));
  v3lockpb::UnlockResponse response;
  fill(response.mutable_header());
  caller->answer(response);
}

}  // namespace conclave::desk
