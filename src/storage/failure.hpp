// What can go wrong with files, as a value: a kind to act on, and a sentence for whoever has to mend it.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace conclave::storage {

enum class FailureKind {
  in_use,         // another process has the directory
  wrong_version,  // written by a program that this one does not understand
  wrong_stamp,    // somebody else's data
  damaged,        // bytes that were durable are not what they were
  no_space,       // the disk is full
  no_descriptor,  // as many files are open as may be
  no_memory,      // the kernel has none
  io,             // the system refused; nothing may be assumed of what was under way
};

// Something is wanting that may be there later: nothing was lost, and the same may be tried again.
inline bool passes(FailureKind kind) {
  return kind == FailureKind::no_space || kind == FailureKind::no_descriptor ||
         kind == FailureKind::no_memory;
}

struct Failure {
  FailureKind kind = {};
  std::string text = {};
  bool passes() const { return storage::passes(kind); }
};

template <class T>
using Result = std::expected<T, Failure>;

// "cannot write data/log-1 at byte 4096: No space left on device", and what to do about it.
Failure system_failure(std::string_view action, const std::string& path, std::uint64_t offset, int error);
Failure system_failure(std::string_view action, const std::string& path, int error);
// The same of a sync: whatever the reason, what was written before it may be lost, so it is `io`.
Failure sync_failure(const std::string& path, int error);

}  // namespace conclave::storage
