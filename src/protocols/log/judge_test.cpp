#include "protocols/log/judge.hpp"

#include <gtest/gtest.h>

#include "core/fingerprint.hpp"

namespace conclave::log {
namespace {

constexpr NodeId p1{1}, p2{2}, p3{3};
const NodeSet three = NodeSet::range(p1, 3);
const Entry first_of_p1{p1, 1, 1001};
const Entry first_of_p2{p2, 1, 2001};
using Names = std::vector<std::string>;

Names violated(const std::vector<Wrong>& wrongs) {
  Names names;
  for (const Wrong& wrong : wrongs) names.push_back(wrong.property);
  return names;
}
void propose(Judge& judge, const Entry& entry) {
  judge.on_command(entry.client, Propose{entry.serial, entry.value}, {});
}
void commit(Judge& judge, NodeId node, std::uint64_t index, std::optional<Entry> entry) {
  judge.on_event(node, Committed{index, entry});
}

TEST(LogJudge, IsContentWithOneLogOfWhatWasProposed) {
  Judge judge = Judge::start(three, {});
  EXPECT_EQ(judge.seen(), 0u);
  propose(judge, first_of_p1);
  propose(judge, first_of_p2);
  judge.on_event(p3, Leading{1});
  EXPECT_EQ(judge.seen(), 2u);
  for (NodeId node : three) {
    commit(judge, node, 1, first_of_p2);
    commit(judge, node, 2, std::nullopt);
    commit(judge, node, 3, first_of_p1);
  }
  EXPECT_EQ(judge.seen(), 3u);
  EXPECT_TRUE(judge.wrong().empty());
  const Spec::Client content{.self = p1, .requests = 1, .answered = 1};
  const Last<Spec::Client> last[] = {{p1, true, &content}};
  EXPECT_TRUE(judge.at_end(last).empty());
}

TEST(LogJudge, NoticesTwoCommandsAtOnePlace) {
  Judge judge = Judge::start(three, {"agreement"});
  commit(judge, p1, 1, first_of_p1);
  commit(judge, p2, 1, first_of_p1);
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_crash(p1);  // what it announced stands
  commit(judge, p3, 1, first_of_p2);
  ASSERT_EQ(violated(judge.wrong()), Names{"agreement"});
  EXPECT_EQ(judge.wrong()[0].why, "at place 1 p3 has command 1 of p2, where somebody had command 1 of p1");
}

TEST(LogJudge, NoticesACommandWhereAnotherHasNothing) {
  Judge judge = Judge::start(three, {"agreement"});
  commit(judge, p1, 1, std::nullopt);
  commit(judge, p2, 1, first_of_p2);
  ASSERT_EQ(violated(judge.wrong()), Names{"agreement"});
  EXPECT_EQ(judge.wrong()[0].why, "at place 1 p2 has command 1 of p2, where somebody had nothing");
}

TEST(LogJudge, NoticesACommandThatNobodyProposed) {
  Judge judge = Judge::start(three, {"integrity"});
  propose(judge, first_of_p1);
  commit(judge, p1, 1, Entry{p1, 2, 1001});
  ASSERT_EQ(violated(judge.wrong()), Names{"integrity"});
  EXPECT_EQ(judge.wrong()[0].why, "command 2 of p1 is at place 1, and nobody proposed it");
}

TEST(LogJudge, NoticesACommandAtTwoPlaces) {
  Judge judge = Judge::start(three, {"integrity"});
  propose(judge, first_of_p1);
  commit(judge, p1, 1, first_of_p1);
  commit(judge, p2, 1, first_of_p1);
  EXPECT_TRUE(judge.wrong().empty());
  commit(judge, p1, 2, first_of_p1);
  ASSERT_EQ(violated(judge.wrong()), Names{"integrity"});
  EXPECT_EQ(judge.wrong()[0].why, "command 1 of p1 is at place 2 and at place 1");
}

TEST(LogJudge, NoticesAGap) {
  Judge judge = Judge::start(three, {"order"});
  commit(judge, p1, 1, std::nullopt);
  commit(judge, p2, 1, std::nullopt);
  EXPECT_TRUE(judge.wrong().empty());
  commit(judge, p1, 3, std::nullopt);
  ASSERT_EQ(violated(judge.wrong()), Names{"order"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 announced place 3 after place 1");
}

TEST(LogJudge, LetsWhoComesBackBeginAgain) {
  Judge judge = Judge::start(three, {"order"});
  for (std::uint64_t index : {1, 2, 3}) commit(judge, p1, index, std::nullopt);
  judge.on_crash(p1);
  judge.on_recover(p1);
  for (std::uint64_t index : {2, 3, 4}) commit(judge, p1, index, std::nullopt);
  EXPECT_TRUE(judge.wrong().empty());
  commit(judge, p1, 2, std::nullopt);  // but only once
  EXPECT_EQ(violated(judge.wrong()), Names{"order"});
}

TEST(LogJudge, DoesNotLetWhoComesBackLeaveOutAPlace) {
  Judge judge = Judge::start(three, {"order"});
  commit(judge, p1, 1, std::nullopt);
  judge.on_crash(p1);
  judge.on_recover(p1);
  commit(judge, p1, 3, std::nullopt);
  EXPECT_EQ(violated(judge.wrong()), Names{"order"});
}

TEST(LogJudge, NoticesAProposalThatIsNeverCommitted) {
  const Judge judge = Judge::start(three, {"termination"});
  const Spec::Client waits{.self = p1, .requests = 2, .answered = 1};
  const Spec::Client content{.self = p2, .requests = 1, .answered = 1};
  const Last<Spec::Client> all_up[] = {{p1, true, &waits}, {p2, true, &content}};
  ASSERT_EQ(violated(judge.at_end(all_up)), Names{"termination"});
  EXPECT_EQ(judge.at_end(all_up)[0].why, "p1 proposed its command 2, and never saw it in the log");
  const Last<Spec::Client> one_down[] = {{p1, false, &waits}, {p2, true, &content}};
  EXPECT_TRUE(judge.at_end(one_down).empty());
}

TEST(LogJudge, NoticesAReadThatIsNeverAnswered) {
  const Judge judge = Judge::start(three, {"termination"});
  const Spec::Client reads{.self = p1, .reads = 1, .reading = true};
  const Last<Spec::Client> up[] = {{p1, true, &reads}};
  EXPECT_EQ(violated(judge.at_end(up)), Names{"termination"});
  const Last<Spec::Client> down[] = {{p1, false, &reads}};
  EXPECT_TRUE(judge.at_end(down).empty());
}

TEST(LogJudge, NoticesTwoLeadersOfOneTerm) {
  Judge judge = Judge::start(three, {"election safety"});
  judge.on_event(p1, Leading{1});
  judge.on_event(p2, Leading{2});
  judge.on_event(p1, Leading{1});
  EXPECT_TRUE(judge.wrong().empty());
  judge.on_event(p3, Leading{1});
  ASSERT_EQ(violated(judge.wrong()), Names{"election safety"});
  EXPECT_EQ(judge.wrong()[0].why, "p1 and p3 both lead in term 1");
}

TEST(LogJudge, ComplainsOnlyOfWhatItWasAskedFor) {
  const Spec::Client waits{.self = p1, .requests = 1};
  const Last<Spec::Client> last[] = {{p1, true, &waits}};
  for (const std::string& property : Judge::properties()) {
    Judge judge = Judge::start(three, {property});
    commit(judge, p1, 2, first_of_p2);
    commit(judge, p2, 1, std::nullopt);
    commit(judge, p2, 2, first_of_p1);
    judge.on_event(p1, Leading{1});
    judge.on_event(p2, Leading{1});
    judge.on_command(p3, Read{1}, {});
    judge.on_event(p3, Readable{1, 2});  // and p3 has announced nothing
    Names names = violated(judge.wrong());
    for (const std::string& name : violated(judge.at_end(last))) names.push_back(name);
    EXPECT_EQ(names, Names{property});
  }
}

TEST(LogJudge, WhoeverReadsHasAllThatAnybodyHadWhenItAsked) {
  for (const std::uint64_t announced : {1, 2}) {
    Judge judge = Judge::start(three, {"fresh reads"});
    for (std::uint64_t place = 1; place <= 2; ++place) commit(judge, p1, place, std::nullopt);
    judge.on_command(p2, Read{1}, {});
    commit(judge, p1, 3, std::nullopt);
    for (std::uint64_t place = 1; place <= announced; ++place) commit(judge, p2, place, std::nullopt);
    judge.on_event(p2, Readable{1, 2});
    EXPECT_EQ(judge.wrong().empty(), announced == 2);
  }
}

TEST(LogJudge, ASnapshotIsWhatThePlacesLeadTo) {
  Digest digest;
  digest.apply({1, std::nullopt});
  digest.apply({2, first_of_p1});
  for (const bool right : {true, false}) {
    Judge judge = Judge::start(three, {"agreement"});
    commit(judge, p1, 1, std::nullopt);
    commit(judge, p1, 2, right ? first_of_p1 : first_of_p2);
    judge.on_event(p2, Restored{2, digest.save()});
    EXPECT_EQ(judge.wrong().empty(), right);
  }
}

// Two histories that no property tells apart must be one state.
TEST(LogJudge, ForgetsWhoProposedAndAnnouncedFirst) {
  Judge one = Judge::start(three, {});
  Judge other = one;
  propose(one, first_of_p1);
  propose(one, first_of_p2);
  propose(other, first_of_p2);
  EXPECT_NE(fingerprint(one), fingerprint(other));
  propose(other, first_of_p1);
  commit(one, p1, 1, first_of_p1);
  commit(one, p2, 1, first_of_p1);
  commit(other, p2, 1, first_of_p1);
  commit(other, p1, 1, first_of_p1);
  EXPECT_EQ(one, other);
  EXPECT_EQ(fingerprint(one), fingerprint(other));
}

TEST(LogJudge, RemembersOnlyWhatTerminationNeeds) {
  Judge one = Judge::start(three, {"termination"});
  Judge other = one;
  propose(one, first_of_p1);
  EXPECT_EQ(one, other);
  commit(one, p1, 1, first_of_p1);
  commit(other, p2, 4, first_of_p2);
  one.on_event(p1, Leading{1});
  other.on_event(p2, Leading{2});
  one.on_recover(p3);
  EXPECT_EQ(one, other);
  EXPECT_EQ(fingerprint(one), fingerprint(other));
}

}  // namespace
}  // namespace conclave::log
