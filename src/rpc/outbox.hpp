// Bytes that wait to leave through one stream, front first.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace conclave::rpc {

class Outbox {
 public:
  std::size_t pending() const { return bytes_.size() - sent_; }
  bool empty() const { return pending() == 0; }

  void append(std::string_view bytes) { bytes_.append(bytes); }
  // Room for `count` more bytes, to be written by the caller; its content is not set.
  char* extend(std::size_t count) {
    const std::size_t before = bytes_.size();
    const std::size_t after = before + count;  // g++ 12 tells the callback the capacity instead
    bytes_.resize_and_overwrite(after, [after](char*, std::size_t) { return after; });
    return bytes_.data() + before;
  }
  std::size_t take(char* to, std::size_t most) {
    const std::size_t count = std::min(most, pending());
    std::memcpy(to, bytes_.data() + sent_, count);
    sent_ += count;
    if (!keep_) forget_sent();
    return count;
  }

  // What leaves is kept, so that `rewind` can send it again over another connection.
  void keep_sent(bool keep) { keep_ = keep; }
  void rewind() { sent_ = 0; }
  void clear() {
    bytes_.clear();
    sent_ = 0;
    keep_ = false;
    rest();
  }
  // Nothing is sent for now.
  void rest() {
    if (bytes_.empty() && bytes_.capacity() > worth_keeping) bytes_.shrink_to_fit();
  }

 private:
  // By each of thousands of streams that are open and silent.
  static constexpr std::size_t worth_keeping = 4 * 1024;
  static constexpr std::size_t worth_moving = 64 * 1024;

  void forget_sent() {
    if (empty()) {
      bytes_.clear();
      if (bytes_.capacity() > worth_moving) bytes_.shrink_to_fit();
      sent_ = 0;
    } else if (sent_ > worth_moving && sent_ > bytes_.size() / 2) {
      bytes_.erase(0, sent_);
      sent_ = 0;
    }
  }

  std::string bytes_;
  std::size_t sent_ = 0;
  bool keep_ = false;
};

}  // namespace conclave::rpc
