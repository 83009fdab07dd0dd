#include "rpc/message_stream.hpp"

#include <google/protobuf/message_lite.h>

#include "core/ensure.hpp"

namespace conclave::rpc {

void MessageStream::take_data(std::string_view bytes) {
  if (over()) return session_->consumed(*this, bytes.size());
  if (!holds_back()) return deliver(bytes);
  held_.append(bytes);  // no more than a window: nothing of it is given back
}

void MessageStream::deliver(std::string_view bytes) {
  const StreamPtr alive(this);
  const std::size_t whole = bytes.size();
  while (!paused_ && !over()) {
    if (!takes_messages()) {
      wait_for_turn();
      break;
    }
    const auto next = reader_.next(bytes);
    if (!next) {
      refuse_frame(next.error());
      break;
    }
    if (!*next) break;
    if (session_ != nullptr) session_->note_half_received(*this, 0);
    take_message(**next);
  }
  if (session_ == nullptr) return;
  if (over()) bytes = {};
  if (!bytes.empty()) held_.assign(bytes);
  session_->consumed(*this, whole - bytes.size());
  session_->note_half_received(*this, over() ? 0 : reader_.kept());
  if (!over() && session_->half_received() > session_->limits().half_received_bytes)
    refuse({Code::resource_exhausted, "too many messages are half sent on this connection"});
}

void MessageStream::refuse_frame(FrameError error) {
  if (error == FrameError::compressed)
    return refuse({Code::unimplemented, "messages may not be compressed: no encoding was offered"});
  refuse({Code::resource_exhausted,
          "the message is larger than " + std::to_string(session_->limits().message_bytes) + " bytes"});
}

void MessageStream::take_end() {
  if (over()) return;
  if (holds_back()) {
    end_held_ = true;
  } else if (!reader_.at_boundary()) {
    refuse({Code::internal, "the stream ends inside a message"});
  } else {
    input_ended();
  }
}

void MessageStream::wait_for_turn() {
  waits_for_turn_ = true;
  session_->wait_for_turn(*this);
}

void MessageStream::resume() {
  if (!std::exchange(paused_, false) || waits_for_turn_) return;
  deliver_held();
}

void MessageStream::go_on() {
  if (!std::exchange(waits_for_turn_, false) || paused_) return;
  deliver_held();
}

void MessageStream::deliver_held() {
  if (over()) return;
  const StreamPtr alive(this);
  if (!held_.empty()) {
    const std::string bytes = std::exchange(held_, {});
    deliver(bytes);
  }
  if (holds_back() || !std::exchange(end_held_, false)) return;
  take_end();
}

// Nobody is sent a message that the library could not even count.
bool MessageStream::fits(std::size_t bytes) {
  const std::size_t most =
      session_ != nullptr ? session_->limits().answer_bytes : SessionLimits().answer_bytes;
  if (bytes <= most) return true;
  too_large(bytes);
  return false;
}

bool MessageStream::send(std::string_view message) {
  if (over() || !may_send() || !fits(message.size())) return false;
  char* to = outbox_.extend(prefix_bytes + message.size());
  put_prefix(to, message.size());
  message.copy(to + prefix_bytes, message.size());
  added(prefix_bytes + message.size());
  return true;
}

bool MessageStream::send(const google::protobuf::MessageLite& message) {
  if (over() || !may_send()) return false;
  const std::size_t size = message.ByteSizeLong();
  if (!fits(size)) return false;
  char* to = outbox_.extend(prefix_bytes + size);
  put_prefix(to, size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(to + prefix_bytes));
  added(prefix_bytes + size);
  return true;
}

bool MessageStream::begin_message(std::size_t bytes) {
  ensure(missing_ == 0, "a message ends before the next one begins");
  if (over() || !may_send() || !fits(bytes)) return false;
  put_prefix(outbox_.extend(prefix_bytes), bytes);
  missing_ = bytes;
  session_->reserve(*this, bytes);
  added(prefix_bytes);
  return true;
}

bool MessageStream::add_to_message(std::string_view piece) {
  if (over() || session_ == nullptr) return false;
  ensure(piece.size() <= missing_, "the pieces of a message are no longer than it");
  missing_ -= piece.size();
  session_->reserve(*this, missing_);
  outbox_.append(piece);
  added(piece.size());
  return true;
}

bool MessageStream::congested() {
  if (over() || session_ == nullptr) return false;
  const bool full = outbox_.pending() >= session_->limits().stream_output_bytes || session_->crowded();
  if (full) session_->wait_for_room(*this);
  return full;
}

void MessageStream::clear_input() {
  reader_.reset();
  held_.clear();
  held_.shrink_to_fit();
  paused_ = end_held_ = waits_for_turn_ = false;
}

}  // namespace conclave::rpc
