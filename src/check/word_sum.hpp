// 128 bits that stand for a state, by the numbers that it is made of: two sums of each number times a key of
// its place, modulo 2^64. A step changes a few numbers, and so a few terms.
//
// Keys are odd: two states that differ in one place only never agree in either sum. If they differ in more,
// and 2^v is the greatest power of two that divides all the differences, they agree in a sum with a chance of
// at most 2^(v-63), for whatever is left of it determines the lower 64-v bits of one key. Odd differences are
// the rule.
#pragma once
#include <array>
#include <cstdint>

#include "check/interner.hpp"

namespace conclave::check {

struct WordKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// One for each place, and one that every state has, drawn by Vigna's splitmix64.
inline constexpr auto word_keys = [] {
  std::array<WordKey, 65> keys{};
  std::uint64_t state = 0x636f6e636c617665u;
  const auto draw = [&state] {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  };
  for (WordKey& key : keys) key = {draw() | 1, draw() | 1};
  return keys;
}();

struct WordSum {
  static constexpr std::uint32_t most_words = word_keys.size() - 1;

  std::uint64_t first = 0;  // both 0: the sum of no state
  std::uint64_t second = 0;

  static WordSum of(const Id* words, std::uint32_t count) {
    WordSum sum = {word_keys[most_words].first, word_keys[most_words].second};
#pragma GCC unroll 8
    for (std::uint32_t at = 0; at < count; ++at) sum.change(at, 0, words[at]);
    return sum;
  }
  void change(std::uint32_t at, Id from, Id to) {
    const std::uint64_t difference = std::uint64_t{to} - from;
    first += word_keys[at].first * difference;
    second += word_keys[at].second * difference;
  }
  bool operator==(const WordSum&) const = default;
};

}  // namespace conclave::check
