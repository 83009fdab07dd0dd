// Facts for whoever runs a member: a level and a line of key=value. Where they go is the owner's business.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace conclave::live {

enum class LogLevel { debug, info, warning, error };
using Log = std::function<void(LogLevel, std::string_view)>;

// A value that may hold anything, as one word of a log line: a stranger's text neither ends the line nor
// forges another key.
inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    out += plain ? c : '?';
  }
  return out + '"';
}

}  // namespace conclave::live
