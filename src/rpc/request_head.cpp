#include "rpc/request_head.hpp"

#include <algorithm>
#include <array>

namespace conclave::rpc {

namespace {

constexpr std::array<std::string_view, 4> pseudo = {":method", ":path", ":scheme", ":authority"};
// RFC 9113, 8.2.2: these belong to HTTP/1.1.
constexpr std::array<std::string_view, 5> forbidden = {"connection", "keep-alive", "proxy-connection",
                                                       "transfer-encoding", "upgrade"};

bool good_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '!' ||
           c == '#' || c == '$' || c == '%' || c == '&' || c == '\'' || c == '*' || c == '+' || c == '^' ||
           c == '`' || c == '|' || c == '~';
  });
}
bool good_value(std::string_view value) {
  return std::ranges::none_of(value, [](char c) { return c == '\0' || c == '\r' || c == '\n'; });
}

}  // namespace

void RequestHead::add(std::string_view name, std::string_view value, std::size_t most_bytes) {
  if (fields_.list_bytes() + name.size() + value.size() + 32 > most_bytes) too_large_ = true;
  if (too_large_ || malformed_) return;
  if (name.starts_with(':')) {
    malformed_ = regular_ || std::ranges::find(pseudo, name) == pseudo.end() || fields_.get(name).has_value();
  } else {
    regular_ = true;
    malformed_ = !good_name(name) || std::ranges::find(forbidden, name) != forbidden.end();
  }
  malformed_ = malformed_ || !good_value(value);
  if (!malformed_) fields_.add(name, value);
}

void RequestHead::complete() {
  fields_.settle();
  if (too_large_ || malformed_) return;
  malformed_ = method().empty() || !path().starts_with('/') || !fields_.get(":scheme");
}

void RequestHead::clear() {
  fields_.clear();
  regular_ = malformed_ = too_large_ = false;
}

bool RequestHead::grpc() const {
  constexpr std::string_view kind = "application/grpc";
  const std::string_view type = fields_.get("content-type").value_or("");
  return type.starts_with(kind) &&
         (type.size() == kind.size() || type[kind.size()] == '+' || type[kind.size()] == ';');
}

}  // namespace conclave::rpc
