#include "causality/clock_text.hpp"

namespace conclave::causality {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

bool ClockText::read_escaped_name() {
  unescaped_.clear();
  const bool quoted_twice = *at_ == '\\';
  if (quoted_twice) ++at_;
  if (at_ == end_ || *at_ != '"') return fail("a host's name in quotation marks was expected");
  ++at_;
  for (;;) {
    if (at_ == end_) return fail("it is cut off");
    char c = *at_++;
    if (c == '"') break;
    if (c == '\\') {
      if (at_ == end_) return fail("it is cut off");
      c = *at_++;
      if (quoted_twice && c == '"') break;
      if (c == 'u') {
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
          const int digit = at_ < end_ ? hex_digit(*at_) : -1;
          if (digit < 0) return fail("\\u needs four hexadecimal digits");
          code = code * 16 + static_cast<unsigned>(digit);
          ++at_;
        }
        append_utf8(unescaped_, code);
        continue;
      }
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
      if (c == 'r') c = '\r';
      if (c == 'b') c = '\b';
      if (c == 'f') c = '\f';
    }
    unescaped_ += c;
  }
  name_ = unescaped_;
  return true;
}

}  // namespace conclave::causality
