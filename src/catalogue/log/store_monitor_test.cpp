#include "catalogue/log/store_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace conclave::catalogue {
namespace {

using trace::Kind;

// Directs the monitor by hand. Command s of client c has the value 1000 c + s; commands 1 and 2 of client 1
// are puts to one key and 3 is a swap there, those of client 2 concern the other key.
class Story {
 public:
  void propose(std::uint32_t node, std::uint64_t serial) {
    trace::Step& step = begin(Kind::command, node);
    step.input = {"Propose", fmt::format("{{\"serial\":{},\"value\":{}}}", serial, 1000 * node + serial)};
    monitor_.see(step);
  }
  void read(std::uint32_t node) {
    trace::Step& step = begin(Kind::command, node);
    step.input = {"Read", "{\"serial\":1}"};
    monitor_.see(step);
  }
  void befall(Kind kind, std::uint32_t node) { monitor_.see(begin(kind, node)); }
  void tell(std::uint32_t node, std::string type, std::string content) {
    trace::Step& step = begin(Kind::deliver, node);
    step.events.push_back({std::move(type), std::move(content)});
    monitor_.see(step);
  }
  void commit(std::uint32_t node, std::uint64_t index, std::uint32_t client, std::uint64_t serial) {
    tell(node, "Committed",
         fmt::format("{{\"index\":{},\"entry\":{{\"client\":{},\"serial\":{},\"value\":{}}}}}", index, client,
                     serial, 1000 * client + serial));
  }
  void readable(std::uint32_t node) { tell(node, "Readable", "{\"serial\":1,\"index\":0}"); }
  void restore(std::uint32_t node, std::uint64_t index) {
    tell(node, "Restored", fmt::format("{{\"index\":{},\"state\":\"\"}}", index));
  }

  trace::Verdict verdict() const {
    StoreMonitor copy = monitor_;
    copy.end({});
    return copy.verdicts().back();
  }
  bool holds() const { return verdict().holds; }
  const linear::History& history() const { return monitor_.history(); }

 private:
  trace::Step& begin(Kind kind, std::uint32_t node) {
    step_ = {.number = ++number_, .at = {number_}, .kind = kind, .node = NodeId{node}};
    return step_;
  }
  trace::Step step_;
  StoreMonitor monitor_{trace::LogMonitor::SecondAct{}};
  std::uint64_t number_ = 0;
};

TEST(StoreMonitor, MakesAHistoryOfWhatClientsAskAndAreTold) {
  Story story;
  for (const std::uint64_t serial : {1, 2, 3}) {
    story.propose(1, serial);
    story.commit(1, serial, 1, serial);
  }
  ASSERT_EQ(story.history().size(), 3u);
  EXPECT_EQ(story.history()[0].found, std::optional<linear::Value>(linear::Value{}));
  EXPECT_EQ(story.history()[1].found, std::optional<linear::Value>("1001"));
  EXPECT_EQ(story.history()[2].kind, linear::Kind::swap);
  EXPECT_EQ(story.history()[2].wanted, linear::Value("1002"));
  EXPECT_TRUE(story.history()[2].swapped);
  EXPECT_TRUE(story.holds());
}

TEST(StoreMonitor, AReadFindsWhatWasWrittenBeforeItBegan) {
  for (const bool caught_up : {true, false}) {
    Story story;
    story.propose(2, 1);  // to the first key, as the first read
    story.commit(2, 1, 2, 1);
    story.read(3);
    if (caught_up) story.commit(3, 1, 2, 1);
    story.readable(3);
    EXPECT_EQ(story.holds(), caught_up);
  }
}

TEST(StoreMonitor, AReadDuringAWriteMayFindEither) {
  Story story;
  story.propose(2, 1);
  story.read(3);
  story.readable(3);
  story.commit(2, 1, 2, 1);
  EXPECT_TRUE(story.holds());
}

TEST(StoreMonitor, SaysWhoWasToldWhat) {
  Story story;
  story.propose(2, 1);
  story.commit(2, 1, 2, 1);
  story.read(3);
  story.readable(3);
  EXPECT_NE(story.verdict().why.find("p3 was told get"), std::string::npos) << story.verdict().why;
  EXPECT_EQ(story.verdict().step, 4u);
}

TEST(StoreMonitor, TwoLogsAreNotOneStore) {
  Story story;
  story.propose(1, 1);
  story.propose(3, 1);  // to the same key
  story.commit(1, 1, 1, 1);
  story.commit(3, 1, 3, 1);  // each believes to have found nothing there
  EXPECT_FALSE(story.holds());
}

TEST(StoreMonitor, WhoCrashesNeverLearnsWhatCameOfIt) {
  Story story;
  story.propose(2, 1);
  story.befall(Kind::crash, 2);
  story.befall(Kind::recover, 2);
  EXPECT_FALSE(story.history()[0].returned);
  story.read(2);
  story.readable(2);  // it may be in the log or not
  EXPECT_TRUE(story.holds());
}

TEST(StoreMonitor, ASnapshotStandsForThePlacesThatItReplaces) {
  for (const std::uint64_t place : {1, 2}) {
    Story story;
    story.propose(2, 1);
    story.commit(2, 1, 2, 1);
    story.propose(2, 2);
    story.commit(2, 2, 2, 2);
    story.read(3);
    story.restore(3, place);
    story.readable(3);
    EXPECT_EQ(story.holds(), place == 2);
  }
  Story unknown;  // nobody has announced what is in it
  unknown.restore(3, 5);
  unknown.read(3);
  unknown.readable(3);
  EXPECT_FALSE(unknown.history()[0].returned);
  EXPECT_TRUE(unknown.holds());
}

}  // namespace
}  // namespace conclave::catalogue
