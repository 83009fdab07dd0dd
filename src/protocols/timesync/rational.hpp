// Exact fractions, for formulas whose results must not be rounded. Always reduced, the denominator positive;
// results that do not fit 64 bits break a rule instead of being wrong.
#pragma once
#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ensure.hpp"

namespace conclave::timesync {

__extension__ using Wide = __int128;

constexpr bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

inline std::int64_t narrow(Wide value) {
  ensure(fits(value), "the result fits 64 bits");
  return static_cast<std::int64_t>(value);
}

// Towards minus infinity, where C++ rounds towards zero; the divisor is positive.
constexpr Wide floor_divide(Wide dividend, Wide divisor) {
  const Wide quotient = dividend / divisor;
  return quotient - (dividend % divisor < 0 ? 1 : 0);
}
constexpr Wide ceil_divide(Wide dividend, Wide divisor) { return -floor_divide(-dividend, divisor); }

struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  bool operator==(const Rational&) const = default;

  static Rational of(Wide numerator, Wide denominator = 1) {
    ensure(denominator != 0, "nothing is divided by zero");
    if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
    }
    Wide divisor = denominator;
    for (Wide rest = numerator < 0 ? -numerator : numerator; rest != 0;) {
      const Wide next = divisor % rest;
      divisor = rest;
      rest = next;
    }
    return {narrow(numerator / divisor), narrow(denominator / divisor)};
  }

  friend Rational operator+(const Rational& a, const Rational& b) {
    return of(Wide{a.numerator} * b.denominator + Wide{b.numerator} * a.denominator,
              Wide{a.denominator} * b.denominator);
  }
  friend Rational operator-(const Rational& a, const Rational& b) {
    return of(Wide{a.numerator} * b.denominator - Wide{b.numerator} * a.denominator,
              Wide{a.denominator} * b.denominator);
  }
  friend Rational operator*(const Rational& a, const Rational& b) {
    return of(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
  }
  friend Rational operator/(const Rational& a, const Rational& b) {
    return of(Wide{a.numerator} * b.denominator, Wide{a.denominator} * b.numerator);
  }
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    return Wide{a.numerator} * b.denominator <=> Wide{b.numerator} * a.denominator;
  }

  bool whole() const { return denominator == 1; }
  std::int64_t floor() const { return narrow(floor_divide(numerator, denominator)); }
  double approximate() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  // "275/3", or "140" where nothing is left to divide by.
  std::string to_string() const {
    return std::to_string(numerator) + (whole() ? std::string() : "/" + std::to_string(denominator));
  }

  // "-5/12", "140", "0.5", "1e-6"; none if it is not a number, or too long a one.
  static std::optional<Rational> parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) {
      const auto above = parse(text.substr(0, slash));
      const auto below = parse(text.substr(slash + 1));
      if (!above || !below || !below->whole() || below->numerator <= 0 || !above->whole())
        return std::nullopt;
      return of(above->numerator, below->numerator);
    }
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    constexpr int most_digits = 18;
    std::int64_t digits = 0;
    int seen = 0;
    int exponent = 0;
    bool after_point = false;
    while (!text.empty() && text.front() != 'e' && text.front() != 'E') {
      const char c = text.front();
      text.remove_prefix(1);
      if (c == '.' && !after_point) {
        after_point = true;
        continue;
      }
      if (c < '0' || c > '9' || ++seen > most_digits) return std::nullopt;
      digits = 10 * digits + (c - '0');
      if (after_point) --exponent;
    }
    if (seen == 0) return std::nullopt;
    if (!text.empty()) {
      text.remove_prefix(1);
      if (text.starts_with('+')) text.remove_prefix(1);
      int power = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), power);
      if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
      if (power > most_digits || power < -most_digits) return std::nullopt;
      exponent += power;
    }
    Wide numerator = negative ? -digits : digits;
    Wide denominator = 1;
    for (; exponent > 0; --exponent) numerator *= 10;
    for (; exponent < 0; ++exponent) denominator *= 10;
    const Rational zero = {};
    if (numerator == 0) return zero;
    // Reduced first: 5000e-18 fits although its denominator as written does not.
    while (denominator > 1 && numerator % 10 == 0) {
      numerator /= 10;
      denominator /= 10;
    }
    if (!fits(numerator) || !fits(denominator)) return std::nullopt;
    return of(numerator, denominator);
  }
};

}  // namespace conclave::timesync
