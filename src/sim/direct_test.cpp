#include "sim/direct.hpp"

#include <gtest/gtest.h>

#include "protocols/mutex/spec.hpp"
#include "protocols/registers/bakery.hpp"
#include "sim/register_stage_of.hpp"
#include "sim/stage_of.hpp"
#include "trace/tee.hpp"

namespace conclave::sim {

using mutex::Acquire;
using mutex::Granted;
using mutex::Release;

// Not in the anonymous namespace: the names of its timers are asked for.
struct Clerk {  // uses everything that a world has to offer
  struct Note {
    std::uint64_t number = 0;
    bool operator==(const Note&) const = default;
  };
  struct Thanks {
    bool operator==(const Thanks&) const = default;
  };
  using Spec = mutex::Spec;
  using Message = std::variant<Note, Thanks>;
  enum class Timer { soon, late };
  using Setup = NoSetup;
  using Out = Effects<Clerk>;
  using AppStamp = std::uint64_t;
  struct Durable {
    std::uint64_t written = 0;
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t written = 0;
  std::vector<std::uint64_t> notes = {};
  std::vector<NodeId> returned = {};
  std::vector<unsigned> faces = {};
  std::uint32_t round = 0;
  std::uint64_t heard = 0;
  bool operator==(const Clerk&) const = default;

  static Clerk start(NodeId self, const NodeSet& all, const Setup&, Out& out) {
    out.arm(Timer::soon, {{1}, {2}});
    out.arm(Timer::late, {{8}, {9}});
    return {.self = self, .peers = all.without(self)};
  }
  static Clerk recover(NodeId self, const NodeSet& all, const Setup&, const Durable& durable, Out&) {
    return {.self = self, .peers = all.without(self), .written = durable.written};
  }
  void on_command(Out& out, const Acquire&) {
    out.persist({++written});
    out.broadcast(peers, Note{written});
    out.broadcast(peers, Note{10 * written});
    out.choose(2);
    out.choose(6);
  }
  void on_command(Out&, const Release&) {}
  void on_message(Out& out, NodeId from, const Note& note) {
    notes.push_back(note.number);
    out.send(from, Thanks{});
  }
  void on_message(Out&, NodeId, const Thanks&) {}
  void on_timer(Out& out, Timer timer) {
    if (timer == Timer::late) out.broadcast(peers, Thanks{});
  }
  void on_choice(Out& out, unsigned face) {
    faces.push_back(face);
    if (faces.size() % 2 == 0) out.announce(Granted{{7}});
  }
  void on_bounce(Out&, NodeId to, const Message&) { returned.push_back(to); }
  void on_round(Out&, std::uint32_t which) { round = which; }
  AppStamp on_tell() { return 40; }
  void on_hear(const AppStamp& stamp) { heard = stamp; }
};
static_assert(Protocol<Clerk> && Recovers<Clerk> && HearsBounces<Clerk> && TossesCoins<Clerk> &&
              InRounds<Clerk> && StampsApplication<Clerk>);

namespace {

using trace::Direction;
using trace::Directions;
using trace::Kind;

constexpr NodeId p1 = {1}, p2 = {2};

class Direct : public testing::Test {
 protected:
  std::string follow(const Direction& direction) { return sim::follow(stage, direction); }
  std::string state(NodeId node) const { return stage.state(node); }
  bool shows(NodeId node, const char* field) const { return state(node).find(field) != std::string::npos; }
  const trace::Step& last() const { return keeper.steps().back(); }
  void SetUp() override { stage.leave_bounces_to_director(); }

