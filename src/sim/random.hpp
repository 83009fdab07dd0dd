// Random numbers that depend on nothing but a seed and what they are for.
//
// A draw is a function of (seed, purpose, who, how many before), not of the order in which the run asks:
// dropping one fault or one request from a run leaves every other draw as it was, so that a failing run
// can be shrunk. The standard library's distributions are not the same everywhere; these are.
#pragma once
#include <cmath>
#include <cstdint>

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
  clock
};

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Draw {
 public:
  constexpr Draw(std::uint64_t seed, Purpose purpose, std::uint64_t who, std::uint64_t nth)
      : bits_(scramble(scramble(seed ^ static_cast<std::uint64_t>(purpose) << 56) ^
                       scramble(who * 0x632be59bd9b4e019u + nth))) {}

  constexpr std::uint64_t bits() const { return bits_; }
  // Uniform in [0, bound), bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(bits_) * bound >> 64);
  }
  constexpr std::uint64_t between(std::uint64_t least, std::uint64_t most) const {
    return least + below(most - least + 1);
  }
  // Uniform in (0, 1].
  double unit() const { return (static_cast<double>(bits_ >> 11) + 1.0) * 0x1.0p-53; }
  bool chance(double probability) const { return unit() <= probability; }

 private:
  std::uint64_t bits_;
};

}  // namespace conclave::sim
