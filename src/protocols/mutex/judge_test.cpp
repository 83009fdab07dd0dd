#include "protocols/mutex/judge.hpp"

#include <gtest/gtest.h>

#include "core/fingerprint.hpp"

namespace conclave::mutex {
namespace {

constexpr NodeId p0{0}, p1{1}, p2{2};
const NodeSet three = NodeSet::range(p0, 3);

Judge asked_for(std::vector<std::string> properties) { return Judge::start(three, properties); }

void ask(Judge& judge, NodeId node, const Past& past = {0, 0, 0}) { judge.on_command(node, Acquire{}, past); }
void enter(Judge& judge, NodeId node, std::uint64_t fence = 0) { judge.on_event(node, Granted{{fence}}); }
void leave(Judge& judge, NodeId node) { judge.on_command(node, Release{}, {}); }

std::vector<std::string> violated(const std::vector<Wrong>& wrongs) {
  std::vector<std::string> names;
  for (const Wrong& wrong : wrongs) names.push_back(wrong.property);
  return names;
}
using Names = std::vector<std::string>;

TEST(MutexJudge, IsContentWithOneAfterTheOther) {
  Judge judge = asked_for({});
  ask(judge, p0);
  ask(judge, p1);
  enter(judge, p0, 1);
  leave(judge, p0);
  enter(judge, p1, 2);
  leave(judge, p1);
  EXPECT_EQ(judge.wrong(), std::vector<Wrong>{});
  EXPECT_EQ(judge.at_end({}), std::vector<Wrong>{});
}

TEST(MutexJudge, NoticesTwoInside) {
  Judge judge = asked_for({"EM1"});
  ask(judge, p0);
  ask(judge, p2);
  enter(judge, p0);
  EXPECT_TRUE(judge.wrong().empty());
  enter(judge, p2);
  ASSERT_EQ(violated(judge.wrong()), Names{"EM1"});
  EXPECT_EQ(judge.wrong()[0].why, "p0 and p2 are inside together");
}

TEST(MutexJudge, NoticesWhoEntersUnasked) {
  Judge judge = asked_for({"EM1"});
  enter(judge, p1);
  ASSERT_EQ(violated(judge.wrong()), Names{"EM1"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 entered unasked");
}

TEST(MutexJudge, TakesACrashForAnExit) {
  Judge judge = asked_for({});
  ask(judge, p0);
  ask(judge, p1);
  ask(judge, p2);
  enter(judge, p0, 1);
  judge.on_crash(p0);
  judge.on_crash(p2);
  enter(judge, p1, 2);
  leave(judge, p1);
  EXPECT_TRUE(judge.wrong().empty());
  EXPECT_TRUE(judge.at_end({}).empty());
}

TEST(MutexJudge, NoticesWhoIsLeftWaiting) {
  Judge judge = asked_for({"EM2", "ND"});
  ask(judge, p0);
  ask(judge, p1);
  ask(judge, p2);
  EXPECT_TRUE(judge.wrong().empty());
  ASSERT_EQ(violated(judge.at_end({})), (Names{"EM2", "ND"}));
  EXPECT_EQ(judge.at_end({})[0].why, "p0, p1 and p2 asked and never got in");
  EXPECT_EQ(judge.at_end({})[1].why, "nothing is under way, and p0, p1 and p2 are waiting");
}

TEST(MutexJudge, DoesNotCallItAStandstillWhileSomebodyIsInside) {
  Judge judge = asked_for({"EM2", "ND"});
  ask(judge, p0);
  ask(judge, p1);
  enter(judge, p0);
  EXPECT_EQ(violated(judge.at_end({})), Names{"EM2"});
}

TEST(MutexJudge, NoticesARequestServedBeforeOneThatHappenedBefore) {
  Judge judge = asked_for({"EM3"});
  ask(judge, p0, {0, 0, 0});
  ask(judge, p1, {1, 0, 0});  // p1 knows of p0's request
  enter(judge, p1);
  ASSERT_EQ(violated(judge.wrong()), Names{"EM3"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 entered before p0, whose request happened before");
}

TEST(MutexJudge, LetsConcurrentRequestsEnterInAnyOrder) {
  Judge judge = asked_for({"EM3"});
  ask(judge, p0, {0, 0, 0});
  ask(judge, p1, {0, 0, 0});
  enter(judge, p1);
  EXPECT_TRUE(judge.wrong().empty());
}

TEST(MutexJudge, ComparesWithThePendingRequestAndNotWithOlderOnes) {
  Judge judge = asked_for({"EM3"});
  ask(judge, p0, {0, 0, 0});
  enter(judge, p0);
  leave(judge, p0);
  ask(judge, p0, {1, 0, 0});
  ask(judge, p2, {1, 0, 0});  // knows of p0's first request only
  enter(judge, p2);
  EXPECT_TRUE(judge.wrong().empty());
  leave(judge, p2);
  ask(judge, p2, {2, 0, 1});  // and now of the second
  enter(judge, p2);
  EXPECT_EQ(violated(judge.wrong()), Names{"EM3"});
}

TEST(MutexJudge, ForgetsTheOrderOfWhoCrashed) {
  Judge judge = asked_for({"EM3"});
  ask(judge, p0, {0, 0, 0});
  ask(judge, p1, {1, 0, 0});
  judge.on_crash(p0);
  enter(judge, p1);
  EXPECT_TRUE(judge.wrong().empty());
}

TEST(MutexJudge, NoticesWhoOvertakesOneThroughTheDoorway) {
  Judge judge = asked_for({"FCFS"});
  ask(judge, p0);
  judge.on_event(p0, Queued{});
  ask(judge, p1);
  judge.on_event(p1, Queued{});
  enter(judge, p1);
  ASSERT_EQ(violated(judge.wrong()), Names{"FCFS"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 entered before p0, who was through the doorway first");
}

TEST(MutexJudge, LetsWhoMeetInTheDoorwayEnterInAnyOrder) {
  Judge judge = asked_for({"FCFS"});
  ask(judge, p0);
  ask(judge, p1);
  judge.on_event(p0, Queued{});
  judge.on_event(p1, Queued{});
  enter(judge, p1);
  EXPECT_TRUE(judge.wrong().empty());
}

TEST(MutexJudge, NoticesAFenceThatDoesNotGrow) {
  Judge judge = asked_for({"fence"});
  ask(judge, p0);
  enter(judge, p0, 3);
  leave(judge, p0);
  EXPECT_TRUE(judge.wrong().empty());
  ask(judge, p1);
  enter(judge, p1, 3);
  ASSERT_EQ(violated(judge.wrong()), Names{"fence"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 entered with fence 3 after fence 3");
}

TEST(MutexJudge, ComplainsOnlyOfWhatItWasAskedFor) {
  for (const std::string& property : Judge::properties()) {
    Judge judge = asked_for({property});
    ask(judge, p2);
    ask(judge, p0);
    judge.on_event(p0, Queued{});
    ask(judge, p1, {1, 0, 0});
    enter(judge, p1, 0);
    enter(judge, p1, 0);
    leave(judge, p1);
    Names names = violated(judge.wrong());
    for (const Wrong& wrong : judge.at_end({})) names.push_back(wrong.property);
    ASSERT_FALSE(names.empty()) << property;
    for (const std::string& name : names) EXPECT_EQ(name, property);
  }
}

// Two histories that no property in question tells apart must be one state.
TEST(MutexJudge, RemembersNoMoreThanTheNextEntryNeeds) {
  for (const Names& properties : {Names{"EM1", "EM2", "ND"}, Names{"EM1", "EM3"}, Names{"FCFS"}}) {
    Judge one = asked_for(properties);
    Judge other = one;
    ask(one, p0);
    one.on_event(p0, Queued{});
    ask(one, p1);
    enter(one, p0, 7);
    leave(one, p0);
    enter(one, p1, 9);
    ask(other, p1);
    other.on_event(p1, Queued{});
    EXPECT_NE(fingerprint(one), fingerprint(other));
    ask(other, p0, {0, 1, 0});
    enter(other, p1, 1);
    leave(other, p1);
    enter(other, p0, 2);
    leave(other, p0);
    leave(one, p1);
    EXPECT_EQ(one, other);
    EXPECT_EQ(fingerprint(one), fingerprint(other));
  }
}

TEST(MutexJudge, AsksForPastsOnlyForTheOrderOfRequests) {
  EXPECT_TRUE(Judge::needs_past({}));
  EXPECT_TRUE(Judge::needs_past({"EM1", "EM3"}));
  EXPECT_FALSE(Judge::needs_past({"EM1", "EM2", "ND", "FCFS", "fence"}));
  EXPECT_TRUE(Judge::is_request(Acquire{}));
  EXPECT_FALSE(Judge::is_request(Release{}));
  Judge judge = asked_for({"EM1"});
  judge.on_command(p0, Acquire{}, {});
  EXPECT_EQ(unknown_property<Judge>({"EM1", "EM4"}), "EM4");
  EXPECT_EQ(unknown_property<Judge>(Judge::properties()), std::nullopt);
}

TEST(MutexJudge, SeesEntriesAndContention) {
  ASSERT_EQ(Judge::sometimes().size(), 2u);
  Judge judge = asked_for({"EM1"});
  EXPECT_EQ(judge.seen(), 0u);
  ask(judge, p0);
  ask(judge, p1);
  EXPECT_EQ(judge.seen(), 2u);
  enter(judge, p0);
  EXPECT_EQ(judge.seen(), 1u);
  EXPECT_EQ(Judge::start({p0}, {}).seen(), 2u);
}

}  // namespace
}  // namespace conclave::mutex
