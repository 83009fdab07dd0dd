#include "rpc/client_connection.hpp"

#include <boost/asio/post.hpp>

#include "core/ensure.hpp"

namespace conclave::rpc {

namespace {

constexpr std::size_t output_ahead = 64 * 1024;
constexpr int pumps_per_turn = 4;

}  // namespace

ClientConnection::ClientConnection(ChannelCore& core, std::shared_ptr<Wire> wire, Address address)
    : core_(&core),
      wire_(std::move(wire)),
      address_(std::move(address)),
      session_(Session::Side::client, core.options.limits, *this) {}

ClientConnection::~ClientConnection() { wire_->close(); }

void ClientConnection::start() {
  wire_->start(*this);
  schedule_look();
  output_waits();
}

bool ClientConnection::send(ClientCall& call) {
  return session_.request(call, call.head(address_.tls, address_.text()));
}

void ClientConnection::received(std::string_view bytes) {
  const auto self = shared_from_this();
  heard_ = Clock::now();
  if (!works_) {
    works_ = true;
    core_->connection_works();
  }
  in_turn_ = true;
  const bool well = session_.receive(bytes);
  in_turn_ = false;
  if (closed_) return;
  if (!well) return lost("the server does not speak HTTP/2");
  pump();
}

void ClientConnection::pump() {
  const auto self = shared_from_this();
  for (int i = 0; i < pumps_per_turn && !wire_->busy() && !closed_; ++i) {
    in_turn_ = true;
    session_.produce(wire_->out(), output_ahead);
    in_turn_ = false;
    if (wire_->out().empty()) break;
    wire_->flush();
  }
  if (closed_) return;
  if (!wire_->busy())
    stalled_since_.reset();
  else if (!stalled_since_)
    stalled_since_ = Clock::now();
  if (session_.over() || (leaving_ && session_.streams() == 0)) return lost("the server said good-bye");
  if (!wire_->busy() && session_.wants_write()) output_waits();
}

void ClientConnection::output_waits() {
  if (in_turn_ || pump_scheduled_ || closed_) return;
  pump_scheduled_ = true;
  boost::asio::post(core_->loop, [self = shared_from_this()] {
    self->pump_scheduled_ = false;
    if (!self->closed_) self->pump();
  });
}

void ClientConnection::writable() { pump(); }

StreamPtr ClientConnection::open_stream() {
  ensure(false, "a server opens no streams: we disable push");
  return {};
}

void ClientConnection::goaway_received() {
  if (!closed_ && !leaving_) leave();
}

void ClientConnection::leave() {
  leaving_ = true;
  core_->connection_leaves(*this);
  output_waits();  // closes if nothing is under way
}

void ClientConnection::lost(std::string_view why) {
  const auto self = shared_from_this();
  if (closed_) return;
  ChannelCore& core = *core_;
  // The channel looks for another connection first: calls that are made because others failed go there.
  const std::shared_ptr<ChannelCore> alive = core.shared_from_this();
  closed_ = true;
  timer_.disarm();
  wire_->close();
  core.connection_lost(*this, std::string(why), works_);
  session_.abandon(NGHTTP2_INTERNAL_ERROR);
}

void ClientConnection::close() {
  const auto self = shared_from_this();
  if (closed_) return;
  closed_ = true;
  timer_.disarm();
  session_.abandon(NGHTTP2_INTERNAL_ERROR);
  wire_->close_when_written();
}

void ClientConnection::schedule_look() {
  const SessionLimits& limits = core_->options.limits;
  const auto shortest = std::min({limits.keepalive_interval, limits.keepalive_timeout, limits.stalled_after});
  core_->wheel.arm(timer_, shortest / 2);
}

void ClientConnection::look_around() {
  const SessionLimits& limits = core_->options.limits;
  const auto now = Clock::now();
  if (stalled_since_ && now - *stalled_since_ >= limits.stalled_after)
    return lost("the server reads nothing");
  if (ping_sent_ && now - *ping_sent_ >= limits.keepalive_timeout) return lost("the server is silent");
  if (!ping_sent_ && now - heard_ >= limits.keepalive_interval && session_.streams() > 0) {
    ping_sent_ = now;
    session_.ping();
  }
  schedule_look();
}

}  // namespace conclave::rpc
