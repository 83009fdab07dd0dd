// Numbers for what the API wants numbered and people give names: clusters and members.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/random.hpp"

namespace conclave::rpc {

// Whoever knows a name makes the same number of it, and never 0.
constexpr std::uint64_t number_of_name(std::string_view name) {
  std::uint64_t number = name.size() + 1;
  for (const char c : name) number = scramble(number + static_cast<unsigned char>(c));
  return number == 0 ? 1 : number;
}

}  // namespace conclave::rpc
