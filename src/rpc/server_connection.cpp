#include "rpc/server_connection.hpp"

namespace conclave::rpc {

namespace {

constexpr std::string_view preface(NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);

// An answer over HTTP/1.1 that waits for memory looks for it so often.
constexpr std::chrono::milliseconds look_for_memory{40};

}  // namespace

ServerConnection::ServerConnection(ServerCore& core, ConnectionId id, boost::asio::ip::tcp::socket socket,
                                   const TlsPtr& tls, std::shared_ptr<AddressRecord> address)
    : core_(core),
      address_(std::move(address)),
      account_(core.limits.memory_bytes / 8 * 5, &address_->account),
      peer_(new CountedPeer),
      wire_(std::make_shared<Wire>(std::move(socket), tls)) {
  peer_->connection = id;
  peer_->address = wire_->peer_address();
  wire_->hold(core_.take_place(address_));
  account_.take(Use::connections, core_.limits.connection_bytes + (tls ? core_.limits.tls_bytes : 0));
  address_->guests.push_back(*this);
}

// A wire that says good-bye outlives us.
ServerConnection::~ServerConnection() {
  if (!closed_) wire_->close();
}

bool ServerConnection::idle() const {
  if (http2_) return http2_->session().streams() == 0;
  return !http1_ || (!http1_->answering() && http1_->held() == 0);
}

Clock::time_point ServerConnection::heard() const { return http2_ ? http2_->heard() : heard_; }

void ServerConnection::start() {
  request_due_ = Clock::now() + core_.limits.preface_timeout;
  core_.wheel.arm(timer_, *request_due_);
  core_.handshake_begins(*this);
  wire_->accept([self = shared_from_this()](const boost::system::error_code& error) {
    if (self->closed_) return;
    self->core_.handshake_over(*self);
    if (error) {
      ++self->core_.stats.bad_requests;
      return self->lost(error.message());
    }
    self->peer_->certificate_name = self->wire_->peer_certificate_name();
    self->wire_->start(*self);
  });
}

void ServerConnection::received(std::string_view bytes) {
  const auto self = shared_from_this();
  heard_ = Clock::now();
  if (!http1_) return sniff(bytes);
  moved(bytes.size(), 0);
  http1_->receive(bytes);
  count_http1();
  // What a client sends ahead of its answers is kept, within reason.
  if (!closed_ && !http1_->wants_more()) wire_->pause_reading();
}

// The preface of HTTP/2 may come in pieces; the first byte that is not of it decides. ALPN is not asked: a
// client that says one thing and does another is understood all the same.
void ServerConnection::sniff(std::string_view bytes) {
  sniffed_.append(bytes);
  const std::size_t seen = std::min(sniffed_.size(), preface.size());
  const bool is_preface = sniffed_.compare(0, seen, preface, 0, seen) == 0;
  if (is_preface && seen < preface.size()) return;
  const std::string first = std::exchange(sniffed_, {});  // it may be long, and the connection lasts
  if (!is_preface) {
    http1_ = std::make_unique<Http1>(core_.limits.session, *peer_, *this);
    return received(first);
  }
  timer_.disarm();
  http2_ = std::make_shared<Http2Connection>(core_.loop, core_.wheel, wire_, Session::Side::server,
                                             core_.limits.session, *this, &account_);
  http2_->start(first);
}

void ServerConnection::moved(std::size_t received, std::size_t sent) {
  core_.stats.bytes_received += received;
  core_.stats.bytes_sent += sent;
}

void ServerConnection::lost(std::string_view) { close(false); }

void ServerConnection::close(bool politely) {
  const auto self = shared_from_this();
  if (closed_) return;
  closed_ = true;
  timer_.disarm();
  room_timer_.disarm();
  core_.handshake_over(*this);
  address_->guests.erase(address_->guests.iterator_to(*this));
  if (core_.crowded()) wire_->be_brief();
  if (http2_) http2_->close(politely);
  if (politely)
    wire_->close_when_written();
  else
    wire_->close();
  if (http2_) http2_->session().abandon(NGHTTP2_INTERNAL_ERROR);
  if (http1_) http1_->lost();
  account_.close();
  core_.forget(peer_->connection);
}

// ---- HTTP/2

StreamPtr ServerConnection::open_stream() {
  auto call = core_.pool->take();
  call->open(core_, peer_);
  return call;
}

void ServerConnection::stream_reset() {
  if (address_->resets.take(Clock::now())) return;
  ++core_.stats.ended_resets;
  http2_->session().terminate(NGHTTP2_ENHANCE_YOUR_CALM);
}

void ServerConnection::settled() {
  if (account_.anything_over()) core_.relieve();
}

void ServerConnection::over(Http2Connection::End end, const std::string&) {
  if (end == Http2Connection::End::timed_out) ++core_.stats.timed_out;
  if (end == Http2Connection::End::garbage) ++core_.stats.bad_requests;
  close(end == Http2Connection::End::finished);
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
  moved(0, bytes.size());
  wire_->out().append(bytes);
  wire_->flush();
  count_http1();
  if (closed_ || !wire_->busy() || stalled_since_) return;
  stalled_since_ = Clock::now();
  wait_for_http1();
}

void ServerConnection::writable() {
  const auto self = shared_from_this();
  stalled_since_.reset();
  if (!http1_) return;
  count_http1();
  if (wire_->pending() * 4 <= core_.limits.session.stream_output_bytes) http1_->drained();
  if (!closed_) wait_for_http1();
}

void ServerConnection::http_expects(bool request_under_way) {
  if (winding_down_ && !request_under_way) return close(true);
  request_due_ =
      Clock::now() + (request_under_way ? core_.limits.request_timeout : core_.limits.idle_timeout);
  wait_for_http1();
  wire_->resume_reading();
}

std::size_t ServerConnection::http_room() const {
  return core_.limits.session.room_for_answer(account_.room());
}

void ServerConnection::http_wait_for_room() { core_.wheel.arm(room_timer_, look_for_memory); }

bool ServerConnection::http_hold(std::size_t bytes) {
  const std::size_t before = account_.used(Use::watchers);
  if (bytes > before && account_.room() < bytes - before) return false;
  if (!closed_) account_.set(Use::watchers, bytes);
  return true;
}

void ServerConnection::room_again() {
  const auto self = shared_from_this();
  if (http1_) http1_->drained();
}

void ServerConnection::count_http1() {
  if (closed_) return;
  account_.set(Use::answers, wire_->pending());
  if (wire_->pending() == 0) wire_->rest();
  account_.set(Use::requests, http1_->held());
  settled();
}

void ServerConnection::wait_for_http1() {
  auto due = request_due_.value_or(Clock::time_point::max());
  if (stalled_since_) due = std::min(due, *stalled_since_ + core_.limits.session.stalled_after);
  if (due == Clock::time_point::max())
    timer_.disarm();
  else
    core_.wheel.arm(timer_, due);
}

// Whatever was due is not there: the preface, a request, or room for an answer.
void ServerConnection::time_passed() {
  ++core_.stats.timed_out;
  close(false);
}

// ---- the end

void ServerConnection::wind_down() {
  const auto self = shared_from_this();
  winding_down_ = true;
  if (http2_) {
    http2_->session().refuse_new_streams();
    return http2_->end_when_idle();
  }
  if (!http1_ || !http1_->answering()) return close(true);
  http1_->close_after_answer();
}

void ServerConnection::end_now() {
  const auto self = shared_from_this();
  if (closed_) return;
  if (http2_) {
    http2_->session().for_each_stream([](Stream& stream) {
      static_cast<ServerCall&>(stream).abort({Code::unavailable, "the server is shutting down"});
    });
    http2_->pump();
    if (closed_) return;
    http2_->session().terminate(NGHTTP2_NO_ERROR);
    http2_->pump();
  }
  close(true);
}

void ServerConnection::cut_off() { close(false); }

}  // namespace conclave::rpc
