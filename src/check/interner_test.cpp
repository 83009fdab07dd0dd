#include "check/interner.hpp"

#include <gtest/gtest.h>

namespace conclave::check {
namespace {

TEST(Interner, EqualValuesGetTheSameNumber) {
  Interner<std::string> words;
  EXPECT_EQ(words.intern("a"), std::pair(Id{0}, true));
  EXPECT_EQ(words.intern("b"), std::pair(Id{1}, true));
  EXPECT_EQ(words.intern("a"), std::pair(Id{0}, false));
  EXPECT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0], "a");
  EXPECT_EQ(words[1], "b");
  EXPECT_GT(words.bytes(), 0u);
}

TEST(Interner, ManyValuesKeepTheirNumbers) {
  Interner<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 3'000; ++i) EXPECT_EQ(numbers.intern(i * 7), std::pair(Id(i), true));
  for (std::uint64_t i = 0; i < 3'000; ++i) EXPECT_EQ(numbers.intern(i * 7), std::pair(Id(i), false));
}

// Sums of fingerprints stand for whole states, so the same content in another role must look different.
TEST(Interner, SaltTellsKindsApart) {
  const Fingerprint plain = fingerprint(std::uint64_t{5});
  EXPECT_EQ(salted(1, plain.high, plain.low), salted(1, plain.high, plain.low));
  EXPECT_NE(salted(1, plain.high, plain.low), salted(2, plain.high, plain.low));
}

}  // namespace
}  // namespace conclave::check
