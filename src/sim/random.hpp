// Random numbers that depend on nothing but a seed and what they are for.
//
// A draw is a function of (seed, purpose, who, how many before), not of the order in which the run asks:
// dropping one fault or one request from a run leaves every other draw as it was, so that a failing run
// can be shrunk.
#pragma once
#include <cmath>
#include <cstdint>

#include "core/random.hpp"

namespace conclave::sim {

enum class Purpose : std::uint64_t {
  delay = 1,
  think,
  hold,
  timer,
  coin,
  loss,
  duplication,
  slowness,
  reorder,
  plan,
  chatter,
  detection,
  clock,
  proposal,
  schedule,
  garbage,
  disk,
  chore,
  tail,
  stall,
  jitter
};

class Draw : public ScrambledBits {
 public:
  constexpr Draw(std::uint64_t seed, Purpose purpose, std::uint64_t who, std::uint64_t nth)
      : ScrambledBits(scramble(scramble(seed ^ static_cast<std::uint64_t>(purpose) << 56) ^
                               scramble(who * 0x632be59bd9b4e019u + nth))) {}
};

}  // namespace conclave::sim
