#include "protocols/mutex/voting_sets.hpp"

#include <algorithm>
#include <cmath>

namespace conclave::mutex {
namespace {

struct PrimePower {
  std::uint32_t prime = 0;
  std::uint32_t exponent = 0;
};

std::optional<PrimePower> prime_power(std::uint32_t q) {
  if (q < 2) return std::nullopt;
  std::uint32_t prime = 2;
  while (prime * prime <= q && q % prime != 0) ++prime;
  if (prime * prime > q) prime = q;
  PrimePower result = {prime, 0};
  while (q % prime == 0) {
    q /= prime;
    ++result.exponent;
  }
  if (q != 1) return std::nullopt;
  return result;
}

// The powers of x in the field of prime^degree elements, each as its coefficients read as one number to
// base `prime`; empty if the polynomial (given without its leading 1) is not primitive.
std::vector<std::uint64_t> powers_of_x(std::uint32_t prime, std::uint32_t degree, std::uint64_t polynomial,
                                       std::uint64_t field_size) {
  const std::uint64_t top = field_size / prime;  // place value of the highest coefficient
  std::vector<std::uint64_t> powers = {1};
  powers.reserve(field_size - 1);
  std::uint64_t element = 1;
  while (true) {
    // Times x: shift up, then subtract the overflowing coefficient times the polynomial.
    const std::uint64_t overflow = element / top;
    std::uint64_t shifted = element % top * prime;
    if (overflow != 0) {
      std::uint64_t reduced = 0;
      std::uint64_t rest = polynomial;
      std::uint64_t place = 1;
      for (std::uint32_t i = 0; i < degree; ++i, place *= prime, rest /= prime, shifted /= prime) {
        const std::uint64_t digit = (shifted % prime + (prime - overflow) * (rest % prime)) % prime;
        reduced += digit * place;
      }
      shifted = reduced;
    }
    element = shifted;
    if (element == 1) break;
    if (element == 0 || powers.size() == field_size - 1) return {};
    powers.push_back(element);
  }
  if (powers.size() != field_size - 1) return {};
  return powers;
}

bool sum_is_zero(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint32_t prime) {
  for (; a + b + c > 0; a /= prime, b /= prime, c /= prime) {
    if ((a % prime + b % prime + c % prime) % prime != 0) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> singer_difference_set(std::uint32_t q) {
  const auto power = prime_power(q);
  if (!power) return {};
  const std::uint32_t degree = 3 * power->exponent;
  const std::uint64_t field_size = std::uint64_t{q} * q * q;
  const std::uint64_t order = field_size - 1;
  for (std::uint64_t polynomial = 1; polynomial < field_size; ++polynomial) {
    if (polynomial % power->prime == 0) continue;  // divisible by x
    const auto powers = powers_of_x(power->prime, degree, polynomial, field_size);
    if (powers.empty()) continue;
    // The points of the plane are the powers of x up to a factor from the field of q elements; a line is
    // a plane through the origin, here the elements of trace x + x^q + x^(q^2) = 0.
    std::vector<std::uint32_t> line;
    const std::uint32_t points = q * q + q + 1;
    for (std::uint32_t i = 0; i < points; ++i) {
      if (sum_is_zero(powers[i], powers[std::uint64_t{i} * q % order],
                      powers[std::uint64_t{i} * q % order * q % order], power->prime))
        line.push_back(i);
    }
    ensure(line.size() == q + 1, "a line of a plane of order q has q+1 points");
    const std::uint32_t shift = line.front();
    for (std::uint32_t& point : line) point -= shift;
    return line;
  }
  return {};
}

std::optional<std::uint32_t> plane_order(std::uint32_t count) {
  // Beyond this the field tables grow large and nobody votes in sets of more than a hundred.
  constexpr std::uint32_t greatest_order = 101;
  for (std::uint32_t q = 1; q <= greatest_order && q * q + q + 1 <= count; ++q) {
    if (q * q + q + 1 == count && (q == 1 || prime_power(q))) return q;
  }
  return std::nullopt;
}

VotingSystem::VotingSystem(const NodeSet& all) : members_(all.begin(), all.end()) {
  const auto count = static_cast<std::uint32_t>(members_.size());
  if (const auto q = plane_order(count)) {
    differences_ = *q == 1 ? std::vector<std::uint32_t>{0, 1} : singer_difference_set(*q);
  } else {
    while (columns_ * columns_ < count) ++columns_;
  }
}

NodeSet VotingSystem::of(NodeId member) const {
  const auto here = std::ranges::lower_bound(members_, member);
  ensure(here != members_.end() && *here == member, "only members vote");
  const auto position = static_cast<std::uint32_t>(here - members_.begin());
  const auto count = static_cast<std::uint32_t>(members_.size());
  NodeSet set;
  for (const std::uint32_t offset : differences_) set.insert(members_[(position + offset) % count]);
  if (is_plane()) return set;
  // The last row may be short: of two members one stands in a full row, and meets the other's column there.
  const std::uint32_t row_start = position / columns_ * columns_;
  for (std::uint32_t i = row_start; i < std::min(row_start + columns_, count); ++i) set.insert(members_[i]);
  for (std::uint32_t i = position % columns_; i < count; i += columns_) set.insert(members_[i]);
  return set;
}

VotingSets voting_sets(const NodeSet& all) {
  const VotingSystem system(all);
  VotingSets sets;
  for (NodeId member : all) sets.emplace(member, system.of(member));
  return sets;
}

}  // namespace conclave::mutex