  trace::Keeper keeper{1000};
  StageOf<Clerk> stage{NodeSet::range({1}, 2), {}, &keeper};
};

const Direction ask = {.kind = Kind::command, .node = p1, .type = "Acquire"};

TEST_F(Direct, DeliversTheMessageOfThatContent) {
  EXPECT_EQ(follow(ask), "");
  EXPECT_EQ(
      follow({.kind = Kind::deliver, .node = p2, .from = p1, .type = "Note", .content = R"({"number":10})"}),
      "");
  EXPECT_TRUE(shows(p2, R"("notes":[10])"));
  EXPECT_EQ(follow({.kind = Kind::deliver, .node = p2, .from = p1, .type = "Note"}), "");
  EXPECT_TRUE(shows(p2, R"("notes":[10,1])"));
  EXPECT_EQ(follow({.kind = Kind::deliver, .node = p2, .from = p1, .type = "Note"}),
            "no such message is under way");
}

TEST_F(Direct, FiresTheTimerOfThatName) {
  EXPECT_EQ(follow({.kind = Kind::timer, .node = p1, .type = "late", .at = 12}), "");
  EXPECT_EQ(last().sends.size(), 1u);
  EXPECT_EQ(last().at.count, 12u);
  EXPECT_EQ(follow({.kind = Kind::timer, .node = p1, .type = "late"}), "the timer does not run");
  EXPECT_EQ(follow({.kind = Kind::timer, .node = p1, .type = "soon"}), "");
}

TEST_F(Direct, TossesOnlyCoinsThatWereAskedFor) {
  EXPECT_EQ(follow({.kind = Kind::choice, .node = p1, .type = "0"}), "the node has not asked for a coin");
  EXPECT_EQ(follow(ask), "");
  EXPECT_EQ(follow({.kind = Kind::choice, .node = p1, .type = "2"}), "the coin shows 0 to 1 only");
  EXPECT_EQ(follow({.kind = Kind::choice, .node = p1, .type = "x"}), "'x' is no face of a coin");
  EXPECT_EQ(follow({.kind = Kind::choice, .node = p1, .type = "1"}), "");
  EXPECT_EQ(follow({.kind = Kind::choice, .node = p1, .type = "5"}), "");
  ASSERT_EQ(last().events.size(), 1u);
  EXPECT_EQ(last().events[0].type, "Granted");
  EXPECT_TRUE(shows(p1, R"("faces":[1,5])"));
}

TEST_F(Direct, BringsANodeBackWithOrWithoutWhatItPersisted) {
  EXPECT_EQ(follow(ask), "");
  EXPECT_EQ(follow({.kind = Kind::recover, .node = p1, .type = "fresh"}), "the node has not crashed");
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p1}), "");
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p1}), "it is not up");
  EXPECT_EQ(follow(ask), "p1 has crashed");
  EXPECT_EQ(follow({.kind = Kind::recover, .node = p1, .type = "durable"}), "");
  EXPECT_TRUE(shows(p1, R"("written":1)"));
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p1}), "");
  EXPECT_EQ(follow({.kind = Kind::recover, .node = p1, .type = "fresh"}), "");
  EXPECT_TRUE(shows(p1, R"("written":0)"));
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p2}), "");
  EXPECT_EQ(follow({.kind = Kind::recover, .node = p2, .type = "durable"}), "nothing was persisted there");
}

TEST_F(Direct, ACrashMayTakeTheLastWritesWithIt) {
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p1, .type = "1 write lost"}),
            "the node has not written so much");
  const Direction heads = {.kind = Kind::choice, .node = p1, .type = "0"};
  const Direction leave = {.kind = Kind::command, .node = p1, .type = "Release"};
  for (const Direction& next : {ask, heads, heads, leave, ask}) EXPECT_EQ(follow(next), "");
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p1, .type = "1 write lost"}), "");
  EXPECT_EQ(last().input.type, "1 write lost");
  EXPECT_EQ(follow({.kind = Kind::recover, .node = p1, .type = "durable"}), "");
  EXPECT_TRUE(shows(p1, R"("written":1)"));
}

TEST_F(Direct, LosesAndCopiesMessages) {
  EXPECT_EQ(follow(ask), "");
  const Direction first = {
      .kind = Kind::duplicate, .node = p2, .from = p1, .type = "Note", .content = R"({"number":1})"};
  Direction then = first;
  EXPECT_EQ(follow(first), "");
  EXPECT_EQ(last().message, 1u);
  then.kind = Kind::deliver;
  EXPECT_EQ(follow(then), "");
  EXPECT_EQ(last().cause, 3u);
  then.kind = Kind::lose;
  EXPECT_EQ(follow(then), "");
  EXPECT_EQ(last().input.type, "on the way");
  EXPECT_EQ(follow(then), "no such message is under way");
  EXPECT_EQ(stage.in_flight().size(), 2u);  // the other note, and the thanks for the first
}

