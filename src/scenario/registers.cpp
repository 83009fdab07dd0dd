// Locks over shared registers that let one process wait for ever, and one that does not.
#include <fmt/format.h>

#include "core/ensure.hpp"
#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"
#include "scenario/scenario.hpp"
#include "sim/lasso.hpp"
#include "sim/register_stage.hpp"

namespace conclave::scenario {
namespace {

using registers::Bakery;
using registers::Dijkstra;

constexpr NodeId victim = {1};
constexpr std::size_t most_states = 1'000'000;

template <Program P>
sim::RegisterMachine<P> two_processes(const typename P::Setup& setup) {
  return sim::RegisterMachine<P>::start(NodeSet::range({1}, 2), setup);
}

// The schedule before observers: the way to the cycle, and the cycle so many times. Then, if `to_the_end`,
// everybody in turn until nobody is inside or waits.
template <Program P>
Run watched(std::string title, const char* protocol, const typename P::Setup& setup, const sim::Lasso& lasso,
            std::uint32_t turns, bool to_the_end) {
  const NodeSet all = NodeSet::range({1}, 2);
  const catalogue::Setting setting = {.protocol = protocol, .members = all};
  const auto monitor = row(protocol).monitor({.nodes = all.size()}, setting);
  Recorder recorder;
  trace::Tee tee({monitor.get(), &recorder});
  tee.begin({.world = "stage", .nodes = all});
  sim::RegisterStage<P> stage(all, setup, Registers::atomic, 1, &tee);
  Ticks now = {};
  const auto tick = [&] { return now = now + Ticks{1}; };
  const auto go_on = [&](NodeId who) {
    const std::size_t i = who.value - 1;
    if (stage.machine().of(who).inside()) stage.command(i, tick(), typename P::Spec::Release{});
    if (!stage.machine().idle(i)) stage.step(i, tick());
  };
  const auto step = [&](NodeId who) {
    const std::size_t i = who.value - 1;
    if (!stage.machine().of(who).inside() && stage.machine().idle(i))
      stage.command(i, tick(), typename P::Spec::Acquire{});
    go_on(who);
  };
  stage.start({});
  for (NodeId who : lasso.prefix) step(who);
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    for (NodeId who : lasso.cycle) step(who);
  }
  for (std::size_t i = 0; to_the_end && i < 100; ++i) {
    for (NodeId who : all) go_on(who);
  }
  tee.end({.at = now});
  auto verdicts = monitor->verdicts();
  std::erase_if(verdicts, [](const auto& verdict) { return verdict.property == "fence"; });  // none is given
  return {.title = std::move(title),
          .trace = recorder.run(setting),
          .verdicts = std::move(verdicts),
          .facts = monitor->facts()};
}

std::string in_words(const std::vector<NodeId>& steps) {
  std::string text;
  for (NodeId who : steps) text += fmt::format("{}{}", text.empty() ? "" : ",", who.value);
  return text;
}

Played starvation() {
  Played played;
  const Dijkstra::Setup dijkstra = {.k = 2, .tokens = false};
  const auto start = two_processes<Dijkstra>(dijkstra);
  const auto lasso = sim::StarvationSearch(start, victim, most_states).find();
  played.expect(lasso.has_value(), "dijkstra: a search over all schedules finds one that starves p1");
  if (!lasso) return played;
  const sim::Turn turn = sim::walk_turn(start, *lasso);
  played.expect(turn.returns, fmt::format("the schedule {} leads back to the state where it began",
                                          in_words(lasso->cycle)));
  played.expect(turn.steps.at(victim) > 0 && turn.entries.at(victim) == 0 && turn.entries.at({2}) > 0,
                fmt::format("in each turn p1 takes {} steps and p2 enters; p1 never does, for ever",
                            turn.steps.at(victim)));
  constexpr std::uint32_t turns = 3;
  const Run& run = played.runs.emplace_back(
      watched<Dijkstra>(fmt::format("dijkstra: three turns of the cycle {}", in_words(lasso->cycle)),
                        "dijkstra", dijkstra, *lasso, turns, false));
  played.expect(run.entered() == std::vector<NodeId>(turns, NodeId{2}) && run.holds("EM1"),
                "p2 enters once a turn, and never are two inside");

  const Bakery::Setup bakery = {.tokens = false};
  const sim::StarvationSearch search(two_processes<Bakery>(bakery), victim, most_states);
  played.expect(
      search.complete() && !search.find(),
      fmt::format("bakery: before its first entry no schedule keeps p1 out for ever (all {} states)",
                  search.states()));
  const Run& fair = played.runs.emplace_back(
      watched<Bakery>("bakery: the same two, on the same schedule", "bakery", bakery, *lasso, turns, true));
  const auto order = fair.entered();
  played.expect(
      std::ranges::count(order, victim) > 0 && fair.holds("EM1") && fair.holds("EM2") && fair.holds("FCFS"),
      "on that very schedule the bakery lets p1 in");
  return played;
}

}  // namespace

std::vector<Scenario> register_scenarios() {
  return {{.name = "starvation",
           .question = "Can one process be overtaken for ever although the scheduler neglects nobody?",
           .source = "Dijkstra, CACM 8(9), 1965; Knuth, CACM 9(5), 1966; Lamport, CACM 17(8), 1974",
           .answer = "with Dijkstra's lock yes, on a cycle of ten steps; with the bakery no",
           .explanation =
               "Dijkstra's lock remembers nothing of who came first: p1 looks each time while the other is "
               "between its steps, and starts over. In the bakery whoever is through the doorway holds a "
               "number, and those who come later have greater ones, so they wait.",
           .play = starvation}};
}

}  // namespace conclave::scenario
