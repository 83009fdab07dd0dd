#include "rpc/timeout_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace conclave::rpc {

namespace {

using std::chrono::nanoseconds;

struct Unit {
  char letter;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 6> units = {{
    {'n', 1},
    {'u', 1'000},
    {'m', 1'000'000},
    {'S', 1'000'000'000},
    {'M', 60'000'000'000},
    {'H', 3'600'000'000'000},
}};
constexpr std::size_t most_digits = 8;
constexpr std::int64_t most_units = 99'999'999;
// A century: added to any clock it does not overflow.
constexpr std::int64_t longest = 100LL * 365 * 24 * 3'600'000'000'000;

}  // namespace

std::optional<nanoseconds> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > most_digits + 1) return std::nullopt;
  const auto unit = std::ranges::find(units, text.back(), &Unit::letter);
  if (unit == units.end()) return std::nullopt;
  text.remove_suffix(1);
  std::uint64_t amount = 0;  // unsigned: from_chars takes no sign then
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(amount);
  if (count > longest / unit->nanoseconds) return nanoseconds(longest);
  return nanoseconds(count * unit->nanoseconds);
}

std::string format_timeout(nanoseconds left) {
  const std::int64_t wanted = std::clamp<std::int64_t>(left.count(), 0, longest);
  for (const Unit& unit : units) {
    const std::int64_t amount = (wanted + unit.nanoseconds - 1) / unit.nanoseconds;
    if (amount <= most_units) return std::to_string(amount) + unit.letter;
  }
  return std::to_string(most_units) + units.back().letter;
}

}  // namespace conclave::rpc
