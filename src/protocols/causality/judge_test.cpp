#include "protocols/causality/judge.hpp"

#include <gtest/gtest.h>

#include "core/fingerprint.hpp"

namespace conclave::causality {
namespace {

constexpr NodeId p1{1}, p2{2};
const NodeSet both = NodeSet::range(p1, 2);
constexpr SnapshotId first{p1, 1}, second{p2, 1};
using Names = std::vector<std::string>;

Names violated(const std::vector<Wrong>& wrongs) {
  Names names;
  for (const Wrong& wrong : wrongs) names.push_back(wrong.property);
  return names;
}

Judge with_ten_each(const std::vector<std::string>& properties) {
  Judge judge = Judge::start(both, properties);
  judge.total = 20;
  return judge;
}

TEST(SnapshotJudge, IsContentWhenTheMoneyUnderWayIsCounted) {
  Judge judge = with_ten_each({});
  judge.on_event(p1, Recorded{first, 7});
  judge.on_event(p2, Recorded{first, 11});
  judge.on_event(p2, Completed{first, 2});
  EXPECT_EQ(judge.seen(), 0u);
  judge.on_event(p1, Completed{first, 0});
  EXPECT_EQ(judge.seen(), 1u);
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(SnapshotJudge, KeepsSnapshotsApart) {
  Judge judge = with_ten_each({});
  judge.on_event(p1, Recorded{first, 10});
  judge.on_event(p2, Recorded{second, 10});
  judge.on_event(p1, Recorded{second, 9});
  judge.on_event(p2, Recorded{first, 10});
  judge.on_event(p1, Completed{second, 1});
  judge.on_event(p2, Completed{second, 0});
  judge.on_event(p1, Completed{first, 0});
  judge.on_event(p2, Completed{first, 0});
  EXPECT_TRUE(judge.wrong().empty());
}

TEST(SnapshotJudge, NoticesMoneyLost) {
  Judge judge = with_ten_each({"conserved"});
  judge.on_event(p1, Recorded{first, 7});
  judge.on_event(p2, Recorded{first, 10});
  judge.on_event(p2, Completed{first, 0});
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_event(p1, Completed{first, 0});
  ASSERT_EQ(violated(judge.wrong()), Names{"conserved"});
  EXPECT_EQ(judge.wrong()[0].why, "snapshot 1 of p1 counts 17 where there are 20");
}

TEST(SnapshotJudge, NoticesASnapshotLeftUnfinished) {
  Judge judge = with_ten_each({"complete"});
  judge.on_event(p1, Recorded{first, 10});
  judge.on_event(p1, Completed{first, 0});
  EXPECT_TRUE(judge.wrong().empty());
  ASSERT_EQ(violated(judge.at_end({})), Names{"complete"});
  EXPECT_EQ(judge.at_end({})[0].why, "snapshot 1 of p1 was not finished by p2");
}

TEST(SnapshotJudge, ComplainsOnlyOfWhatItWasAskedFor) {
  for (const std::string& property : Judge::properties()) {
    Judge judge = with_ten_each({property});
    judge.on_event(p1, Recorded{first, 0});
    judge.on_event(p1, Completed{first, 0});
    judge.on_event(p2, Completed{first, 0});
    judge.on_event(p2, Recorded{second, 10});
    Names names = violated(judge.wrong());
    for (const std::string& name : violated(judge.at_end({}))) names.push_back(name);
    EXPECT_EQ(names, Names{property});
  }
}

// Two histories that no property tells apart must be one state.
TEST(SnapshotJudge, ForgetsWhatIsFinished) {
  Judge one = with_ten_each({});
  Judge other = one;
  for (Judge* judge : {&one, &other}) {
    const std::uint64_t under_way = judge == &one ? 0 : 4;
    judge->on_event(p1, Recorded{first, 10 - under_way});
    judge->on_event(p2, Recorded{first, 10});
    judge->on_event(p2, Completed{first, under_way});
  }
  EXPECT_EQ(one, other);  // no property asks where the money was
  one.on_event(p1, Completed{first, 0});
  EXPECT_NE(fingerprint(one), fingerprint(other));
  other.on_event(p1, Completed{first, 0});
  EXPECT_TRUE(one.under_way.empty());
  EXPECT_EQ(one, other);
  EXPECT_EQ(fingerprint(one), fingerprint(other));
}

}  // namespace
}  // namespace conclave::causality
