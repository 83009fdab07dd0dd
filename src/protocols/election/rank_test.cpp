#include "protocols/election/rank.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

TEST(Rank, CutsAMembershipAboveAndBelowOneOfItsIds) {
  const NodeSet all = {NodeId{1}, NodeId{2}, NodeId{3}, NodeId{7}, NodeId{8}, NodeId{40}};
  EXPECT_EQ(above(all, {3}), (NodeSet{NodeId{7}, NodeId{8}, NodeId{40}}));
  EXPECT_EQ(below(all, {3}), (NodeSet{NodeId{1}, NodeId{2}}));
  EXPECT_EQ(above(all, {7}), (NodeSet{NodeId{8}, NodeId{40}}));
  EXPECT_EQ(below(all, {8}), (NodeSet{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{7}}));
}

TEST(Rank, NobodyIsBeyondTheEnds) {
  const NodeSet all = NodeSet::range({0}, 4);
  EXPECT_TRUE(above(all, {3}).empty());
  EXPECT_TRUE(below(all, {0}).empty());
  EXPECT_EQ(above(all, {0}).size(), 3u);
  EXPECT_EQ(below(all, {3}).size(), 3u);
}

}  // namespace
}  // namespace conclave::election
