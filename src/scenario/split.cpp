// Two coordinators: what silence that is not death does to the bully algorithm, and the cure.
#include <fmt/format.h>

#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

using What = sim::Action::What;
using Leaders = std::map<NodeId, NodeId>;

const NodeSet four = NodeSet::range({1}, 4);

// The number of everybody's group at that time.
std::map<NodeId, std::uint64_t> groups(const Run& run, Ticks until) {
  std::map<NodeId, std::uint64_t> numbers;
  for (const trace::Step& step : run.trace.steps) {
    if (until < step.at) break;
    for (const trace::Item& event : step.events) {
      if (const auto number = trace::number_field(event.content, "number")) numbers[*step.node] = *number;
    }
  }
  return numbers;
}

// 4 leads from the beginning.
Run bully(std::string title, sim::Options options) {
  return simulated(std::move(title), options,
                   {.protocol = "bully",
                    .members = four,
                    .coordinator = NodeId{4},
                    .parameters = {{"T_t", "10"}, {"T_p", "0"}}});
}

// Everybody begins as a group of its own; by the time of the script all have joined that of 4.
Run invitation(std::string title, sim::Script script) {
  sim::Options options = {.nodes = four.size()};
  row("invitation").usual(options);
  options.delay.usual = {sim::Delay::Shape::fixed, 5, 5};
  options.script = std::move(script);
  Run run = simulated(std::move(title), options, {.protocol = "invitation", .members = four});
  run.routine = {"AreYouCoordinator", "Coordinating", "AreYouThere", "There", "probe", "answers", "merge"};
  return run;
}

// One leader for each side, with different numbers at the moment, and one for all in the end.
void expect_groups(Played& played, const Run& run, Ticks moment, const Leaders& sides) {
  const auto then = groups(run, moment);
  const auto last = groups(run, {UINT64_MAX});
  played.expect(run.leaders(moment) == sides && then.at({1}) > then.at({4}),
                fmt::format("invitation: as many leaders, but of groups {} and {}: who knows the greater "
                            "number refuses the other",
                            then.at({1}), then.at({4})));
  played.expect(
      run.holds("I1") && run.holds("I2") && run.holds("I3") && last.at({1}) > then.at({1}) &&
          run.leaders() == Leaders{{{1}, {4}}, {{2}, {4}}, {{3}, {4}}, {{4}, {4}}},
      fmt::format("invitation: in the end all are in one group, {}, greater than both", last.at({1})));
}

Played partition() {
  Played played;
  const NodeSet small = NodeSet::range({1}, 2);
  const Leaders sides = {{{1}, {2}}, {{2}, {2}}, {{3}, {4}}, {{4}, {4}}};
  const Run& split =
      played.runs.emplace_back(bully("bully: 1 and 2 are cut off from 3 and from 4, who leads; 2 misses it",
                                     timed(four, 5,
                                           {{.what = What::partition, .group = small},
                                            {.what = What::wish, .at = {5}, .node = {2}},
                                            {.what = What::heal, .at = {100}}})));
  played.expect(split.leaders({99}) == sides,
                "bully: 2 leads one side and 4 the other, and each believes that it leads everybody");
  played.expect(!split.holds("stability"), "bully: though 4 worked all the time, it was deposed");
  const Run& cured = played.runs.emplace_back(invitation(
      "invitation: the same cut, mended later",
      {{.what = What::partition, .at = {400}, .group = small}, {.what = What::heal, .at = {1200}}}));
  expect_groups(played, cured, {1199}, sides);
  return played;
}

Played slow() {
  Played played;
  sim::Options options = timed(four, 5,
                               {{.what = What::pause, .node = {4}},
                                {.what = What::wish, .at = {1}, .node = {3}},
                                {.what = What::resume, .at = {45}, .node = {4}}});
  options.delay.per_message[{"Coordinator", {3}, {1}}] = {sim::Delay::Shape::fixed, 60, 60};
  const Run& split = played.runs.emplace_back(bully(
      "bully: 4 leads and stands still for a while; what 3 sends to 1 takes longer than the bound", options));
  played.expect(split.leaders({44}).at({3}) == NodeId{3} && split.leaders({44}).at({4}) == NodeId{4},
                "bully: 3 takes the silence of 4 for its death, and both believe that they lead");
  played.expect(split.leaders() == Leaders{{{1}, {3}}, {{2}, {4}}, {{3}, {4}}, {{4}, {4}}} &&
                    !split.holds("E1") && !split.holds("agreement"),
                "bully: in the end 1 follows 3, because the older announcement came last");
  const Run& cured = played.runs.emplace_back(invitation(
      "invitation: 4 stands still for a while",
      {{.what = What::pause, .at = {400}, .node = {4}}, {.what = What::resume, .at = {900}, .node = {4}}}));
  expect_groups(played, cured, {899}, {{{1}, {3}}, {{2}, {3}}, {{3}, {3}}, {{4}, {4}}});
  return played;
}

}  // namespace

std::vector<Scenario> split_scenarios() {
  return {
      {.name = "bully-partition",
       .question = "What does the bully algorithm do while links are cut, and how can it be adapted?",
       .source = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; "
                 "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
       .answer =
           "it elects a coordinator on each side; groups with growing numbers, by invitation, make that "
           "harmless",
       .explanation =
           "Bully takes silence for death, which a cut makes wrong, and neither coordinator knows of "
           "the other. In the invitation algorithm a leader leads its group and nobody else, groups "
           "merge when they can talk again, and their numbers tell which one is older.",
       .play = partition},
      {.name = "bully-slow",
       .question = "And if nothing is cut, but a process or a message is slower than the bound?",
       .source = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; "
                 "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
       .answer = "two coordinators at a time, and lasting disagreement if announcements overtake each other; "
                 "the cure is the same",
       .explanation =
           "Without a bound on time nobody can tell slow from dead, so a second coordinator cannot "
           "be prevented, only made harmless. A number on every announcement is what bully lacks: 1 "
           "would have seen that the news of 3 is older than that of 4.",
       .play = slow},
  };
}

}  // namespace conclave::scenario
