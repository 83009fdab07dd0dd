#include "plot/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plot/digits.hpp"

namespace conclave::plot {
namespace {

std::string power_of_ten(int exponent) {
  static const char* const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += raised[digit - '0'];
  return text;
}

// Thin spaces between thousands, from five digits on.
std::string in_thousands(std::string digits) {
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  const std::size_t whole = std::min(digits.find('.'), digits.size());
  if (whole - sign < 5) return digits;
  for (std::size_t at = whole; at > sign + 3;) {
    at -= 3;
    digits.insert(at, "\u2009");
  }
  return digits;
}

// 1, 2 or 5 times a power of ten, the least that is not smaller.
double pleasant(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string label_of(double number, double step) {
  if (std::abs(number) < step * 1e-6) return "0";
  const int size = static_cast<int>(std::floor(std::log10(std::abs(number)) + 1e-9));
  if (size >= 7 || size < -4) {
    const std::string mantissa = digits_of(number / std::pow(10.0, size), 2, true);
    if (mantissa == "1") return power_of_ten(size);
    return mantissa + "×" + power_of_ten(size);
  }
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  return in_thousands(digits_of(number, std::min(decimals, 9), false));
}

Ruler::Ruler(Scale scale, const std::vector<double>& numbers, int room) : scale_(scale) {
  double least = INFINITY;
  double most = -INFINITY;
  for (const double number : numbers) {
    if (!std::isfinite(number) || (scale == Scale::logarithmic && number <= 0)) continue;
    least = std::min(least, number);
    most = std::max(most, number);
  }
  if (least > most) {
    least = scale == Scale::logarithmic ? 1 : 0;
    most = scale == Scale::logarithmic ? 10 : 1;
  }
  if (scale == Scale::logarithmic) {
    divide_decades(least, most, room);
  } else {
    divide_evenly(least, most, room);
  }
}

Ruler::Ruler(const Axis& axis, const std::vector<double>& numbers, int room)
    : Ruler(axis.scale, axis.begin < axis.end ? std::vector{axis.begin, axis.end} : numbers, room) {
  const bool possible = axis.scale == Scale::linear || axis.begin > 0;
  if (axis.begin < axis.end && possible) mark_between_ends(axis.begin, axis.end, room);
}

// Rounded outwards there are marks enough, and some too many.
void Ruler::mark_between_ends(double begin, double end, int room) {
  has_ends_ = true;
  low_ = begin;
  high_ = end;
  std::erase_if(marks_, [&](const Mark& mark) { return mark.at < begin || mark.at > end; });
  if (scale_ == Scale::linear) return;
  const auto leading_digit = [](double number) {
    return std::lround(number / std::pow(10.0, std::floor(std::log10(number) + 1e-9)));
  };
  const auto is_pleasant = [&](const Mark& mark) {
    const auto digit = leading_digit(mark.at);
    return digit == 1 || digit == 2 || digit == 5;
  };
  // A third of a decade is as far as from one label to the next.
  if (std::ranges::count_if(marks_, is_pleasant) > room + 3) return;
  for (Mark& mark : marks_) {
    if (is_pleasant(mark)) mark.label = label_of(mark.at, mark.at);
  }
}

void Ruler::divide_evenly(double least, double most, int room) {
  // Numbers that are all alike, or so close together that a step between them would vanish.
  const double size = std::max(std::abs(least), std::abs(most));
  if (most - least <= size * 1e-12) {
    const double half = size == 0 ? 1 : size / 2;
    least -= half;
    most += half;
  }
  // In halves: the distance between two doubles need not be one.
  const double step = pleasant(std::max((most / 2 - least / 2) / room * 2, 1e-300));
  const auto first = std::floor(least / step + 1e-9);
  const auto last = std::ceil(most / step - 1e-9);
  low_ = std::max(first * step, -1e308);
  high_ = std::min(last * step, 1e308);
  for (double nth = first; nth <= last; nth += 1) marks_.push_back({nth * step, label_of(nth * step, step)});
}

void Ruler::divide_decades(double least, double most, int room) {
  const int first = static_cast<int>(std::floor(std::log10(least) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(most) - 1e-9));
  if (last == first) ++last;
  low_ = std::max(std::pow(10.0, first), 1e-307);
  high_ = std::min(std::pow(10.0, last), 1e308);
  const int decades = last - first;
  const int every = (decades + room - 1) / room;  // decades from one label to the next
  const bool has_room_within = decades * 3 <= room;
  for (int exponent = first; exponent <= last; ++exponent) {
    const double power = std::pow(10.0, exponent);
    if ((exponent - first) % every == 0) marks_.push_back({power, label_of(power, power)});
    if (exponent == last || every > 1) continue;
    for (int factor = 2; factor <= 9; ++factor) {
      const bool labelled = has_room_within && (factor == 2 || factor == 5);
      marks_.push_back({factor * power, labelled ? label_of(factor * power, power) : std::string()});
    }
  }
}

bool Ruler::shows(double number) const {
  if (has_ends_ && !(number >= low_ && number <= high_)) return false;
  return std::isfinite(number) && (scale_ == Scale::linear || number > 0);
}

double Ruler::place(double number) const {
  if (scale_ == Scale::logarithmic)
    return (std::log10(number) - std::log10(low_)) / (std::log10(high_) - std::log10(low_));
  return (number / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
}

}  // namespace conclave::plot
