#include "protocols/consensus/ballot_box.hpp"

#include <gtest/gtest.h>

namespace conclave::consensus {
namespace {

TEST(MostVoted, WinsWithoutAMajority) {
  EXPECT_EQ(most_voted({{{1}, 2}, {{2}, 2}, {{3}, 1}, {{4}, 0}, {{5}, 2}}, 9), 2);
  EXPECT_EQ(most_voted({{{1}, 5}, {{2}, 5}, {{3}, 1}, {{4}, 0}}, 9), 5);
}

TEST(MostVoted, IsTheDefaultInATie) {
  EXPECT_EQ(most_voted({{{1}, 1}, {{2}, 0}, {{3}, 1}, {{4}, 0}}, 7), 7);
  EXPECT_EQ(most_voted({{{1}, 1}, {{2}, 2}, {{3}, 3}}, 7), 7);
}

TEST(MostVoted, IsNotTheDefaultIfOnlyTheLosersTie) {
  EXPECT_EQ(most_voted({{{1}, 3}, {{2}, 1}, {{3}, 3}, {{4}, 0}}, 7), 3);
  EXPECT_EQ(most_voted({{{1}, 0}, {{2}, 1}, {{3}, 3}, {{4}, 3}}, 7), 3);
}

TEST(MostVoted, OfNobodyIsTheDefault) { EXPECT_EQ(most_voted({}, 7), 7); }

TEST(MostVoted, OfOneIsItsOwn) { EXPECT_EQ(most_voted({{{4}, -2}}, 7), -2); }

TEST(BallotBox, TakesOneVoteOfEach) {
  BallotBox box;
  box.put({1}, 5);
  box.put({1}, 6);
  EXPECT_EQ(box.known, (Votes{{{1}, 5}}));
}

TEST(BallotBox, HandsOutWhatIsFreshOnce) {
  BallotBox box;
  box.put({1}, 5);
  EXPECT_EQ(box.take_fresh(), (Votes{{{1}, 5}}));
  box.put(Votes{{{1}, 5}, {{2}, 3}});
  EXPECT_EQ(box.take_fresh(), (Votes{{{2}, 3}}));
  EXPECT_TRUE(box.take_fresh().empty());
  EXPECT_EQ(box.known.size(), 2u);
}

}  // namespace
}  // namespace conclave::consensus
