#include "protocols/election/ring.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

TEST(Ring, KnowsWhoFollowsWhomAndClosesAtTheEnd) {
  const Ring dense({{3}, {1}, {2}});
  EXPECT_EQ(dense.after({3}), NodeId{1});
  EXPECT_EQ(dense.after({2}), NodeId{3});
  const Ring sparse({{17}, {4}, {900}});
  EXPECT_EQ(sparse.after({17}), NodeId{4});
  EXPECT_EQ(sparse.after({900}), NodeId{17});
}

TEST(Ring, OfOneIsItsOwnNeighbour) { EXPECT_EQ(Ring(std::vector<NodeId>{{5}}).after({5}), NodeId{5}); }

TEST(Ring, HasEveryProcessOnce) {
  EXPECT_THROW(Ring({{1}, {2}, {1}}), InvariantViolation);
  EXPECT_THROW(Ring({{1}, {9}, {1}}), InvariantViolation);
  EXPECT_THROW(Ring(std::vector<NodeId>{}), InvariantViolation);
  EXPECT_THROW(Ring({{1}, {9}}).after({4}), InvariantViolation);
}

}  // namespace
}  // namespace conclave::election
