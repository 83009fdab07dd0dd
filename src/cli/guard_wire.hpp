// What passes between a verb and its guard: records of fixed size over a socket that keeps them apart.
#pragma once
#include "cli/guard.hpp"

namespace conclave::cli {

struct GuardOrder {
  enum class Kind : int { run, renew, signal, kill };
  Kind kind = Kind::run;
  int signal = 0;
  std::int64_t fence = 0;
  Term term = {};
};

// The guard's whole life. `socket` ends when its parent does.
[[noreturn]] void be_guard(int socket, const GuardedCommand& command);

// Kills every child of this process, those that it adopts meanwhile too, and waits for them. The status of
// `of`, if it was among them.
std::optional<int> kill_children(pid_t of);

}  // namespace conclave::cli
