#include "catalogue/directed.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace conclave::catalogue {
namespace {

using trace::Direction;
using trace::Kind;

constexpr NodeId p1 = {1}, p2 = {2};

// Both ask, p1 enters, and nothing else happens.
const trace::Directions way = {{.kind = Kind::command, .node = p1, .type = "Acquire", .at = 1},
                               {.kind = Kind::command, .node = p2, .type = "Acquire", .at = 2},
                               {.kind = Kind::deliver, .node = p2, .from = p1, .type = "Request", .at = 3},
                               {.kind = Kind::deliver, .node = p1, .from = p2, .type = "Reply", .at = 4}};

struct Recorded {
  Directed directed;
  trace::Run run;
};

Recorded record(const trace::Directions& directions) {
  const Entry& entry = *find("ricart-agrawala");
  const Setting setting = {.protocol = "ricart-agrawala", .members = entry.members(2)};
  std::stringstream file;
  trace::JsonWriter writer(file);
  Recorded recorded = {direct(entry, {.nodes = 2, .seed = 5}, setting, directions, &writer), {}};
  recorded.run = trace::read(file).value();
  return recorded;
}

Directed again(const trace::Run& run) {
  const Entry& entry = *find("ricart-agrawala");
  return repeat(entry, {.nodes = 2, .seed = 5}, {.protocol = "ricart-agrawala", .members = entry.members(2)},
                run);
}

TEST(Directed, DirectionsBecomeAWholeTrace) {
  const Recorded recorded = record(way);
  EXPECT_EQ(recorded.directed.problem, "");
  EXPECT_EQ(recorded.directed.judged.failure, std::nullopt);
  const trace::Run& run = recorded.run;
  EXPECT_EQ(run.header.protocol, "ricart-agrawala");
  EXPECT_EQ(run.header.variant, "canonical");
  EXPECT_EQ(run.header.world, "check");
  EXPECT_EQ(run.header.seed, 5u);
  EXPECT_EQ(run.header.nodes, NodeSet::range({1}, 2));
  ASSERT_EQ(run.steps.size(), 6u);
  const trace::Step& last = run.steps.back();
  EXPECT_EQ(last.at.count, 4u);
  EXPECT_EQ(last.cause, 5u);
  for (NodeId node : {p1, p2}) EXPECT_EQ(last.vector.counts.at(node), 3u);
  ASSERT_EQ(last.events.size(), 1u);
  EXPECT_EQ(last.events[0].type, "Granted");
  EXPECT_FALSE(run.end.quiet);  // the request of p2 is still under way
}

TEST(Directed, ATraceOfDirectionsRepeatsItself) { EXPECT_EQ(again(record(way).run).problem, ""); }

TEST(Directed, WhoeverWaitsInAnUnfinishedRunHasNotWaitedInVain) {
  const auto judges = [](const trace::Run& run, std::string_view property) {
    const Judged judged = again(run).judged;
    return std::ranges::count(judged.verdicts, property, &trace::Verdict::property) > 0;
  };
  trace::Run run = record(way).run;
  EXPECT_TRUE(judges(run, "EM1"));
  EXPECT_FALSE(judges(run, "EM2"));
  run.header.world = "sim";  // which goes on until everybody is served, or nobody ever will be
  EXPECT_TRUE(judges(run, "EM2"));
  EXPECT_EQ(again(run).judged.failed, "EM2");
}

TEST(Directed, SaysWhichStepTheReplayDepartsAt) {
  trace::Run run = record(way).run;
  run.steps.back().events.clear();
  EXPECT_EQ(again(run).problem.substr(0, 31), "step 6: what the client is told");
}

TEST(Directed, SaysWhichDirectionCannotBeFollowed) {
  trace::Directions wrong = way;
  wrong[2].from = p2;
  const Recorded recorded = record(wrong);
  EXPECT_EQ(recorded.directed.problem,
            "step 5: cannot deliver Request from p2 to p2: no such message is under way");
  EXPECT_EQ(recorded.run.steps.size(), 4u);  // what went before is on record
}

TEST(Directed, ABrokenRuleMustBreakAgain) {
  trace::Run run = record(way).run;
  run.end.broken = "nobody is perfect";
  EXPECT_EQ(again(run).problem,
            "the trace ends with the broken rule 'nobody is perfect', the replay breaks none");
}

}  // namespace
}  // namespace conclave::catalogue
