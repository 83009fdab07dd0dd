#include "protocols/timesync/rational.hpp"

#include <gtest/gtest.h>

namespace conclave::timesync {
namespace {

TEST(Rational, IsReducedWithAPositiveDenominator) {
  EXPECT_EQ(Rational::of(-40, 400), (Rational{-1, 10}));
  EXPECT_EQ(Rational::of(5, -10), (Rational{-1, 2}));
  EXPECT_EQ(Rational::of(0, -7), (Rational{0, 1}));
}

TEST(Rational, CalculatesExactly) {
  const Rational third = {1, 3};
  EXPECT_EQ(third + third + third, Rational{1});
  EXPECT_EQ(third - Rational{1}, (Rational{-2, 3}));
  EXPECT_EQ(third * Rational{6}, Rational{2});
  EXPECT_EQ(third / Rational::of(2, 3), (Rational{1, 2}));
  EXPECT_LT(third, Rational::of(1, 2));
  EXPECT_GT(third, Rational{-1});
}

TEST(Rational, RoundsDownAlsoBelowZero) {
  EXPECT_EQ(Rational::of(7, 2).floor(), 3);
  EXPECT_EQ(Rational::of(-7, 2).floor(), -4);
  EXPECT_EQ(Rational{-4}.floor(), -4);
}

TEST(Rational, IsWrittenAsAFractionOrAWholeNumber) {
  EXPECT_EQ(Rational::of(275, 3).to_string(), "275/3");
  EXPECT_EQ(Rational::of(-6, 5).to_string(), "-6/5");
  EXPECT_EQ(Rational{140}.to_string(), "140");
}

TEST(Rational, ReadsFractionsDecimalsAndPowers) {
  EXPECT_EQ(Rational::parse("-5/12"), Rational::of(-5, 12));
  EXPECT_EQ(Rational::parse("140"), Rational{140});
  EXPECT_EQ(Rational::parse("0.5"), Rational::of(1, 2));
  EXPECT_EQ(Rational::parse("1e-6"), Rational::of(1, 1'000'000));
  EXPECT_EQ(Rational::parse("2.5E+3"), Rational{2'500});
  EXPECT_EQ(Rational::parse("-0"), Rational{0});
}

TEST(Rational, RefusesWhatIsNoNumberOrTooLong) {
  for (const char* text : {"", "-", "x", "1/0", "1/-2", "1.5/2", "1..2", "1e", "1e99", "--1", "1 ", "/3",
                           "12345678901234567890", "1e18e1", "9999999e18"})
    EXPECT_FALSE(Rational::parse(text)) << text;
}

TEST(Rational, BreaksARuleRatherThanOverflow) {
  const Rational huge = {INT64_MAX};
  EXPECT_THROW(huge + Rational{1}, InvariantViolation);
  EXPECT_THROW(huge * huge, InvariantViolation);
  EXPECT_THROW(Rational{1} / Rational{0}, InvariantViolation);
  EXPECT_EQ(huge * Rational::of(1, INT64_MAX), Rational{1});
}

}  // namespace
}  // namespace conclave::timesync
