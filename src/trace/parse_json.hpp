// JSON from outside. Nesting is bounded before the library sees it: printing a value again recurses, and a
// file of brackets must not be able to take the stack.
#pragma once
#include <string_view>

namespace conclave::trace {

inline bool nested_too_deeply(std::string_view text, int most = 64) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// A discarded value if the text is not JSON.
template <class Json>
Json parse_json(std::string_view text) {
  if (nested_too_deeply(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace conclave::trace
