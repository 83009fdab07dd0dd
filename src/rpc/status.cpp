#include "rpc/status.hpp"

#include <array>
#include <charconv>

namespace conclave::rpc {

namespace {

struct Row {
  std::string_view name, number;
  unsigned http;
};
constexpr std::array<Row, 17> rows = {{
    {"OK", "0", 200},
    {"CANCELLED", "1", 499},
    {"UNKNOWN", "2", 500},
    {"INVALID_ARGUMENT", "3", 400},
    {"DEADLINE_EXCEEDED", "4", 504},
    {"NOT_FOUND", "5", 404},
    {"ALREADY_EXISTS", "6", 409},
    {"PERMISSION_DENIED", "7", 403},
    {"RESOURCE_EXHAUSTED", "8", 429},
    {"FAILED_PRECONDITION", "9", 400},
    {"ABORTED", "10", 409},
    {"OUT_OF_RANGE", "11", 400},
    {"UNIMPLEMENTED", "12", 501},
    {"INTERNAL", "13", 500},
    {"UNAVAILABLE", "14", 503},
    {"DATA_LOSS", "15", 500},
    {"UNAUTHENTICATED", "16", 401},
}};

const Row& row(Code code) { return rows[static_cast<std::size_t>(code)]; }

constexpr std::string_view hex = "0123456789ABCDEF";

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return std::nullopt;
}

}  // namespace

std::string_view name(Code code) { return row(code).name; }
std::string_view number(Code code) { return row(code).number; }

Code parse_code(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value >= rows.size())
    return Code::unknown;
  return static_cast<Code>(value);
}

std::string encode_message(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  return out;
}

std::string decode_message(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    if (low) {
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      out += text[i];  // a sender that does not escape is shown as it wrote
    }
  }
  return out;
}

unsigned http_status(Code code) { return row(code).http; }

Code code_of_http(unsigned status) {
  switch (status) {
    case 400: return Code::internal;
    case 401: return Code::unauthenticated;
    case 403: return Code::permission_denied;
    case 404: return Code::unimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return Code::unavailable;
    default: return Code::unknown;
  }
}

}  // namespace conclave::rpc
