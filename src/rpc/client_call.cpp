#include "rpc/client_call.hpp"

#include <boost/asio/post.hpp>

#include "rpc/channel_core.hpp"
#include "rpc/timeout_header.hpp"

namespace conclave::rpc {

ClientCall::ClientCall(const std::shared_ptr<ChannelCore>& core, std::string_view path,
                       const CallOptions& options, bool unary, StreamEvents events)
    : MessageStream(core->options.limits.message_bytes),
      core_(core),
      path_(path),
      metadata_(core->options.metadata),
      events_(std::move(events)),
      unary_(unary),
      wait_for_ready_(options.wait_for_ready) {
  metadata_.add_all(options.metadata);
  outbox_.keep_sent(unary);  // a refused request is sent again elsewhere
  if (!options.timeout) return;
  deadline_ = Clock::now() + *options.timeout;
  core->wheel.arm(deadline_timer_, *deadline_);
}

Metadata ClientCall::head(bool tls, std::string_view authority) const {
  const auto core = core_.lock();
  Metadata result = {{":method", "POST"},
                     {":scheme", tls ? "https" : "http"},
                     {":path", path_},
                     {":authority", authority},
                     {"te", "trailers"},
                     {"content-type", "application/grpc"},
                     {"user-agent", core ? std::string_view(core->options.user_agent) : "conclave"}};
  if (deadline_) result.add("grpc-timeout", format_timeout(*deadline_ - Clock::now()));
  result.add_all(metadata_);
  return result;
}

// ---- what arrives

void ClientCall::header(std::string_view name, std::string_view value) {
  header_bytes_ += name.size() + value.size() + 32;
  if (over_ || header_bytes_ > session_->limits().header_list_bytes) return;
  (head_done_ ? trailers_ : headers_).add(name, value);
}

void ClientCall::headers_complete(bool last) {
  if (over_) return;
  if (header_bytes_ > session_->limits().header_list_bytes)
    return refuse({Code::resource_exhausted, "the server's headers are too large"});
  if (head_done_ && !last) return refuse({Code::internal, "the server sent headers in the middle"});
  const std::string_view status = headers_.get(":status").value_or("");
  if (!head_done_ && !last && status.starts_with('1')) return headers_.clear();  // an interim answer
  head_done_ = true;
}

void ClientCall::take_message(std::string_view message) {
  if (headers_.get(":status") != "200") return;  // the page of some proxy, not ours to read
  if (!unary_) {
    if (wish_ || !events_.message) return;
    auto tell = std::move(events_.message);  // it may end the call, and with it itself
    tell(message);
    if (!over_) events_.message = std::move(tell);
    return;
  }
  if (got_message_) return refuse({Code::internal, "the server answered twice"});
  got_message_ = true;
  answer_.assign(message);
}

Status ClientCall::status_from_trailers() const {
  const Metadata& from = trailers_.get("grpc-status") ? trailers_ : headers_;
  if (const auto code = from.get("grpc-status"))
    return {parse_code(*code), decode_message(from.get("grpc-message").value_or(""))};
  const std::string_view http = headers_.get(":status").value_or("");
  if (http == "200") return {Code::internal, "the server ended the call without a status"};
  unsigned number = 0;
  for (const char c : http.substr(0, 3)) number = number * 10 + static_cast<unsigned>(c - '0');
  return {code_of_http(number), "this is no gRPC server: it answered HTTP " + std::string(http)};
}

void ClientCall::input_ended() {
  Status status = status_from_trailers();
  if (unary_ && status.ok() && !got_message_) status = {Code::internal, "the server sent no answer"};
  finish(status, true);
}

void ClientCall::drained() {
  if (over_ || !writable) return;
  auto then = std::exchange(writable, nullptr);
  then();
}

bool ClientCall::request_left() const { return id_ != 0 && (!unary_ || outbox_.pending() == 0); }

void ClientCall::closed(std::uint32_t error) {
  if (over_) return;
  const auto core = core_.lock();
  if (error == NGHTTP2_REFUSED_STREAM && unary_ && core && !core->closed &&
      ++refusals_ <= core->addresses.size()) {
    outbox_.rewind();
    headers_.clear();
    trailers_.clear();
    head_done_ = false;
    return core->again(this);
  }
  switch (error) {
    case NGHTTP2_REFUSED_STREAM: return finish({Code::unavailable, "the server takes no new calls"}, false);
    case NGHTTP2_CANCEL: return finish({Code::cancelled, "the server cancelled"}, true);
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return finish({Code::resource_exhausted, "the server asked us to slow down"}, true);
    case NGHTTP2_INTERNAL_ERROR:
      return finish({Code::unavailable, "the connection was lost"}, request_left());
    default: return finish({Code::internal, std::string("HTTP/2: ") + nghttp2_http2_strerror(error)}, true);
  }
}

// ---- what goes out

void ClientCall::too_large(std::size_t bytes) {
  cancel(
      {Code::resource_exhausted, "the message has " + std::to_string(bytes) + " bytes, which is too much"});
}

void ClientCall::added(std::size_t bytes) {
  if (session_ != nullptr) session_->output_added(*this, bytes);
}

void ClientCall::half_close() {
  if (over_ || half_closed_) return;
  half_closed_ = true;
  last_ = true;
  if (session_ != nullptr) session_->end_output(*this);
}

// ---- the end

void ClientCall::refuse(const Status& status) { give_up(status); }

void ClientCall::give_up(const Status& status) {
  if (over_) return;
  const StreamPtr alive(this);
  const bool left = request_left();
  if (session_ != nullptr) session_->reset(*this, NGHTTP2_CANCEL);
  if (const auto core = core_.lock()) core->dequeue(*this);
  finish(status, left);
}

void ClientCall::deadline_passed() { give_up({Code::deadline_exceeded, "the deadline passed"}); }

void ClientCall::cancel(Status status) {
  if (over_ || wish_) return;
  wish_ = std::move(status);
  const auto core = core_.lock();
  if (!core) return;
  boost::asio::post(core->loop, [self = ClientCallPtr(this)] { self->give_up(*self->wish_); });
}

void ClientCall::fail(const Status& status) { finish(status, false); }

void ClientCall::finish(const Status& status, bool may_have_run) {
  if (over_) return;
  const StreamPtr alive(this);
  over_ = true;
  deadline_timer_.disarm();
  writable = nullptr;
  // The server is done, and does not want the rest.
  if (session_ != nullptr && !(last_ && outbox_.pending() == 0)) session_->reset(*this, NGHTTP2_CANCEL);
  StreamEvents events = std::move(events_);
  events_ = {};
  const Status told = wish_.value_or(status);
  if (events.closed)
    events.closed({told, told.ok() ? std::string_view(answer_) : std::string_view(), headers_, trailers_,
                   may_have_run});
}

}  // namespace conclave::rpc
