#include "rpc/json_shape.hpp"

namespace conclave::rpc {
namespace {

// From behind the first quote to behind the last one.
std::size_t end_of_string(std::string_view json, std::size_t at, char quote) {
  for (; at < json.size() && json[at] != quote; ++at)
    if (json[at] == '\\') ++at;
  return at;
}

}  // namespace

std::string_view objection_to(std::string_view json) {
  std::size_t depth = 0;
  std::size_t parts = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    switch (json[at]) {
      case '"':
      case '\'': at = end_of_string(json, at + 1, json[at]); break;
      case '[':
      case '{':
        ++parts;
        if (++depth > max_json_depth) return "the JSON is nested too deeply";
        break;
      case ']':
      case '}': depth -= depth > 0 ? 1 : 0; break;
      case ',':
      case ':': ++parts; break;
      default: break;
    }
    if (parts > max_json_parts) return "the JSON has too many parts";
  }
  return {};
}

}  // namespace conclave::rpc
