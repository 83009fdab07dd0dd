#include "protocols/consensus/signatures.hpp"

#include <gtest/gtest.h>

namespace conclave::consensus {
namespace {

TEST(Signatures, AreTheSameEveryTime) {
  const std::string once = sign({}, {1}, "attack");
  EXPECT_EQ(once.size(), 128u);
  EXPECT_EQ(sign({}, {1}, "attack"), once);
}

TEST(Signatures, ConvinceOfTheirTextOnly) {
  const std::string signature = sign({}, {1}, "attack");
  EXPECT_TRUE(verify({}, {1}, "attack", signature));
  EXPECT_FALSE(verify({}, {1}, "retreat", signature));
}

TEST(Signatures, ConvinceOfTheirSignerOnly) {
  EXPECT_FALSE(verify({}, {2}, "attack", sign({}, {1}, "attack")));
  EXPECT_FALSE(verify({7}, {1}, "attack", sign({8}, {1}, "attack")));
}

TEST(Signatures, BreakWhenOneDigitChanges) {
  std::string signature = sign({}, {1}, "attack");
  for (const std::size_t at : {std::size_t{0}, std::size_t{64}, std::size_t{127}}) {
    std::string changed = signature;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_FALSE(verify({}, {1}, "attack", changed)) << at;
  }
}

TEST(Signatures, AreNotJustAnyText) {
  EXPECT_FALSE(verify({}, {1}, "attack", ""));
  EXPECT_FALSE(verify({}, {1}, "attack", std::string(128, 'x')));
  EXPECT_FALSE(verify({}, {1}, "attack", sign({}, {1}, "attack") + "00"));
}

}  // namespace
}  // namespace conclave::consensus
