#include "causality/line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace conclave::causality {
namespace {

constexpr std::size_t block = 256 * 1024;

}  // namespace

LineReader::LineReader(std::istream& in, std::string_view head, std::size_t longest)
    : in_(in), buffer_(std::max(head.size(), longest + block)), end_(head.size()) {
  std::ranges::copy(head, buffer_.begin());
}

// Makes room by moving what is left to the front; false if nothing can be added.
bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return false;
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
  const auto got = static_cast<std::size_t>(in_.gcount());
  end_ += got;
  at_end_ = got == 0;
  return got > 0;
}

std::string_view LineReader::peek() {
  while (end_ - begin_ < block && fill()) {
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

bool LineReader::next(std::string_view& line) {
  if (too_long_) return false;
  std::size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const void* newline = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    if (newline) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
      line = {from, length};
      begin_ += length + 1;
      break;
    }
    searched = end_ - begin_;
    if (fill()) continue;
    if (!at_end_) {
      too_long_ = true;
      ++number_;
      return false;
    }
    if (begin_ == end_) return false;
    line = {buffer_.data() + begin_, end_ - begin_};  // the last line, without its newline
    begin_ = end_;
    break;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

}  // namespace conclave::causality
