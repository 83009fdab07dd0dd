// What processes of the program tell as JSON, a line for each event.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "process.hpp"

namespace conclave::live {

using Json = nlohmann::json;

inline std::string at(std::uint16_t port) { return fmt::format("127.0.0.1:{}", port); }

// The next line that tells of such an event.
inline std::optional<Json> next(Process& process, std::string_view event) {
  const auto deadline = Clock::now() + soon;
  for (;;) {
    const std::string line = process.next_line(deadline);
    if (line.empty()) return std::nullopt;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("event", "") == event) return json;
  }
}

}  // namespace conclave::live
