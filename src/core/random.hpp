// Numbers that look random and depend on nothing but what they were made from. The standard library's
// distributions are not the same everywhere; these are.
#pragma once
#include <cstdint>

namespace conclave {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// One draw, from bits that were scrambled already.
class ScrambledBits {
 public:
  constexpr explicit ScrambledBits(std::uint64_t bits) : bits_(bits) {}

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

}  // namespace conclave
