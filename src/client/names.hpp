// What a lock or an election may be called.
#pragma once
#include <conclave/client.hpp>
#include <string_view>

namespace conclave {

inline constexpr std::size_t longest_name = 4096;

inline std::optional<Error> wrong_name(std::string_view what, const std::string& name) {
  if (name.empty()) return Error{ErrorKind::invalid, "the " + std::string(what) + " needs a name"};
  if (name.size() > longest_name)
    return Error{ErrorKind::invalid, "the name of the " + std::string(what) + " is longer than 4096 bytes"};
  return std::nullopt;
}

}  // namespace conclave