TEST_F(Direct, LeavesAMessageToANodeThatIsDownWhereItIsUntilTold) {
  EXPECT_EQ(follow(ask), "");
  EXPECT_EQ(follow({.kind = Kind::crash, .node = p2}), "");
  EXPECT_EQ(stage.in_flight().size(), 2u);
  EXPECT_EQ(follow({.kind = Kind::deliver, .node = p2, .from = p1, .type = "Note"}), "p2 has crashed");
  const Direction back = {.kind = Kind::bounce, .node = p1, .from = p2, .type = "Note"};
  EXPECT_EQ(follow(back), "");
  EXPECT_TRUE(shows(p1, R"("returned":[2])"));
  // As the simulator has it: lost at the receiver, then back at the sender.
  EXPECT_EQ(follow({.kind = Kind::lose, .node = p2, .from = p1, .type = "Note"}), "");
  EXPECT_EQ(stage.in_flight().size(), 0u);
  EXPECT_EQ(follow(back), "");
  EXPECT_TRUE(shows(p1, R"("returned":[2,2])"));
  EXPECT_EQ(follow(back), "no such message finds its receiver down");
}

TEST_F(Direct, LetsTheApplicationTellNowAndHearLater) {
  EXPECT_EQ(follow({.kind = Kind::hear, .node = p2, .from = p1}), "nobody told it anything");
  EXPECT_EQ(follow({.kind = Kind::tell, .node = p1, .from = p2}), "");
  EXPECT_TRUE(shows(p2, R"("heard":0)"));
  EXPECT_EQ(follow({.kind = Kind::hear, .node = p2, .from = p1}), "");
  EXPECT_TRUE(shows(p2, R"("heard":40)"));
  EXPECT_EQ(last().vector.counts.at(p1), 2u);  // having started, p1 told
}

TEST_F(Direct, BeginsRoundsAndRemarksOnLinks) {
  EXPECT_EQ(follow({.kind = Kind::round, .node = p2, .type = "3"}), "");
  EXPECT_TRUE(shows(p2, R"("round":3)"));
  EXPECT_EQ(follow({.kind = Kind::partition, .group = {p1}}), "");
  EXPECT_NE(last().input.content.find(R"("group":[1])"), std::string::npos) << last().input.content;
  EXPECT_EQ(follow({.kind = Kind::heal}), "");
  EXPECT_EQ(last().kind, Kind::heal);
  EXPECT_EQ(follow({.kind = Kind::event, .node = p1}), "nobody can direct a step of kind 'event'");
}

TEST_F(Direct, NamesTheStepThatCannotBeTaken) {
  const Followed followed =
      run_directions(stage, {ask, {.kind = Kind::deliver, .node = p2, .from = p1, .type = "Thanks"}, ask});
  EXPECT_EQ(followed.directions, 1u);
  EXPECT_EQ(followed.problem, "step 4: cannot deliver Thanks from p1 to p2: no such message is under way");
}

// A run, and what it takes to see it again.
const Directions story = {ask,
                          {.kind = Kind::choice, .node = p1, .type = "1", .at = 1},
                          {.kind = Kind::tell, .node = p2, .from = p1, .at = 2},
                          {.kind = Kind::duplicate, .node = p2, .from = p1, .type = "Note", .at = 2},
                          {.kind = Kind::deliver, .node = p2, .from = p1, .type = "Note", .at = 3},
                          {.kind = Kind::hear, .node = p1, .from = p2, .at = 4},
                          {.kind = Kind::crash, .node = p2, .at = 5},
                          {.kind = Kind::lose, .node = p2, .from = p1, .type = "Note", .at = 6},
                          {.kind = Kind::bounce, .node = p1, .from = p2, .type = "Note", .at = 7},
                          {.kind = Kind::recover, .node = p2, .type = "fresh", .at = 8},
                          {.kind = Kind::timer, .node = p2, .type = "late", .at = 9}};

TEST_F(Direct, AStoryRepeatsItself) {
  ASSERT_EQ(run_directions(stage, story).problem, "");
  const auto again = trace::directions_of(keeper.steps());
  ASSERT_TRUE(again.has_value()) << again.error();
  trace::Repetition repetition(keeper.steps());
  StageOf<Clerk> other(NodeSet::range({1}, 2), {}, &repetition);
  const Followed followed = run_directions(other, *again, &repetition);
  EXPECT_EQ(followed.problem, "");
  EXPECT_EQ(followed.directions, story.size());
}

