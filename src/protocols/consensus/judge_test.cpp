#include "protocols/consensus/judge.hpp"

#include <gtest/gtest.h>

#include "core/fingerprint.hpp"

namespace conclave::consensus {
namespace {

constexpr NodeId p1{1}, p2{2}, p3{3};
const NodeSet three = NodeSet::range(p1, 3);
using Names = std::vector<std::string>;

Names violated(const std::vector<Wrong>& wrongs) {
  Names names;
  for (const Wrong& wrong : wrongs) names.push_back(wrong.property);
  return names;
}
void propose(Judge& judge, NodeId node, Value value) { judge.on_command(node, Propose{value}, {}); }
void decide(Judge& judge, NodeId node, Value value) { judge.on_event(node, Decided{value}); }

TEST(ConsensusJudge, IsContentWhenAllDecideOneProposal) {
  Judge judge = Judge::start(three, {});
  propose(judge, p1, 4);
  propose(judge, p2, -7);
  EXPECT_EQ(judge.seen(), 0u);
  for (NodeId node : three) decide(judge, node, -7);
  decide(judge, p1, -7);  // it may say so again
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
  EXPECT_EQ(judge.seen(), 1u);
}

TEST(ConsensusJudge, NoticesWhoNeverDecides) {
  Judge judge = Judge::start(three, {"termination"});
  judge.traitors = {p3};
  decide(judge, p1, 1);
  ASSERT_EQ(violated(judge.at_end({})), Names{"termination"});
  EXPECT_EQ(judge.at_end({})[0].why, "p2 never decided");
  judge.on_crash(p2);
  EXPECT_TRUE(judge.at_end({}).empty());
  judge.on_recover(p2);
  EXPECT_FALSE(judge.at_end({}).empty());
}

TEST(ConsensusJudge, NoticesDisagreement) {
  Judge judge = Judge::start(three, {"agreement"});
  decide(judge, p1, 1);
  EXPECT_TRUE(judge.wrong().empty());
  decide(judge, p2, 2);
  ASSERT_EQ(violated(judge.wrong()), Names{"agreement"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 decided 1 and p2 decided 2");
}

TEST(ConsensusJudge, AsksForAgreementOfTheCorrectAndUniformlyOfAll) {
  Judge judge = Judge::start(three, {"agreement", "uniform"});
  decide(judge, p1, 1);
  judge.on_crash(p1);
  decide(judge, p2, 2);
  ASSERT_EQ(violated(judge.wrong()), Names{"uniform"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 decided 1 and p2 decided 2");
}

TEST(ConsensusJudge, NoticesDisagreementWithWhoComesBack) {
  Judge judge = Judge::start(three, {"agreement"});
  decide(judge, p1, 1);
  judge.on_crash(p1);
  decide(judge, p2, 2);
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_recover(p1);
  ASSERT_EQ(violated(judge.wrong()), Names{"agreement"});
  EXPECT_EQ(judge.wrong()[0].why, "p2 decided 2 and p1 decided 1");
}

TEST(ConsensusJudge, FindsTheCorrectAmongThoseWhoDecidedOtherwise) {
  Judge judge = Judge::start(three, {"agreement", "uniform"});
  decide(judge, p1, 1);
  decide(judge, p2, 1);
  judge.on_crash(p1);
  decide(judge, p3, 2);
  ASSERT_EQ(violated(judge.wrong()), (Names{"agreement", "uniform"}));
  EXPECT_EQ(judge.wrong()[0].why, "p2 decided 1 and p3 decided 2");
  EXPECT_EQ(judge.wrong()[1].why, "p1 decided 1 and p3 decided 2");
}

TEST(ConsensusJudge, NoticesAChangedMind) {
  Judge judge = Judge::start(three, {"agreement", "uniform"});
  decide(judge, p1, 1);
  decide(judge, p1, 2);
  ASSERT_EQ(violated(judge.wrong()), (Names{"agreement", "uniform"}));
  EXPECT_EQ(judge.wrong()[0].why, "p1 decided 1, then 2");
}

TEST(ConsensusJudge, DoesNotListenToTraitors) {
  Judge judge = Judge::start(three, {});
  judge.traitors = {p3};
  propose(judge, p1, 1);
  propose(judge, p2, 1);
  propose(judge, p3, 2);
  decide(judge, p3, 5);
  EXPECT_EQ(judge.seen(), 0u);
  decide(judge, p1, 1);
  decide(judge, p2, 1);
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(ConsensusJudge, NoticesAValueThatNobodyProposed) {
  Judge judge = Judge::start(three, {"validity"});
  propose(judge, p1, 1);
  decide(judge, p2, 1);
  EXPECT_TRUE(judge.wrong().empty());
  decide(judge, p3, 0);
  ASSERT_EQ(violated(judge.wrong()), Names{"validity"});
  EXPECT_EQ(judge.wrong()[0].why, "p3 decided 0, which nobody proposed");
}

TEST(ConsensusJudge, NoticesUnanimityBetrayed) {
  Judge judge = Judge::start(three, {"integrity"});
  judge.traitors = {p3};
  propose(judge, p1, 1);
  propose(judge, p3, 2);
  decide(judge, p1, 2);
  ASSERT_EQ(violated(judge.at_end({})), Names{"integrity"});
  EXPECT_EQ(judge.at_end({})[0].why, "every correct process proposed 1, and p1 decided 2");
  EXPECT_TRUE(judge.wrong().empty());  // somebody correct may still propose 2
  propose(judge, p2, 2);
  EXPECT_TRUE(judge.at_end({}).empty());
  judge.on_crash(p2);
  EXPECT_EQ(violated(judge.at_end({})), Names{"integrity"});
}

TEST(ConsensusJudge, ComplainsOnlyOfWhatItWasAskedFor) {
  for (const std::string& property : Judge::properties()) {
    Judge judge = Judge::start(three, {property});
    propose(judge, p1, 1);
    decide(judge, p1, 1);
    decide(judge, p2, 0);
    Names names = violated(judge.wrong());
    for (const std::string& name : violated(judge.at_end({}))) names.push_back(name);
    EXPECT_EQ(names, Names{property});
  }
}

// Two histories that no property tells apart must be one state.
TEST(ConsensusJudge, RemembersProposalsOnlyForWhoAsks) {
  for (const std::string& property : Judge::properties()) {
    const bool needs = property == "integrity" || property == "validity";
    Judge one = Judge::start(three, {property});
    Judge other = one;
    propose(one, p1, 1);
    EXPECT_EQ(one == other, !needs) << property;
    EXPECT_EQ(fingerprint(one) == fingerprint(other), !needs) << property;
    propose(other, p1, 1);
    decide(one, p1, 1);
    decide(one, p2, 1);
    decide(other, p2, 1);
    EXPECT_NE(fingerprint(one), fingerprint(other));
    decide(other, p1, 1);
    EXPECT_EQ(one, other);
    EXPECT_EQ(fingerprint(one), fingerprint(other));
  }
}

}  // namespace
}  // namespace conclave::consensus
