// What the flags of the verbs that run an algorithm have in common. A check returns one sentence that says
// what is wrong and what would be right, or nothing.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <type_traits>

#include "catalogue/entry.hpp"
#include "cli/terminal.hpp"

namespace conclave::cli {

std::optional<std::string> check_variant(const catalogue::Entry& entry, const std::string& variant);
std::optional<std::string> check_nodes(const catalogue::Entry& entry, std::int64_t nodes);

// name=value.
std::optional<std::string> set_parameter(const catalogue::Entry& entry, catalogue::Setting& setting,
                                         const std::string& assignment);
std::optional<std::string> set_parameter(std::string_view whose,
                                         const std::vector<catalogue::Parameter>& parameters,
                                         std::map<std::string, std::string>& values,
                                         const std::string& assignment);

// Sets the field if the flag was given.
template <class T>
std::optional<std::string> set_number(const std::optional<std::int64_t>& given, T& field, const char* flag,
                                      std::int64_t least, std::int64_t most) {
  if (!given) return std::nullopt;
  if (*given < least || *given > most)
    return fmt::format("{} {}: must lie between {} and {}", flag, *given, least,
                       with_commas(static_cast<std::uint64_t>(most)));
  field = static_cast<T>(*given);
  return std::nullopt;
}

// A number that may be large: 10000000, 1e7, 2.5e6.
std::expected<std::uint64_t, std::string> parse_count(const std::string& text);
// Bytes: 4096, 500K, 500M, 2G, 1.5G.
std::expected<std::uint64_t, std::string> parse_size(const std::string& text);

}  // namespace conclave::cli
