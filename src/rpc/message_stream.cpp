#include "rpc/message_stream.hpp"

#include <google/protobuf/message_lite.h>

namespace conclave::rpc {

void MessageStream::take_data(std::string_view bytes) {
  if (over()) return session_->consumed(*this, bytes.size());
  if (!paused_) return deliver(bytes);
  held_.append(bytes);  // no more than a window: nothing of it is given back
}

void MessageStream::deliver(std::string_view bytes) {
  const StreamPtr alive(this);
  const std::size_t whole = bytes.size();
  while (!paused_ && !over()) {
    const auto next = reader_.next(bytes);
    if (!next) {
      refuse_frame(next.error());
      break;
    }
    if (!*next) break;
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
  if (paused_) {
    end_held_ = true;
  } else if (!reader_.at_boundary()) {
    refuse({Code::internal, "the stream ends inside a message"});
  } else {
    input_ended();
  }
}

void MessageStream::resume() {
  if (!paused_) return;
  paused_ = false;
  if (over()) return;
  const StreamPtr alive(this);
  if (!held_.empty()) {
    const std::string bytes = std::exchange(held_, {});
    deliver(bytes);
  }
  if (paused_ || !end_held_) return;
  end_held_ = false;
  take_end();
}

bool MessageStream::send(std::string_view message) {
  if (over() || !may_send()) return false;
  char* to = outbox_.extend(prefix_bytes + message.size());
  put_prefix(to, message.size());
  message.copy(to + prefix_bytes, message.size());
  added(prefix_bytes + message.size());
  return true;
}

bool MessageStream::send(const google::protobuf::MessageLite& message) {
  if (over() || !may_send()) return false;
  const std::size_t size = message.ByteSizeLong();
  char* to = outbox_.extend(prefix_bytes + size);
  put_prefix(to, size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(to + prefix_bytes));
  added(prefix_bytes + size);
  return true;
}

bool MessageStream::congested() {
  if (over() || session_ == nullptr) return false;
  const bool full = outbox_.pending() >= session_->limits().stream_output_bytes ||
                    session_->pending_output() >= session_->limits().connection_output_bytes;
  if (full) wants_drained_ = true;
  return full;
}

void MessageStream::clear_input() {
  reader_.reset();
  held_.clear();
  held_.shrink_to_fit();
  paused_ = end_held_ = false;
}

}  // namespace conclave::rpc