TEST_F(Direct, NoticesWhenAStoryTakesAnotherTurn) {
  ASSERT_EQ(run_directions(stage, story).problem, "");
  const auto again = trace::directions_of(keeper.steps());
  const auto problem_if = [&](auto&& change) {
    std::vector<trace::Step> shown = keeper.steps();
    change(shown);
    trace::Repetition repetition(shown);
    StageOf<Clerk> other(NodeSet::range({1}, 2), {}, &repetition);
    return run_directions(other, *again, &repetition).problem;
  };
  EXPECT_EQ(problem_if([](auto& steps) { steps[6].sends.clear(); }),
            "step 7: what is sent: the trace shows nothing, the replay Thanks to p1");
  EXPECT_EQ(problem_if([](auto& steps) {
              steps[2].events.push_back({"Granted", "{}"});
            }),
            "step 3: what the client is told: the trace shows Granted, the replay nothing");
  EXPECT_EQ(problem_if([](auto& steps) { steps[0].changed = R"({"written":4})"; }).substr(0, 62),
            R"(step 1: the state: the trace shows {"written":4}, the replay {)");
  EXPECT_EQ(problem_if([](auto& steps) { steps.resize(5); }).substr(0, 30), "step 6: the trace ends before ");
}

TEST(DirectionsOf, RefusesWhatNobodySent) {
  const std::vector<trace::Step> steps = {{.number = 5, .kind = Kind::lose, .message = 9}};
  const auto directions = trace::directions_of(steps);
  ASSERT_FALSE(directions.has_value());
  EXPECT_EQ(directions.error(), "step 5 names a message that no earlier step sent");
}

// Shared registers.

TEST(DirectRegisters, AReadThatOverlapsAWriteReturnsWhatTheDirectorSays) {
  trace::Keeper keeper(1000);
  RegisterStageOf<registers::Bakery> stage(NodeSet::range({1}, 2), {}, Registers::safe, 1, &keeper);
  const auto step = [&](NodeId node, const char* type = "", const char* value = "") {
    return follow(stage, {.kind = Kind::access, .node = node, .type = type, .content = value});
  };
  EXPECT_EQ(step(p1), "the process has no instruction: it is its client's turn");
  EXPECT_EQ(follow(stage, {.kind = Kind::command, .node = p1, .type = "Release"}),
            "the client is not in a position to Release");
  for (NodeId node : {p1, p2})
    EXPECT_EQ(follow(stage, {.kind = Kind::command, .node = node, .type = "Acquire"}), "");
  // p1 goes through the doorway, until it begins to write its ticket.
  do {
    ASSERT_EQ(step(p1), "");
  } while (keeper.steps().back().input.content.find("num") == std::string::npos ||
           keeper.steps().back().input.type != "begin");
  // p2 looks for the highest ticket meanwhile.
  const auto overlapped = [&] { return !keeper.steps().back().notes.empty(); };
  while (!overlapped()) ASSERT_EQ(step(p2, "", "5"), "");
  EXPECT_EQ(keeper.steps().back().input.content, R"({"register":"num[1]","value":5})");
  EXPECT_EQ(step(p1, "begin"), "the next step does not begin a write");
  EXPECT_EQ(step(p1, "write"), "");
  EXPECT_EQ(follow(stage, {.kind = Kind::crash, .node = p1}), "processes over shared registers do not crash");
  EXPECT_EQ(follow(stage, {.kind = Kind::deliver, .node = p1, .from = p2, .type = "Note"}),
            "there are no messages here");
}

TEST(DirectRegisters, AnInterleavingRepeatsItself) {
  trace::Keeper keeper(1000);
  RegisterStageOf<registers::Bakery> stage(NodeSet::range({1}, 2), {}, Registers::atomic, 1, &keeper);
  for (NodeId node : {p2, p1}) EXPECT_EQ(stage.command(node, "Acquire"), "");
  for (int i = 0; i < 9; ++i) {
    for (NodeId node : {p1, p2}) EXPECT_EQ(stage.access(node, "", {}), "");
  }
  const auto directions = trace::directions_of(keeper.steps());
  ASSERT_TRUE(directions.has_value());
  trace::Repetition repetition(keeper.steps());
  RegisterStageOf<registers::Bakery> other(NodeSet::range({1}, 2), {}, Registers::atomic, 1, &repetition);
  EXPECT_EQ(run_directions(other, *directions, &repetition).problem, "");
}

}  // namespace
}  // namespace conclave::sim
