#include "protocols/consensus/order.hpp"

#include <gtest/gtest.h>

namespace conclave::consensus {
namespace {

const Keys keys = {5};
const NodeSet members = {{1}, {2}, {3}};

TEST(Order, IsAuthenticWhenEverybodyNamedSignedInTurn) {
  const Order order = Order{4}.endorsed(keys, {1}).endorsed(keys, {3});
  EXPECT_TRUE(order.authentic(keys));
  EXPECT_TRUE(order.well_formed({1}, members));
  EXPECT_TRUE(order.signed_by({3}));
  EXPECT_FALSE(order.signed_by({2}));
}

TEST(Order, WithAnotherValueIsNot) {
  Order order = Order{4}.endorsed(keys, {1}).endorsed(keys, {3});
  order.value = 5;
  EXPECT_FALSE(order.authentic(keys));
}

TEST(Order, CannotLoseASignatureInTheMiddle) {
  Order order = Order{4}.endorsed(keys, {1}).endorsed(keys, {2}).endorsed(keys, {3});
  order.chain.erase(order.chain.begin() + 1);
  EXPECT_FALSE(order.authentic(keys));
}

TEST(Order, CanLoseItsLastSignature) {
  Order order = Order{4}.endorsed(keys, {1}).endorsed(keys, {2});
  order.chain.pop_back();
  EXPECT_TRUE(order.authentic(keys));
}

TEST(Order, SignedInTheNameOfAnotherIsNot) {
  Order order = Order{4};
  order.chain.push_back({{1}, sign(keys, {2}, order.text(0))});
  EXPECT_FALSE(order.authentic(keys));
  EXPECT_FALSE(Order{4}.endorsed_by_word({1}).authentic(keys));
}

TEST(Order, MustComeFromTheSourceAndNameNobodyTwice) {
  EXPECT_FALSE(Order{4}.well_formed({1}, members));
  EXPECT_FALSE(Order{4}.endorsed(keys, {2}).well_formed({1}, members));
  EXPECT_FALSE(Order{4}.endorsed(keys, {1}).endorsed(keys, {1}).well_formed({1}, members));
  EXPECT_FALSE(Order{4}.endorsed(keys, {1}).endorsed(keys, {9}).well_formed({1}, members));
}

}  // namespace
}  // namespace conclave::consensus
