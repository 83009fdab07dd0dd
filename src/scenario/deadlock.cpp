// Votes that wait for each other.
#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

const NodeSet three = NodeSet::range({1}, 3);

// Everybody needs its own vote and that of the next: 1 of 2, 2 of 3, 3 of 1. All ask before anything
// arrives.
void all_ask_at_once(Directed& run) {
  for (NodeId node : three) run.command(node, "Acquire");
  run.deliver({1}, {2}, "Request");
  run.deliver({2}, {3}, "Request");
  run.deliver({3}, {1}, "Request");
}

catalogue::Setting voting(const char* protocol) {
  return {.protocol = protocol,
          .members = three,
          .voting_sets = {{{1}, {{1}, {2}}}, {{2}, {{2}, {3}}}, {{3}, {{3}, {1}}}}};
}

Played maekawa_deadlock() {
  Played played;
  Directed basic("maekawa: three ask at once, each has voted for itself", voting("maekawa"));
  all_ask_at_once(basic);
  const bool silent = basic.stage().in_flight().empty();
  const Run& stuck = played.runs.emplace_back(basic.finish());
  played.expect(stuck.entered().empty() && silent, "nobody is inside and nothing is under way");
  played.expect(!stuck.holds("ND") && stuck.holds("EM1"),
                "after six steps all wait for each other: deadlock");
  Directed cured("maekawa-deadlock-free: the same requests in the same order",
                 voting("maekawa-deadlock-free"));
  all_ask_at_once(cured);
  for (std::uint32_t i = 0; i < three.size(); ++i) {
    cured.deliver_all();
    for (NodeId node : three) {
      if (cured.stage().may(node, "Release")) cured.command(node, "Release");
    }
  }
  cured.deliver_all();
  const Run& served = played.runs.emplace_back(cured.finish());
  played.expect(served.entered() == std::vector<NodeId>{{1}, {2}, {3}} && served.holds("ND") &&
                    served.holds("EM1") && served.holds("EM2"),
                "with votes that can be called back all three enter, one after the other");
  return played;
}

}  // namespace

std::vector<Scenario> deadlock_scenarios() {
  return {
      {.name = "maekawa-deadlock",
       .question = "Quorum voting needs few messages. Can three who ask at the same time block each other?",
       .source = "Maekawa, TOCS 3(2), 1985; Sanders, TOCS 5(3), 1987",
       .answer = "yes, in six steps with three processes; votes that can be called back cure it",
       .explanation =
           "A vote once given is never taken back, so three processes that hold one vote each and wait for "
           "the next one's close a circle. In the cure requests are stamped, and an arbiter calls its vote "
           "back when an older request comes: the oldest of all always gets its votes.",
       .play = maekawa_deadlock}};
}

}  // namespace conclave::scenario
