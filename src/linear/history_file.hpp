// Histories as files: one JSON object on a line for each operation. docs/history.md has the format.
#pragma once
#include <expected>
#include <iosfwd>
#include <string>

#include "linear/linear.hpp"

namespace conclave::linear {

inline constexpr std::size_t longest_line = 1 << 20;
inline constexpr std::size_t most_operations = 20'000'000;

// The line without its end.
std::string to_line(const Operation& operation);
// Or what is wrong with it, in words.
std::expected<Operation, std::string> from_line(std::string_view line);

// Or the first line that is wrong, and why. Empty lines are left out.
std::expected<History, std::string> read_history(std::istream& in);

}  // namespace conclave::linear
