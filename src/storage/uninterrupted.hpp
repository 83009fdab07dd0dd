// Calls of the system that a signal may interrupt before they did anything: those are made again.
#pragma once
#include <cerrno>

namespace conclave::storage {

template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace conclave::storage
