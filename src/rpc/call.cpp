#include "rpc/call.hpp"

#include "rpc/server_call.hpp"

namespace conclave::rpc {

Call::Call(ServerCall* call) : call_(call) {
  if (call_ != nullptr) intrusive_ptr_add_ref(call_);
}
Call::Call(const Call& other) : Call(other.call_) {}
Call::Call(Call&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
Call& Call::operator=(Call other) noexcept {
  std::swap(call_, other.call_);
  return *this;
}
Call::~Call() {
  if (call_ != nullptr) intrusive_ptr_release(call_);
}

std::string_view Call::path() const { return call_->head().path(); }
const Metadata& Call::metadata() const { return call_->head().fields(); }
std::optional<Call::Clock::time_point> Call::deadline() const { return call_->deadline(); }
const Peer& Call::peer() const { return call_->peer(); }
bool Call::over() const { return call_->over(); }

void Call::reply(std::string_view message) {
  if (send(message)) finish({});
}
void Call::reply(const google::protobuf::MessageLite& message) {
  if (send(message)) finish({});
}
void Call::finish(Status status) { call_->finish(status); }
bool Call::send(std::string_view message) { return call_->send(message); }
bool Call::send(const google::protobuf::MessageLite& message) { return call_->send(message); }
void Call::begin() { call_->begin(); }
void Call::add_trailer(std::string_view name, std::string_view value) {
  if (!call_->over()) call_->add_trailer(name, value);
}

bool Call::congested() const { return call_->congested(); }
std::size_t Call::pending_bytes() const { return call_->outbox().pending(); }
void Call::pause() { call_->pause(); }
void Call::resume() { call_->resume(); }

// Callbacks are not kept by a call that is over: they would hold what they captured for nothing.
void Call::on_writable(std::move_only_function<void()> then) {
  if (over()) return;
  call_->writable = std::move(then);
  call_->session()->wait_for_room(*call_);
}
void Call::reserve(std::size_t bytes) {
  if (!over()) call_->session()->reserve(*call_, bytes);
}
bool Call::hold(std::size_t bytes) { return over() || call_->session()->hold(*call_, bytes); }
bool Call::begin_message(std::size_t bytes) { return call_->begin_message(bytes); }
bool Call::add_to_message(std::string_view piece) { return call_->add_to_message(piece); }
std::size_t Call::room() const { return call_->room(); }
std::size_t Call::largest_answer() const { return call_->largest_answer(); }
void Call::when_room(std::size_t bytes, std::move_only_function<void()> then) {
  if (over()) return;
  call_->writable = std::move(then);
  call_->session()->wait_for_room(*call_, bytes);
}
void Call::on_message(std::move_only_function<void(std::string_view)> then) {
  if (!over()) call_->message = std::move(then);
}
void Call::on_half_close(std::move_only_function<void()> then) {
  if (!over()) call_->half_close = std::move(then);
}
void Call::on_cancel(std::move_only_function<void(const Status&)> then) {
  if (!over()) call_->cancelled = std::move(then);
}

}  // namespace conclave::rpc
