#include "cli/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace conclave::cli {
namespace {

// The number at the beginning of the text, and what follows it.
std::optional<std::pair<double, std::string>> leading_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  return std::pair(value, std::string(rest, end));
}

// None if there are too many to be counted, or something is left over.
std::optional<std::uint64_t> whole(double value) {
  if (!(value >= 1 && value < 1e18) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::optional<std::string> check_variant(const catalogue::Entry& entry, const std::string& variant) {
  if (entry.variant(variant)) return std::nullopt;
  std::string known;
  for (const auto& other : entry.variants) known += fmt::format(", {}", other.name);
  return fmt::format("{} has no variant '{}'; there is {}", entry.name, variant, known.substr(2));
}

std::optional<std::string> check_nodes(const catalogue::Entry& entry, std::int64_t nodes) {
  if (nodes >= entry.least_nodes && nodes <= entry.most_nodes) return std::nullopt;
  return fmt::format("--nodes {}: {} runs with {} to {} nodes", nodes, entry.name, entry.least_nodes,
                     with_commas(entry.most_nodes));
}

std::optional<std::string> set_parameter(const catalogue::Entry& entry, catalogue::Setting& setting,
                                         const std::string& assignment) {
  return set_parameter(entry.name, entry.parameters, setting.parameters, assignment);
}

std::optional<std::string> set_parameter(std::string_view whose,
                                         const std::vector<catalogue::Parameter>& parameters,
                                         std::map<std::string, std::string>& values,
                                         const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) return fmt::format("--set {}: write name=value", assignment);
  const std::string name = assignment.substr(0, equals);
  const std::string value = assignment.substr(equals + 1);
  const auto known = std::ranges::find(parameters, name, &catalogue::Parameter::name);
  if (known == parameters.end()) {
    std::string names;
    for (const auto& parameter : parameters) names += fmt::format(", {}", parameter.name);
    return fmt::format("--set {}: {} {}", assignment, whose,
                       names.empty() ? "has no parameters" : "knows " + names.substr(2));
  }
  if (known->most >= known->least) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < known->least ||
        number > known->most)
      return fmt::format("--set {}: {} is a number between {} and {}", assignment, name, known->least,
                         known->most);
  }
  values[name] = value;
  return std::nullopt;
}

std::expected<std::uint64_t, std::string> parse_count(const std::string& text) {
  const auto number = leading_number(text);
  const auto count = number && number->second.empty() ? whole(number->first) : std::nullopt;
  if (!count) return std::unexpected(fmt::format("'{}' is no number; write 10000000 or 1e7", text));
  return *count;
}

std::expected<std::uint64_t, std::string> parse_size(const std::string& text) {
  const auto number = leading_number(text);
  std::optional<std::uint64_t> bytes;
  if (number) {
    const std::string& unit = number->second;
    const double scale = unit.empty() || unit == "B" ? 1.0
                         : unit == "K"               ? 1024.0
                         : unit == "M"               ? 1024.0 * 1024
                         : unit == "G"               ? 1024.0 * 1024 * 1024
                                                     : 0.0;
    bytes = whole(std::floor(number->first * scale));
  }
  if (!bytes) return std::unexpected(fmt::format("'{}' is no size; write 500M or 2G", text));
  return *bytes;
}

}  // namespace conclave::cli
