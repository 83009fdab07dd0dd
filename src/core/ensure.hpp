// A claim we believe to be true. It is checked in every build: a protocol that broke its own rules must
// stop, and the checker and the simulator turn the exception into a counterexample.
#pragma once
#include <source_location>
#include <stdexcept>
#include <string>

namespace conclave {

struct InvariantViolation : std::logic_error {
  std::source_location where;
  InvariantViolation(const std::string& what, std::source_location at) : std::logic_error(what), where(at) {}
};

[[noreturn]] inline void fail(const char* belief, std::source_location where) {
  throw InvariantViolation(std::string(belief), where);
}

inline void ensure(bool claim, const char* belief,
                   std::source_location where = std::source_location::current()) {
  if (!claim) [[unlikely]]
    fail(belief, where);
}

}  // namespace conclave
