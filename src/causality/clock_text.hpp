// Vector clocks as text: {"host": count, …}.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::causality {

// Reads one clock, entry by entry.
class ClockText {
 public:
  // The text begins with the clock; what follows it does not matter.
  explicit ClockText(std::string_view text) : at_(text.data()), begin_(at_), end_(at_ + text.size()) {}

  // False after the last entry, or at an error.
  bool next();
  // Of the entry just read. The name holds until the next call.
  std::string_view name() const { return name_; }
  std::uint32_t count() const { return count_; }

  bool failed() const { return !why_.empty(); }
  std::string_view why() const { return why_; }
  // How much of the text the clock takes, once next() has returned false.
  std::size_t length() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  bool fail(std::string_view why) {
    why_ = why;
    return false;
  }
  void skip_space();
  bool read_name();
  bool read_escaped_name();
  bool read_count();

  const char* at_;
  const char* begin_;
  const char* end_;
  std::string_view name_;
  std::string unescaped_;
  std::uint32_t count_ = 0;
  bool begun_ = false;
  std::string_view why_;
};

// In the header, because most of the time of reading a log is spent here.

inline void ClockText::skip_space() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
}

// Logs that quote the clock once more write \" for each quotation mark.
inline bool ClockText::read_name() {
  if (at_ < end_ && *at_ == '\\') return read_escaped_name();
  if (at_ == end_) return fail("it is cut off");
  if (*at_ != '"') return fail("a host's name in quotation marks was expected");
  const char* from = ++at_;
  while (at_ < end_ && *at_ != '"' && *at_ != '\\') ++at_;
  if (at_ == end_) return fail("it is cut off");
  if (*at_ == '\\') {
    at_ = from - 1;
    return read_escaped_name();
  }
  name_ = {from, static_cast<std::size_t>(at_ - from)};
  ++at_;
  return true;
}

inline bool ClockText::read_count() {
  const char* from = at_;
  std::uint64_t value = 0;
  while (at_ < end_ && *at_ >= '0' && *at_ <= '9' && value <= UINT32_MAX)
    value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
  if (at_ == from) return fail(at_ == end_ ? "it is cut off" : "a count of 0 or more was expected");
  if (value > UINT32_MAX) return fail("a count is larger than 4294967295");
  count_ = static_cast<std::uint32_t>(value);
  return true;
}

inline bool ClockText::next() {
  if (failed()) return false;
  if (!begun_) {
    if (at_ == end_ || *at_ != '{') return fail("it does not begin with a brace");
    ++at_;
  }
  skip_space();
  if (at_ == end_) return fail("it is cut off");
  if (*at_ == '}') {
    ++at_;
    return false;
  }
  if (begun_) {
    if (*at_ != ',') return fail("a comma or a closing brace was expected");
    ++at_;
    skip_space();
  }
  begun_ = true;
  if (!read_name()) return false;
  skip_space();
  if (at_ == end_) return fail("it is cut off");
  if (*at_ != ':') return fail("a colon was expected");
  ++at_;
  skip_space();
  return read_count();
}

}  // namespace conclave::causality
