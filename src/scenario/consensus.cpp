// Agreement where time is known: synchronous rounds.
#include <fmt/format.h>

#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

Run flooding(const std::vector<std::int64_t>& values, const char* default_value, const char* title) {
  const NodeSet members = NodeSet::range({1}, static_cast<std::uint32_t>(values.size()));
  catalogue::Setting setting = {.protocol = "sync-flooding",
                                .members = members,
                                .parameters = {{"graph", "complete"}, {"default", default_value}}};
  sim::Script script;
  for (NodeId node : members) {
    setting.values[node] = values[node.value - 1];
    script.push_back({.what = sim::Action::What::wish, .node = node});
  }
  return simulated(title, timed(members, 1, script), setting);
}

bool all_decided(const Run& run, std::int64_t value, std::size_t processes) {
  const auto decided = run.decided();
  for (const auto& [node, theirs] : decided) {
    if (theirs != value) return false;
  }
  return decided.size() == processes;
}

Played synchronous_consensus() {
  Played played;
  const Run& majority =
      played.runs.emplace_back(flooding({1, 0, 1, 1}, "0", "sync-flooding: values 1, 0, 1, 1"));
  played.expect(all_decided(majority, 1, 4), "1, 0, 1, 1: everybody decides 1, the most voted");
  const Run& tie = played.runs.emplace_back(
      flooding({1, 0, 1, 0}, "7", "sync-flooding: values 1, 0, 1, 0, and 7 for ties"));
  played.expect(all_decided(tie, 7, 4), "1, 0, 1, 0: a tie, and everybody decides the default 7");
  for (const Run& run : played.runs)
    played.expect(
        run.messages() == 12 && run.holds("termination") && run.holds("agreement") && run.holds("integrity"),
        "12 messages; termination, agreement and integrity hold");
  return played;
}

}  // namespace

std::vector<Scenario> consensus_scenarios() {
  return {{.name = "synchronous-consensus",
           .question = "Nobody fails and time runs in rounds. How do all decide on one value?",
           .source = "Lynch, Distributed Algorithms, 1996",
           .answer = "everybody tells everybody, and all apply the same rule to the same values",
           .explanation =
               "After one round everybody knows the same values, so the same function of them, the "
               "most voted with one default for ties, gives everybody the same decision. It rests "
               "on both: without rounds nobody knows when it has heard all, and a crash in the "
               "middle of a round leaves different sets behind.",
           .play = synchronous_consensus}};
}

}  // namespace conclave::scenario
