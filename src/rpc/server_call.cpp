#include "rpc/server_call.hpp"

#include "rpc/http2_sink.hpp"
#include "rpc/timeout_header.hpp"

namespace conclave::rpc {

namespace {

const Metadata all_went_well = {{"grpc-status", "0"}};
const Metadata answer_head = {{":status", "200"}, {"content-type", "application/grpc"}};

void add_status(Metadata& to, const Status& status) {
  to.add("grpc-status", number(status.code));
  if (!status.message.empty()) to.add("grpc-message", encode_message(status.message));
}

// Calls a callback that may replace or forget itself meanwhile.
template <class Callback, class... Arguments>
void call_and_keep(Callback& slot, const ServerCall& call, Arguments&&... arguments) {
  if (!slot) return;
  Callback callback = std::move(slot);
  slot = nullptr;
  callback(std::forward<Arguments>(arguments)...);
  if (!call.over() && !slot) slot = std::move(callback);
}

}  // namespace

void ServerCall::open(ServerCore& core, PeerPtr peer) {
  core_ = &core;
  peer_ = std::move(peer);
}

void ServerCall::header(std::string_view name, std::string_view value) {
  if (head_done_) return;  // trailers of a client mean nothing to gRPC
  const std::size_t before = head_.fields().list_bytes();
  head_.add(name, value, session_->limits().header_list_bytes);
  session_->count_head(*this, head_.fields().list_bytes() - before);
}

void ServerCall::headers_complete(bool last) {
  if (head_done_) {
    if (!last) session_->reset(*this, NGHTTP2_PROTOCOL_ERROR);
    return;
  }
  head_done_ = true;
  head_.complete();
  if (head_.malformed()) {
    ++core_->stats.bad_requests;
    return session_->reset(*this, NGHTTP2_PROTOCOL_ERROR);
  }
  if (head_.grpc()) return start_grpc();
  kind_ = Kind::http;
  ++core_->stats.http_requests;
  if (head_.too_large()) return refuse_http(431);
  if (!may_begin()) refuse_http(503);
}

void ServerCall::refuse_http(unsigned status) {
  begin_http(status, {{"content-type", "text/plain"}}, std::nullopt);
  end_http();
}

// One more call, of this connection and of all. What is refused here surely was not done.
bool ServerCall::may_begin() {
  const SessionLimits& limits = session_->limits();
  if (session_->streams() > limits.concurrent_streams ||
      session_->account().used(Use::calls) > limits.open_calls_bytes) {
    ++core_->stats.calls_refused_streams;
    return false;
  }
  if (session_->account().room() > 0) return true;
  // What others took is no reason to refuse a client that has next to nothing: those who have most end soon.
  if (session_->account().used_by_calls() <= limits.small_answer_bytes) return true;
  ++core_->stats.calls_refused_memory;
  return false;
}

void ServerCall::start_grpc() {
  kind_ = Kind::grpc;
  counted_ = true;
  ++core_->stats.calls_started;
  ++core_->stats.calls_open;
  if (!may_begin()) return finish({Code::resource_exhausted, "etcdserver: too many requests"});
  if (head_.too_large()) return finish({Code::resource_exhausted, "the headers are too large"});
  if (head_.method() != "POST") return finish({Code::internal, "gRPC calls are POST requests"});
  method_ = core_->method(head_.path());
  if (method_ == nullptr) {
    const std::string path(head_.path());
    return finish(core_->unknown ? core_->unknown(path)
                                 : Status{Code::unimplemented, "unknown method " + path});
  }
  if (!take_deadline()) return;
  if (core_->before_each) {
    const Status verdict = core_->before_each(Call(this));
    if (!verdict.ok()) return finish(verdict);
  }
  if (method_->stream) method_->stream(Call(this));
}

bool ServerCall::take_deadline() {
  const auto text = head_.fields().get("grpc-timeout");
  if (!text) return true;
  const auto timeout = parse_timeout(*text);
  if (!timeout) {
    finish({Code::invalid_argument, "grpc-timeout is not a time"});
    return false;
  }
  deadline_ = Clock::now() + *timeout;
  core_->wheel.arm(deadline_timer_, *deadline_);
  return true;
}

void ServerCall::deadline_passed() { abort({Code::deadline_exceeded, "context deadline exceeded"}); }

void ServerCall::data(std::string_view bytes) {
  if (kind_ == Kind::grpc) return take_data(bytes);
  session_->consumed(*this, bytes.size());
  if (kind_ == Kind::http && !over()) take_body(bytes);
}

void ServerCall::ended() {
  if (kind_ == Kind::grpc) take_end();
  if (kind_ == Kind::http) answer_http();
}

void ServerCall::take_message(std::string_view bytes) {
  if (method_->stream) return call_and_keep(message, *this, bytes);
  if (got_message_) return abort({Code::internal, "a unary call has one message"});
  got_message_ = true;
  method_->unary(Call(this), bytes);
}

void ServerCall::input_ended() {
  if (method_->stream) return call_and_keep(half_close, *this);
  if (!got_message_) abort({Code::internal, "a unary call without its message"});
}

void ServerCall::refuse(const Status& status) {
  ++core_->stats.bad_requests;
  abort(status);
}

void ServerCall::begin() {
  if (over() || began_) return;
  began_ = true;
  session_->respond(*this, answer_head, false);
}

void ServerCall::too_large(std::size_t bytes) {
  abort({Code::resource_exhausted, "the answer has " + std::to_string(bytes) + " bytes, more than the " +
                                       std::to_string(largest_answer()) + " that an answer may have"});
}

bool ServerCall::takes_messages() const { return !session_->crowded(); }

std::size_t ServerCall::room() const { return session_ == nullptr ? 0 : session_->room(); }

// A plain request has no messages to be held back: it waits as a whole.
void ServerCall::go_on() {
  if (kind_ != Kind::http) return MessageStream::go_on();
  if (std::exchange(waits_for_turn_, false)) answer_http();
}

void ServerCall::too_slow() {
  const StreamPtr alive(this);
  session_->note_half_received(*this, 0);
  if (kind_ == Kind::http) {
    body_ = {};
    return refuse_http(408);
  }
  refuse({Code::deadline_exceeded, "the rest of the message did not come in time"});
  clear_input();
}

void ServerCall::not_taken() {
  const StreamPtr alive(this);
  ++core_->stats.answers_not_taken;
  abort({Code::resource_exhausted, "the answer was not taken in time"});
}

void ServerCall::added(std::size_t bytes) {
  begin();
  session_->output_added(*this, bytes);
}

void ServerCall::finish(const Status& status) {
  if (over()) return;
  if (missing_ > 0) return drop(status, NGHTTP2_INTERNAL_ERROR);
  answered_ = true;
  deadline_timer_.disarm();
  drop_callbacks();
  session_->reserve(*this, 0);
  if (began_) {
    last_word_ = status == Status() && trailers_.empty() ? &all_went_well : &trailers_;
    if (last_word_ == &trailers_) add_status(trailers_, status);
    return session_->end_output(*this);
  }
  Metadata only = answer_head;
  add_status(only, status);
  only.add_all(trailers_);
  began_ = true;
  session_->respond(*this, only, true);
}

void ServerCall::abort(const Status& status) {
  if (over()) return;
  if (kind_ == Kind::http) return drop(status, NGHTTP2_CANCEL);
  // After half a message there is nothing that could be said.
  if (missing_ > 0) return drop(status, NGHTTP2_CANCEL);
  const StreamPtr held(this);
  auto tell = std::move(cancelled);
  ++core_->stats.calls_cancelled;
  finish(status);
  if (tell) tell(status);
}

void ServerCall::drop(const Status& status, std::uint32_t error) {
  const StreamPtr held(this);
  auto tell = std::move(cancelled);
  ++core_->stats.calls_cancelled;
  answered_ = true;
  deadline_timer_.disarm();
  drop_callbacks();
  session_->reset(*this, error);
  if (tell) tell(status);
}

void ServerCall::drained() {
  if (over() || !writable) return;
  auto then = std::move(writable);
  writable = nullptr;
  then();
}

void ServerCall::closed(std::uint32_t error) {
  deadline_timer_.disarm();
  if (counted_) --core_->stats.calls_open;
  auto tell = std::move(cancelled);
  const bool unanswered = !answered_ && kind_ != Kind::unknown;
  drop_callbacks();
  outbox_.clear();
  if (!unanswered) return;
  ++core_->stats.calls_cancelled;
  if (tell)
    tell({Code::cancelled, error == NGHTTP2_CANCEL ? "the client cancelled" : "the connection was lost"});
}

// ---- plain HTTP

void ServerCall::take_body(std::string_view bytes) {
  body_.append(bytes);
  session_->note_half_received(*this, body_.size());
  if (body_.size() <= session_->limits().message_bytes &&
      session_->half_received() <= session_->limits().half_received_bytes)
    return;
  refuse_http(413);
}

void ServerCall::answer_http() {
  if (over()) return;
  if (!takes_messages()) {
    waits_for_turn_ = true;
    return session_->wait_for_turn(*this);
  }
  const std::string_view whole = head_.path();
  const std::size_t mark = std::min(whole.find('?'), whole.size());
  const HttpRequest request = {.method = head_.method(),
                               .path = whole.substr(0, mark),
                               .query = mark < whole.size() ? whole.substr(mark + 1) : std::string_view(),
                               .body = body_,
                               .headers = head_.fields(),
                               .peer = *peer_};
  core_->answer_http(request, HttpReply(std::make_shared<Http2Sink>(*this)));
}

void ServerCall::begin_http(unsigned status, const Metadata& headers, std::optional<std::size_t> length) {
  if (over() || began_) return;
  began_ = true;
  Metadata all = {{":status", std::to_string(status)}};
  all.add_all(headers);
  if (length) all.add("content-length", std::to_string(*length));
  session_->respond(*this, all, false);
}

bool ServerCall::write_http(std::string_view bytes) {
  if (head_.method() == "HEAD") return !over();
  if (over()) return false;
  outbox_.append(bytes);
  session_->output_added(*this, bytes.size());
  return true;
}

void ServerCall::end_http() {
  if (over()) return;
  answered_ = true;
  drop_callbacks();
  session_->end_output(*this);
}

// ---- going back

void ServerCall::drop_callbacks() {
  writable = nullptr;
  message = nullptr;
  half_close = nullptr;
  cancelled = nullptr;
}

void ServerCall::clear() {
  drop_callbacks();
  deadline_timer_.disarm();
  core_ = nullptr;
  peer_.reset();
  head_.clear();
  clear_input();
  body_.clear();
  body_.shrink_to_fit();
  trailers_.clear();
  last_word_ = nullptr;
  outbox_.clear();
  method_ = nullptr;
  missing_ = 0;
  deadline_.reset();
  kind_ = Kind::unknown;
  head_done_ = counted_ = got_message_ = began_ = answered_ = false;
  deferred_ = last_ = remote_ended_ = wants_drained_ = queued_ = false;
}

void ServerCall::unreferenced() { pool_.give_back(this); }

boost::intrusive_ptr<ServerCall> CallPool::take() {
  ++taken_;
  if (spare_.empty()) return new ServerCall(*this, largest_message_);
  ServerCall* call = spare_.back();
  spare_.pop_back();
  return call;
}

void CallPool::give_back(ServerCall* call) {
  --taken_;
  if (!orphaned_ && spare_.size() < most_spare) {
    call->clear();
    spare_.push_back(call);
    return;
  }
  delete call;
  if (orphaned_ && taken_ == 0) delete this;
}

void CallPool::orphan() {
  orphaned_ = true;
  if (taken_ == 0) delete this;
}

CallPool::~CallPool() {
  for (ServerCall* call : spare_) delete call;
}

}  // namespace conclave::rpc
