#include "accept/arithmetic.hpp"

#include <gtest/gtest.h>

#include "accept/vectors.hpp"

namespace conclave::accept {
namespace {

TEST(Arithmetic, KnowsPrecedenceAndProductsWithoutASign) {
  const Numbers names = {{"n", 8}, {"p", 3}};
  EXPECT_EQ(evaluate("p*p+n-2", names), 15);
  EXPECT_EQ(evaluate("2p + n - 2", names), 12);
  EXPECT_EQ(evaluate("p(n-1) + p(p-1)/2 + (n-1)", names), 31);
  EXPECT_EQ(evaluate("n^2-n-1", names), 55);
  EXPECT_EQ(evaluate("7", names), 7);
}

TEST(Arithmetic, PicksTheCaseThatApplies) {
  const char* formula = "2p+n-2 for p>=2, n-1 for p=1, with p=n-1-k";
  EXPECT_EQ(evaluate_cases(formula, {{"n", 8}, {"k", 4}}), 12);
  EXPECT_EQ(evaluate_cases(formula, {{"n", 8}, {"k", 6}}), 7);
  EXPECT_EQ(evaluate_cases(formula, {{"n", 8}, {"k", 7}}), std::nullopt);
  EXPECT_EQ(evaluate_cases("p*p+n-2 with p=n-1-k", {{"n", 5}, {"k", 0}}), 19);
}

TEST(Arithmetic, RefusesWhatIsNoFormula) {
  EXPECT_THROW(evaluate("", {}), CannotPlay);
  EXPECT_THROW(evaluate("n+", {{"n", 1}}), CannotPlay);
  EXPECT_THROW(evaluate("q", {{"n", 1}}), CannotPlay);
  EXPECT_THROW(evaluate("1/0", {}), CannotPlay);
  EXPECT_THROW(evaluate("(1", {}), CannotPlay);
  EXPECT_THROW(evaluate(std::string(1000, '('), {}), CannotPlay);
  EXPECT_THROW(evaluate_cases("n for ever", {{"n", 1}}), CannotPlay);
}

}  // namespace
}  // namespace conclave::accept
