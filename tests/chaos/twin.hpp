// Which line of the server is wrong, in a process that is broken on purpose: the environment says so.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>

namespace conclave::chaos {

inline bool twin(std::string_view name) {
  static const std::string chosen = [] {
    const char* const value = std::getenv("CONCLAVE_TWIN");
    return std::string(value ? value : "");
  }();
  return chosen == name;
}

}  // namespace conclave::chaos
