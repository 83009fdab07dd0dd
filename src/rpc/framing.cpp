#include "rpc/framing.hpp"

#include <algorithm>

namespace conclave::rpc {

namespace {

std::size_t length_in(std::string_view prefix) {
  std::size_t length = 0;
  for (std::size_t i = 1; i < prefix_bytes; ++i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  return length;
}

// A reader that once took a large message gives the memory back.
constexpr std::size_t worth_keeping = 4 * 1024;

}  // namespace

void put_prefix(char* to, std::size_t message_bytes) {
  to[0] = 0;
  for (unsigned i = 0; i < 4; ++i) to[1 + i] = static_cast<char>(message_bytes >> (24 - 8 * i) & 0xff);
}

void FrameReader::reset() {
  kept_.clear();
  if (kept_.capacity() > worth_keeping) kept_.shrink_to_fit();
  wanted_.reset();
  delivered_ = false;
}

// True once all five bytes are there, either at the front of the input or in what is kept.
bool FrameReader::take_prefix(std::string_view& input) {
  if (kept_.empty() && input.size() >= prefix_bytes) return true;
  const std::size_t missing = std::min(prefix_bytes - kept_.size(), input.size());
  kept_.append(input.substr(0, missing));
  input.remove_prefix(missing);
  return kept_.size() == prefix_bytes;
}

std::expected<std::optional<std::string_view>, FrameError> FrameReader::next(std::string_view& input) {
  if (delivered_) reset();
  if (!wanted_) {
    if (!take_prefix(input)) return std::nullopt;
    const std::string_view prefix = kept_.empty() ? input.substr(0, prefix_bytes) : std::string_view(kept_);
    if (prefix[0] != 0) return std::unexpected(FrameError::compressed);
    wanted_ = length_in(prefix);
    if (*wanted_ > largest_) return std::unexpected(FrameError::too_large);
  }
  const std::size_t whole = prefix_bytes + *wanted_;
  if (kept_.empty() && input.size() >= whole) {
    const std::string_view message = input.substr(prefix_bytes, *wanted_);
    input.remove_prefix(whole);
    wanted_.reset();
    return message;
  }
  const std::size_t missing = std::min(whole - kept_.size(), input.size());
  // As it comes, not as it was announced; and no more than the message in the end.
  if (kept_.size() + missing > kept_.capacity()) kept_.reserve(std::min(whole, 2 * (kept_.size() + missing)));
  kept_.append(input.substr(0, missing));
  input.remove_prefix(missing);
  if (kept_.size() < whole) return std::nullopt;
  delivered_ = true;
  return std::string_view(kept_).substr(prefix_bytes);
}

}  // namespace conclave::rpc
