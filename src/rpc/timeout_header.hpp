// The header grpc-timeout: up to eight digits and a unit (H, M, S, m, u, n).
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace conclave::rpc {

// Nothing for text that is no time-out. What does not fit is capped: 99999999H is longer than any run.
std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text);

// In the finest unit that has room; rounded up, so that a deadline is never told shorter than it is.
std::string format_timeout(std::chrono::nanoseconds left);

}  // namespace conclave::rpc
