// Numbers as text that is the same on every machine and in every locale.
#pragma once
#include <charconv>
#include <string>

namespace conclave::plot {

// With that many decimals; zeros at the end are dropped if `brief`. Never "-0".
inline std::string digits_of(double number, int decimals, bool brief) {
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed, decimals).ptr;
  std::string text(buffer, end);
  if (brief && text.find('.') != std::string::npos) {
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
  }
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

}  // namespace conclave::plot
