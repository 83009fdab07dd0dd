// Who takes the next step, when nothing but a scheduler decides: drawn from a seed, or as given.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_id.hpp"
#include "sim/random.hpp"

namespace conclave::sim {

struct Schedule {
  enum class Mode : std::uint8_t {
    drawn,    // one of the next three, by the seed
    uniform,  // everybody has the same chance at every step
    bursty,   // one process runs for a while, then another
    unfair,   // some processes are sixteen times slower than the others
    given,    // round and round through a list; whoever has nothing to do is passed over
  };
  Mode mode = Mode::drawn;
  std::vector<NodeId> list = {};

  // drawn, uniform, bursty, unfair, or ids such as 2,2,1.
  static std::expected<Schedule, std::string> parse(std::string_view text, std::uint32_t nodes);
};

class Scheduler {
 public:
  Scheduler(Schedule schedule, std::uint64_t seed);
  // One of `runnable`, indices of processes in any order; not empty.
  std::uint32_t pick(const std::vector<std::uint32_t>& runnable);

 private:
  Draw draw() { return Draw(seed_, Purpose::schedule, 0, ++draws_); }
  std::uint32_t any_of(const std::vector<std::uint32_t>& runnable) {
    return runnable[draw().below(runnable.size())];
  }
  bool slow(std::uint32_t index) const { return Draw(seed_, Purpose::schedule, 1 + index, 0).below(2) == 0; }

  Schedule schedule_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::uint32_t current_ = 0;
  std::uint64_t burst_left_ = 0;
  std::size_t next_ = 0;  // place in the given list
};

}  // namespace conclave::sim
