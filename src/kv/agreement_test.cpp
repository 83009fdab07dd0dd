#include "kv/agreement.hpp"

#include <gtest/gtest.h>

namespace conclave::kv {
namespace {

using Verdict = Agreement::Verdict;
const NodeSet three = {{1}, {2}, {3}};

TEST(Agreement, IsReachedWhenAMajoritySaysTheSame) {
  Agreement agreement;
  agreement.note(100, 7);
  EXPECT_EQ(agreement.hear({1, 100, 7}, three), Verdict::nothing);
  EXPECT_EQ(agreement.agreed(), 0u);
  EXPECT_EQ(agreement.hear({2, 100, 7}, three), Verdict::agreed);
  EXPECT_EQ(agreement.agreed(), 100u);
}

TEST(Agreement, NamesWhoDiffersFromTheMajority) {
  Agreement right, wrong;
  right.note(100, 7);
  wrong.note(100, 8);
  for (Agreement* one : {&right, &wrong}) {
    EXPECT_EQ(one->hear({3, 100, 8}, three), Verdict::nothing);
    EXPECT_EQ(one->hear({1, 100, 7}, three), Verdict::nothing);
  }
  EXPECT_EQ(right.hear({2, 100, 7}, three), Verdict::agreed);
  EXPECT_EQ(wrong.hear({2, 100, 7}, three), Verdict::we_differ);
  EXPECT_EQ(right.hear({3, 100, 8}, three), Verdict::another_differs) << "said again, after the majority";
}

TEST(Agreement, OfTwoThatDifferNobodyKnowsWhichIsRight) {
  Agreement agreement;
  agreement.note(5, 1);
  EXPECT_EQ(agreement.hear({1, 5, 1}, {{1}, {2}}), Verdict::nothing);
  EXPECT_EQ(agreement.hear({2, 5, 2}, {{1}, {2}}), Verdict::nobody_knows);
}

TEST(Agreement, DoesNotCountStrangersNorOneVoterTwice) {
  Agreement agreement;
  agreement.note(5, 1);
  EXPECT_EQ(agreement.hear({9, 5, 1}, three), Verdict::nothing);
  EXPECT_EQ(agreement.hear({1, 5, 1}, three), Verdict::nothing);
  EXPECT_EQ(agreement.hear({1, 5, 1}, three), Verdict::nothing);
  EXPECT_EQ(agreement.agreed(), 0u);
}

TEST(Agreement, SaysNothingOfAStateItNeverHad) {
  Agreement agreement;
  agreement.note(5, 1);
  agreement.forget();
  EXPECT_EQ(agreement.hear({1, 5, 2}, three), Verdict::nothing);
  EXPECT_EQ(agreement.hear({2, 5, 2}, three), Verdict::nothing);
}

TEST(Agreement, KeepsTheNewestEntriesOnly) {
  Agreement agreement;
  for (std::uint64_t index = 1; index <= 100; ++index) agreement.note(index, index);
  EXPECT_EQ(agreement.hear({1, 1, 1}, {{1}}), Verdict::nothing) << "too long ago";
  EXPECT_EQ(agreement.hear({1, 100, 100}, {{1}}), Verdict::agreed);
}

}  // namespace
}  // namespace conclave::kv
