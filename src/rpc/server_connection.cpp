#include "rpc/server_connection.hpp"

#include <boost/asio/post.hpp>

namespace conclave::rpc {

namespace {

namespace asio = boost::asio;

constexpr std::string_view preface(NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);

// What is turned into frames ahead of the socket. Little, so that a small answer overtakes a large one; and
// as often in a row before others get their turn.
constexpr std::size_t output_ahead = 64 * 1024;
constexpr int pumps_per_turn = 4;

}  // namespace

ServerConnection::ServerConnection(ServerCore& core, ConnectionId id, asio::ip::tcp::socket socket,
                                   const TlsPtr& tls)
    : core_(core), peer_(new CountedPeer), wire_(std::make_shared<Wire>(std::move(socket), tls)) {
  peer_->connection = id;
  peer_->address = wire_->peer_address();
}

ServerConnection::~ServerConnection() { wire_->close(); }

void ServerConnection::start() {
  core_.wheel.arm(timer_, core_.limits.preface_timeout);
  wire_->accept([self = shared_from_this()](const boost::system::error_code& error) {
    if (self->closed_) return;
    if (error) {
      ++self->core_.stats.bad_requests;
      return self->lost(error.message());
    }
    self->peer_->certificate_name = self->wire_->peer_certificate_name();
    if (self->wire_->protocol() == "h2") self->speak_http2({});
    if (self->wire_->protocol() == "http/1.1") self->speak_http1({});
    if (!self->closed_) self->wire_->start(*self);
  });
}

// ---- bytes

void ServerConnection::received(std::string_view bytes) {
  const auto self = shared_from_this();
  core_.stats.bytes_received += bytes.size();
  received_ += bytes.size();
  heard_ = Clock::now();
  if (session_)
    take_http2(bytes);
  else if (http1_)
    http1_->receive(bytes);
  else
    sniff(bytes);
  if (closed_) return;
  if (session_ && !looking_ && received_ >= preface.size()) {
    looking_ = true;
    schedule_look();
  }
  regulate_reading();
}

// The preface of HTTP/2 may come in pieces; the first byte that is not of it decides.
void ServerConnection::sniff(std::string_view bytes) {
  sniffed_.append(bytes);
  const std::size_t seen = std::min(sniffed_.size(), preface.size());
  const std::string first = sniffed_;
  if (sniffed_.compare(0, seen, preface, 0, seen) != 0) return speak_http1(first);
  if (seen == preface.size()) speak_http2(first);
}

void ServerConnection::speak_http2(std::string_view bytes) {
  session_ = std::make_unique<Session>(Session::Side::server, core_.limits.session, *this);
  if (winding_down_) session_->refuse_new_streams();
  take_http2(bytes);
}

void ServerConnection::speak_http1(std::string_view bytes) {
  http1_ = std::make_unique<Http1>(core_.limits.session, *peer_, *this);
  if (!bytes.empty()) http1_->receive(bytes);
}

void ServerConnection::take_http2(std::string_view bytes) {
  in_turn_ = true;
  const bool well = session_->receive(bytes);
  in_turn_ = false;
  if (!well) ++core_.stats.bad_requests;
  pump();
}

void ServerConnection::pump() {
  if (closed_) return;
  for (int i = 0; i < pumps_per_turn && !wire_->busy(); ++i) {
    in_turn_ = true;
    session_->produce(wire_->out(), output_ahead);
    in_turn_ = false;
    if (wire_->out().empty()) break;
    core_.stats.bytes_sent += wire_->out().size();
    wire_->flush();
    if (closed_) return;
  }
  note_progress();
  if (session_->over() || (winding_down_ && session_->streams() == 0 && !session_->wants_write()))
    return close();
  if (!wire_->busy() && session_->wants_write()) output_waits();
}

// One write for everything that is answered in one turn of the loop.
void ServerConnection::output_waits() {
  if (in_turn_ || pump_scheduled_ || closed_) return;
  pump_scheduled_ = true;
  asio::post(core_.loop, [self = shared_from_this()] {
    self->pump_scheduled_ = false;
    if (self->closed_) return;
    self->pump();
    if (!self->closed_) self->regulate_reading();
  });
}

void ServerConnection::writable() {
  const auto self = shared_from_this();
  note_progress();
  if (session_) pump();
  if (!closed_ && http1_ && wire_->pending() * 4 <= core_.limits.session.stream_output_bytes)
    http1_->drained();
  if (!closed_) regulate_reading();
}

void ServerConnection::note_progress() {
  if (!wire_->busy())
    stalled_since_.reset();
  else if (!stalled_since_)
    stalled_since_ = Clock::now();
}

// Who does not take its answers may not ask for more. Only a socket that is full counts: where flow control
// holds the output back, what we read next may be the permission to go on.
void ServerConnection::regulate_reading() {
  const std::size_t pending = wire_->pending() + (session_ ? session_->pending_output() : 0);
  const bool full = wire_->busy() && pending > core_.limits.session.connection_output_bytes;
  const bool pause = full || (http1_ && !http1_->wants_more());
  if (pause == reading_paused_) return;
  reading_paused_ = pause;
  if (pause)
    wire_->pause_reading();
  else
    wire_->resume_reading();
}

void ServerConnection::lost(std::string_view) {
  const auto self = shared_from_this();
  if (closed_) return;
  closed_ = true;
  timer_.disarm();
  wire_->close();
  if (session_) session_->abandon(NGHTTP2_INTERNAL_ERROR);
  if (http1_) http1_->lost();
  core_.forget(peer_->connection);
}

void ServerConnection::close() {
  const auto self = shared_from_this();
  if (closed_) return;
  closed_ = true;
  timer_.disarm();
  wire_->close_when_written();
  if (session_) session_->abandon(NGHTTP2_INTERNAL_ERROR);
  if (http1_) http1_->lost();
  core_.forget(peer_->connection);
}

// ---- HTTP/2

StreamPtr ServerConnection::open_stream() {
  auto call = core_.pool->take();
  call->open(core_, peer_);
  return call;
}

// ---- HTTP/1.1

void ServerConnection::http_request(const HttpRequest& request, HttpReply reply) {
  ++core_.stats.http_requests;
  request_due_.reset();  // the handler may take its time
  wait_for_http1();
  core_.answer_http(request, std::move(reply));
}

void ServerConnection::http_write(std::string_view bytes) {
  if (closed_) return;
  core_.stats.bytes_sent += bytes.size();
  wire_->out().append(bytes);
  wire_->flush();
  if (closed_) return;
  note_progress();
  if (wire_->busy()) wait_for_http1();
}

void ServerConnection::http_expects(bool request_under_way) {
  if (winding_down_ && !request_under_way) return close();
  request_due_ =
      Clock::now() + (request_under_way ? core_.limits.request_timeout : core_.limits.idle_timeout);
  wait_for_http1();
}

void ServerConnection::http_close() { close(); }

// ---- time

void ServerConnection::schedule_look() {
  const SessionLimits& limits = core_.limits.session;
  const auto shortest = std::min({limits.keepalive_interval, limits.keepalive_timeout, limits.stalled_after});
  core_.wheel.arm(timer_, shortest / 2);
}

void ServerConnection::look_around() {
  const auto self = shared_from_this();
  if (looking_) return look_at_http2();
  if (http1_) return look_at_http1();
  give_up();
}

void ServerConnection::wait_for_http1() {
  auto due = request_due_.value_or(Clock::time_point::max());
  if (stalled_since_) due = std::min(due, *stalled_since_ + core_.limits.session.stalled_after);
  if (due == Clock::time_point::max())
    timer_.disarm();
  else
    core_.wheel.arm(timer_, due);
}

void ServerConnection::look_at_http1() {
  const auto now = Clock::now();
  if (request_due_ && now >= *request_due_) return give_up();
  if (stalled_since_ && now - *stalled_since_ >= core_.limits.session.stalled_after) return give_up();
  wait_for_http1();
}

void ServerConnection::look_at_http2() {
  const SessionLimits& limits = core_.limits.session;
  const auto now = Clock::now();
  if (stalled_since_ && now - *stalled_since_ >= limits.stalled_after) return give_up();
  if (ping_sent_ && now - *ping_sent_ >= limits.keepalive_timeout) return give_up();
  if (!ping_sent_ && now - heard_ >= limits.keepalive_interval && !reading_paused_) {
    ping_sent_ = now;
    session_->ping();
  }
  schedule_look();
}

void ServerConnection::give_up() {
  ++core_.stats.timed_out;
  lost("timed out");
}

// ---- the end

void ServerConnection::wind_down() {
  const auto self = shared_from_this();
  winding_down_ = true;
  if (session_) {
    session_->refuse_new_streams();
    return pump();
  }
  if (!http1_ || !http1_->answering()) return close();
  http1_->close_after_answer();
}

void ServerConnection::end_now() {
  const auto self = shared_from_this();
  if (closed_) return;
  if (session_) {
    session_->for_each_stream([](Stream& stream) {
      static_cast<ServerCall&>(stream).abort({Code::unavailable, "the server is shutting down"});
    });
    pump();
    if (closed_) return;
    session_->terminate(NGHTTP2_NO_ERROR);
    pump();
  }
  close();
}

void ServerConnection::cut_off() { lost("the server is gone"); }

}  // namespace conclave::rpc
