#include "rpc/client_connection.hpp"

#include "core/ensure.hpp"

namespace conclave::rpc {

ClientConnection::ClientConnection(ChannelCore& core, std::shared_ptr<Wire> wire, Address address)
    : core_(core),
      address_(std::move(address)),
      http2_(std::make_shared<Http2Connection>(core.loop, core.wheel, std::move(wire), Session::Side::client,
                                               core.options.limits, *this)) {}

bool ClientConnection::send(ClientCall& call) {
  return http2_->session().request(call, call.head(address_.tls, address_.text()));
}

StreamPtr ClientConnection::open_stream() {
  ensure(false, "a server opens no streams: we disable push");
  return {};
}

void ClientConnection::moved(std::size_t received, std::size_t) {
  if (works_ || received == 0) return;
  works_ = true;
  core_.connection_works();
}

void ClientConnection::goaway_received() {
  if (!closed_ && !leaving_) leave();
}

void ClientConnection::leave() {
  leaving_ = true;
  core_.connection_leaves(*this);
  http2_->end_when_idle();
}

void ClientConnection::over(Http2Connection::End, const std::string& why) {
  const auto self = shared_from_this();
  const auto channel = core_.shared_from_this();
  closed_ = true;
  // The channel looks for another connection first: calls that are made because others failed go there.
  core_.connection_lost(*this, why, works_);
  http2_->session().abandon(NGHTTP2_INTERNAL_ERROR);
}

void ClientConnection::close() {
  const auto self = shared_from_this();
  if (closed_) return;
  closed_ = true;
  http2_->close(true);
  http2_->session().abandon(NGHTTP2_INTERNAL_ERROR);
}

}  // namespace conclave::rpc
