#include "protocols/election/judge.hpp"

#include <gtest/gtest.h>

#include "core/fingerprint.hpp"

namespace conclave::election {
namespace {

constexpr NodeId p1{1}, p2{2}, p3{3};
const NodeSet three = NodeSet::range(p1, 3);
using Names = std::vector<std::string>;

Names violated(const std::vector<Wrong>& wrongs) {
  Names names;
  for (const Wrong& wrong : wrongs) names.push_back(wrong.property);
  return names;
}

template <class J>
void everybody_hears_of(J& judge, NodeId leader) {
  for (NodeId node : three) {
    if (judge.up.contains(node)) judge.on_event(node, Elected{leader});
  }
}

TEST(ElectionJudge, IsContentWhenAllFollowTheGreatest) {
  Judge judge = Judge::start(three, {});
  judge.on_command(p1, Start{}, {});
  judge.on_event(p1, Participating{});
  everybody_hears_of(judge, p3);
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
  EXPECT_EQ(judge.seen(), 3u);
}

TEST(ElectionJudge, NoticesAWinnerThatIsNotTheGreatest) {
  Judge judge = Judge::start(three, {"E1"});
  judge.on_command(p1, Start{}, {});
  everybody_hears_of(judge, p2);
  ASSERT_EQ(violated(judge.at_end({})), Names{"E1"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 elected p2, but the greatest live process is p3");
  judge.on_crash(p3);
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(ElectionJudge, LeavesOldLeadersOutOfTheElection) {
  Judge judge = Judge::start(three, {"E1"});
  everybody_hears_of(judge, p2);  // in their start
  EXPECT_TRUE(judge.at_end({}).empty());
  EXPECT_EQ(judge.seen(), 0u);
  judge.on_command(p1, Start{}, {});
  judge.on_event(p1, Elected{p2});  // and now by an election
  EXPECT_EQ(violated(judge.at_end({})), Names{"E1"});
}

TEST(ElectionJudge, ThePoliteOneAsksForAnyLiveLeaderOfAll) {
  PoliteJudge judge = PoliteJudge::start(three, {"E1"});
  judge.on_command(p1, Start{}, {});
  everybody_hears_of(judge, p2);
  EXPECT_TRUE(judge.at_end({}).empty());
  judge.on_event(p3, Elected{p3});
  ASSERT_EQ(violated(judge.at_end({})), Names{"E1"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 follows p2, and p3 follows p3");
  judge.on_event(p3, Elected{p2});
  judge.on_crash(p2);
  ASSERT_EQ(violated(judge.at_end({})), Names{"E1"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 elected p2, which is down");
}

TEST(ElectionJudge, NoticesWhoEndsWithoutALeader) {
  Judge judge = Judge::start(three, {"E2"});
  EXPECT_TRUE(judge.at_end({}).empty());  // nobody has asked for one
  judge.on_command(p1, Start{}, {});
  judge.on_event(p1, Participating{});
  judge.on_event(p3, Elected{p3});
  ASSERT_EQ(violated(judge.at_end({})), Names{"E2"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 and p2 end without a leader");
  judge.on_crash(p1);
  judge.on_event(p2, Elected{p3});
  EXPECT_TRUE(judge.at_end({}).empty());
  judge.on_recover(p1);
  ASSERT_EQ(violated(judge.at_end({})), Names{"E2"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 ends without a leader");
}

TEST(ElectionJudge, AnElectionNeedsNoClientToBegin) {
  Judge judge = Judge::start(three, {"E2"});
  judge.on_crash(p3);
  judge.on_recover(p3);
  judge.on_event(p3, Participating{});
  EXPECT_EQ(violated(judge.at_end({})), Names{"E2"});
}

TEST(ElectionJudge, NoticesDifferentLeadersInTheEnd) {
  Judge judge = Judge::start(three, {"agreement"});
  judge.on_event(p1, Elected{p2});
  judge.on_event(p2, Elected{p3});
  EXPECT_TRUE(judge.wrong().empty());
  ASSERT_EQ(violated(judge.at_end({})), Names{"agreement"});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 follows p2, and p2 follows p3");
  judge.on_crash(p1);  // whose opinion goes with it
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(ElectionJudge, NoticesAWorkingLeaderDeposed) {
  Judge judge = Judge::start(three, {"stability"});
  judge.on_event(p1, Elected{p2});
  judge.on_event(p2, Elected{p2});
  judge.on_event(p3, Elected{p3});  // they have not agreed yet
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_event(p3, Elected{p2});
  judge.on_event(p1, Participating{});
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_event(p1, Elected{p3});
  ASSERT_EQ(violated(judge.wrong()), Names{"stability"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 turned to p3 although p2 works");
}

TEST(ElectionJudge, LetsALeaderThatFailedBeReplaced) {
  Judge judge = Judge::start(three, {"stability"});
  everybody_hears_of(judge, p3);
  judge.on_crash(p3);
  everybody_hears_of(judge, p2);
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_recover(p3);
  judge.on_event(p3, Elected{p3});
  EXPECT_EQ(violated(judge.wrong()), Names{"stability"});
}

TEST(ElectionJudge, ComesToAgreementByTheCrashOfADissenter) {
  Judge judge = Judge::start(three, {"stability"});
  judge.on_event(p1, Elected{p2});
  judge.on_event(p2, Elected{p2});
  judge.on_event(p3, Elected{p3});
  judge.on_crash(p3);
  judge.on_event(p1, Elected{p1});
  EXPECT_EQ(violated(judge.wrong()), Names{"stability"});
}

TEST(ElectionJudge, ComplainsOnlyOfWhatItWasAskedFor) {
  for (const std::string& property : Judge::properties()) {
    Judge judge = Judge::start(three, {property});
    judge.on_command(p1, Start{}, {});
    everybody_hears_of(judge, p2);
    judge.on_event(p1, Elected{p1});
    judge.on_event(p3, Participating{});
    Names names = violated(judge.wrong());
    for (const std::string& name : violated(judge.at_end({}))) names.push_back(name);
    EXPECT_EQ(names, Names{property});
  }
}

TEST(ElectionJudge, SaysNothingWhenNobodyIsLeft) {
  Judge judge = Judge::start(three, {});
  judge.on_command(p1, Start{}, {});
  judge.on_event(p1, Elected{p1});
  for (NodeId node : three) judge.on_crash(node);
  EXPECT_TRUE(judge.at_end({}).empty());
  EXPECT_EQ(judge.seen(), 0u);
}

// Two histories that no property tells apart must be one state.
TEST(ElectionJudge, ForgetsInWhichOrderTheNewsCame) {
  Judge one = Judge::start(three, {});
  Judge other = one;
  one.on_command(p1, Start{}, {});
  other.on_command(p2, Start{}, {});
  for (NodeId node : {p1, p2, p3}) one.on_event(node, Elected{p3});
  for (NodeId node : {p3, p1}) other.on_event(node, Elected{p3});
  EXPECT_NE(fingerprint(one), fingerprint(other));
  other.on_event(p2, Elected{p3});
  EXPECT_EQ(one, other);
  EXPECT_EQ(fingerprint(one), fingerprint(other));
}

TEST(GroupJudge, IsContentWithGroupsThatMerge) {
  GroupJudge judge = GroupJudge::start(three, {});
  for (NodeId node : three) judge.on_event(node, Joined{node, {1, node}});
  EXPECT_EQ(judge.seen(), 1u);
  EXPECT_EQ(violated(judge.at_end({})), Names{"I2"});
  for (NodeId node : three) judge.on_event(node, Participating{});
  EXPECT_EQ(judge.seen(), 0u);
  for (NodeId node : three) judge.on_event(node, Joined{p1, {2, p1}});
  EXPECT_EQ(judge.seen(), 3u);
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(GroupJudge, NoticesAGroupWithTwoLeaders) {
  GroupJudge judge = GroupJudge::start(three, {"I1"});
  judge.on_event(p1, Joined{p1, {1, p1}});
  judge.on_event(p2, Joined{p3, {1, p1}});
  ASSERT_EQ(violated(judge.wrong()), Names{"I1"});
  EXPECT_EQ(judge.wrong()[0].why, "p2 has p3 for the leader of group 1 of p1, whose leader was p1");
}

TEST(GroupJudge, NoticesAGroupJoinedBeforeItWasFounded) {
  GroupJudge judge = GroupJudge::start(three, {"I1"});
  judge.on_event(p2, Joined{p1, {1, p1}});
  ASSERT_EQ(violated(judge.wrong()), Names{"I1"});
  EXPECT_EQ(judge.wrong()[0].why, "p2 joined group 1 of p1, which p1 has not founded");
}

TEST(GroupJudge, NoticesAGroupFoundedTwice) {
  GroupJudge judge = GroupJudge::start(three, {"I1"});
  judge.on_event(p1, Joined{p1, {1, p1}});
  judge.on_crash(p1);
  judge.on_recover(p1);
  judge.on_event(p1, Joined{p1, {1, p1}});
  ASSERT_EQ(violated(judge.wrong()), Names{"I1"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 founded group 1 of p1 twice");
}

TEST(GroupJudge, NoticesNumbersThatDoNotGrow) {
  GroupJudge judge = GroupJudge::start(three, {"I3"});
  judge.on_event(p1, Joined{p1, {2, p1}});
  judge.on_crash(p1);
  judge.on_recover(p1);
  judge.on_event(p1, Joined{p2, {1, p2}});
  ASSERT_EQ(violated(judge.wrong()), Names{"I3"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 joined group 1 of p2 after group 2 of p1");
}

TEST(GroupJudge, NoticesWhoEndsAlone) {
  GroupJudge judge = GroupJudge::start(three, {"I2"});
  for (NodeId node : three) judge.on_event(node, Joined{p1, {1, p1}});
  judge.on_crash(p3);
  EXPECT_TRUE(judge.at_end({}).empty());
  judge.on_recover(p3);
  ASSERT_EQ(violated(judge.at_end({})), Names{"I2"});
  EXPECT_EQ(judge.at_end({})[0].why, "p3 ends without a group");
  judge.on_event(p3, Joined{p3, {2, p3}});
  EXPECT_EQ(judge.at_end({})[0].why, "p1 ends in group 1 of p1, p3 in group 2 of p3");
}

TEST(GroupJudge, RemembersOldGroupsOnlyForWhoAsks) {
  for (const std::string& property : GroupJudge::properties()) {
    GroupJudge one = GroupJudge::start(three, {property});
    GroupJudge other = one;
    one.on_event(p1, Joined{p1, {1, p1}});
    one.on_event(p1, Participating{});
    EXPECT_EQ(one == other, property == "I2") << property;
    EXPECT_EQ(fingerprint(one) == fingerprint(other), property == "I2") << property;
  }
}

}  // namespace
}  // namespace conclave::election
