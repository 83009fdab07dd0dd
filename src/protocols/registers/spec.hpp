// Mutual exclusion between processes that share registers: to its users the same problem as by messages, so
// the same commands, events and client.
#pragma once
#include "core/program.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::registers {

struct Spec : mutex::Spec {
  using Acquire = mutex::Acquire;
  using Release = mutex::Release;
  using Granted = mutex::Granted;
};

using mutex::Acquire;
using mutex::Granted;
using mutex::Queued;
using mutex::Release;

}  // namespace conclave::registers
