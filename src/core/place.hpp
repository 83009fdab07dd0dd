// Where something is on a plane, in whole units, so that distances compare alike everywhere.
#pragma once
#include <compare>
#include <cstdint>

namespace conclave {

struct Place {
  std::int32_t x = 0;
  std::int32_t y = 0;
  auto operator<=>(const Place&) const = default;
};

// The square of the distance between two places.
inline std::uint64_t square_between(const Place& a, const Place& b) {
  const std::int64_t dx = std::int64_t{a.x} - b.x;
  const std::int64_t dy = std::int64_t{a.y} - b.y;
  return static_cast<std::uint64_t>(dx * dx) + static_cast<std::uint64_t>(dy * dy);
}

}  // namespace conclave
