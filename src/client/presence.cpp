#include "client/presence.hpp"

namespace conclave {

// The stream may have been opened on a connection that was about to be left, and the lock taken on the next
// one: so the loss of any connection counts as well.
void Presence::start() {
  stream_ = client_.channel().stream(
      "/etcdserverpb.Lease/LeaseKeepAlive", {.wait_for_ready = true},
      {.message = {}, .closed = [self = shared_from_this()](const rpc::Answer&) { self->lose(); }});
  on_loss_ = std::make_shared<std::function<void()>>([self = weak_from_this()] {
    if (const auto presence = self.lock()) presence->lose();
  });
  client_.on_loss(on_loss_);
}

void Presence::stop() {
  on_loss_.reset();
  if (stream_) std::exchange(stream_, {}).cancel();
}

void Presence::lose() {
  stop();
  lost_.request_stop();
}

}  // namespace conclave
