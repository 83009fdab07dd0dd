#include "cli/retention.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace conclave::cli {
namespace {

using Error = std::unexpected<std::string>;
using Mode = etcd::CompactorOptions::Mode;

constexpr double longest = 100.0 * 365 * 24 * 3600 * 1000;  // ms

// Takes a number from the front.
std::optional<double> number_at(std::string_view& text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;  // nor what is no number at all
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<double> unit_at(std::string_view& text) {
  for (const auto& [name, ms] : {std::pair{"ms", 1.0}, {"h", 3'600'000.0}, {"m", 60'000.0}, {"s", 1000.0}}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(std::string_view(name).size());
    return ms;
  }
  return std::nullopt;
}

// As Go writes times; a number alone are hours.
std::optional<double> milliseconds_in(std::string_view text) {
  double sum = 0;
  for (bool first = true; first || !text.empty(); first = false) {
    const auto number = number_at(text);
    if (!number) return std::nullopt;
    if (first && text.empty()) return *number * 3'600'000;
    const auto unit = unit_at(text);
    if (!unit) return std::nullopt;
    sum += *number * *unit;
  }
  return sum;
}

std::expected<etcd::CompactorOptions, std::string> by_age(const std::string& retention) {
  const auto ms = milliseconds_in(retention);
  if (!ms || *ms > longest)
    return Error(fmt::format(
        "--auto-compaction-retention: '{}' is no time; write 5m, 1h30m, or hours as a number", retention));
  if (*ms == 0) return etcd::CompactorOptions{.mode = Mode::off};
  if (*ms < 1000)
    return Error(fmt::format("--auto-compaction-retention: '{}' is less than a second", retention));
  return etcd::CompactorOptions{.age = std::chrono::milliseconds(std::llround(*ms)), .least_bytes = {}};
}

std::expected<etcd::CompactorOptions, std::string> by_revisions(const std::string& retention) {
  kv::Revision revisions = 0;
  const char* const last = retention.data() + retention.size();
  const auto [end, error] = std::from_chars(retention.data(), last, revisions);
  if (error != std::errc{} || end != last || revisions < 0)
    return Error(
        fmt::format("--auto-compaction-retention: '{}' is no number of revisions; write 100000", retention));
  if (revisions == 0) return etcd::CompactorOptions{.mode = Mode::off};
  return etcd::CompactorOptions{.mode = Mode::revisions, .revisions = revisions, .least_bytes = {}};
}

}  // namespace

std::expected<etcd::CompactorOptions, std::string> retention_in(const std::string& mode,
                                                                const std::string& retention) {
  if (!mode.empty() && mode != "periodic" && mode != "revision")
    return Error(fmt::format("--auto-compaction-mode: '{}' is neither periodic nor revision", mode));
  if (mode != "revision") return retention.empty() ? etcd::CompactorOptions{} : by_age(retention);
  if (retention.empty())
    return Error("--auto-compaction-mode revision: how many stay? --auto-compaction-retention says so");
  return by_revisions(retention);
}

}  // namespace conclave::cli
