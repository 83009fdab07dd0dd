// Counts what operator new hands out, in this program as a whole.
#pragma once
#include <cstdint>

namespace conclave::bench {

struct Allocations {
  std::uint64_t count = 0;
  std::int64_t live_bytes = 0;  // handed out and not yet given back, since counting began
};

// Not counting costs one untaken branch per allocation, so that contenders that allocate per message are
// not slowed down by being watched.
void start_counting();
Allocations counted();  // since then
void stop_counting();

}  // namespace conclave::bench
