// What the contenders of the benchmark all run, and what each says about one run of it.
#pragma once
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "sim/random.hpp"

namespace conclave::bench {

struct Workload {
  enum class Kind {
    ring,  // nobody asks, the token goes round
    burst  // Ricart-Agrawala, everybody asks at once
  };
  Kind kind;
  std::uint32_t nodes;
  std::uint64_t messages;  // that one run delivers
  std::uint32_t runs;      // per measurement: short runs are measured together
  bool spread = false;     // delays of 1 to 1000 ticks instead of always 10

  std::string name() const {
    const std::string what = kind == Kind::ring ? "token ring" : "Ricart-Agrawala burst";
    return what + ", " + std::to_string(nodes) + " nodes, delay " + (spread ? "1-1000" : "10");
  }
};

inline constexpr std::uint64_t seed = 1;
inline constexpr std::uint64_t fixed_delay = 10;
inline constexpr std::uint64_t least_delay = 1;
inline constexpr std::uint64_t most_delay = 1000;

// Building, starting and destroying the nodes is not part of the measured time.
struct Outcome {
  std::uint64_t delivered = 0;
  double seconds = 0;
};

// Runs by the processor time of this thread: whoever else uses the machine meanwhile does not count.
class Stopwatch {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double begin_ = now();
};

// The delays of the references. The spread ones are the very numbers that the simulator draws.
struct FixedDelays {
  explicit FixedDelays(const Workload&) {}
  std::uint64_t next(std::uint32_t) { return fixed_delay; }
};
struct SpreadDelays {
  std::vector<std::uint64_t> sent;  // per node
  explicit SpreadDelays(const Workload& workload) : sent(workload.nodes) {}
  std::uint64_t next(std::uint32_t from) {
    return sim::Draw(seed, sim::Purpose::delay, from, ++sent[from]).between(least_delay, most_delay);
  }
};

}  // namespace conclave::bench
