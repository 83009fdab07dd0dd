// Elections on a ring, and what any election owes to those who use it.
#include <fmt/format.h>

#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

using What = sim::Action::What;

catalogue::Setting around(const char* protocol, const NodeSet& members) {
  return {.protocol = protocol, .members = members, .ring = {members.begin(), members.end()}};
}

bool all_follow(const Run& run, NodeId leader, std::size_t processes) {
  const auto leaders = run.leaders();
  for (const auto& [node, theirs] : leaders) {
    if (theirs != leader) return false;
  }
  return leaders.size() == processes;
}

Played own_election() {
  Played played;
  const NodeSet members = NodeSet::range({1}, 5);
  for (const char* protocol : {"bully", "ring-list", "bully-polite"}) {
    catalogue::Setting setting = around(protocol, members);
    setting.coordinator = NodeId{5};
    const Run& run =
        played.runs.emplace_back(simulated(fmt::format("{}: 5 led and is dead, 2 notices", protocol),
                                           timed(members, 1,
                                                 {{.what = What::crash, .node = {5}, .forever = true},
                                                  {.what = What::wish, .at = {1}, .node = {2}}}),
                                           setting));
    played.expect(run.holds("E1") && run.holds("E2"),
                  fmt::format("{}: everybody who is up has one coordinator, a process that is up", protocol));
    played.expect(run.holds("stability"), fmt::format("{}: and it is left in peace afterwards", protocol));
    played.expect(all_follow(run, {4}, 4), fmt::format("{}: it is 4, whoever noticed first", protocol));
  }
  return played;
}

Played two_starters() {
  const NodeSet members = NodeSet::range({0}, 8);
  const auto run_with = [&](std::vector<std::uint32_t> starters, const char* title) {
    sim::Script script = {{.what = What::crash, .node = {7}, .forever = true}};
    for (std::uint32_t starter : starters) script.push_back({.what = What::wish, .node = {starter}});
    return simulated(title, timed(members, 1, script), around("ring-list", members));
  };
  Played played;
  const Run& one = played.runs.emplace_back(run_with({2}, "ring-list: 7 is dead, 2 starts"));
  played.expect(one.messages() - one.bounced() == 14 && all_follow(one, {6}, 7),
                "one starter: 14 messages among 7 processes, and 6 leads");
  const Run& two = played.runs.emplace_back(run_with({2, 5}, "ring-list: 2 and 5 start at once"));
  played.expect(two.messages() - two.bounced() == 28 && all_follow(two, {6}, 7),
                "two starters: 28 messages, and 6 leads all the same");
  played.expect(two.holds("E1") && two.holds("E2") && two.holds("agreement"), "everybody agrees");
  return played;
}

// 2 starts and dies as soon as its list is on its way.
Run starter_dies(const char* variant, std::size_t most) {
  const NodeSet members = NodeSet::range({1}, 4);
  catalogue::Setting setting = around("ring-list", members);
  setting.variant = variant;
  Directed run(fmt::format("ring-list ({}): the starter dies", variant), setting);
  run.command({2}, "Start");
  run.deliver({2}, {3}, "Election");
  run.crash({2});
  for (std::size_t i = 0; i < most && run.stage().deliver_oldest(); ++i) {
  }
  return run.finish();
}

Played crash_during_election() {
  constexpr std::size_t plenty = 16;
  Played played;
  const Run& cured = played.runs.emplace_back(starter_dies("canonical", plenty));
  played.expect(all_follow(cured, {4}, 3) && cured.holds("E1") && cured.holds("E2"),
                "whoever finds its own number in the list closes the election: 4 leads");
  const Run& endless = played.runs.emplace_back(starter_dies("starter-closes", plenty));
  played.expect(!endless.holds("E2") && endless.messages() > plenty / 2,
                "if only the starter may close it, the list goes round for ever");
  // The carrier dies with the list: the starter's time-out begins again.
  const NodeSet members = NodeSet::range({1}, 4);
  const Run& carrier = played.runs.emplace_back(
      simulated("ring-list: 3 dies with the list in its hands",
                timed(members, 10,
                      {{.what = What::wish, .node = {2}},
                       {.what = What::crash, .at = {5}, .node = {3}, .forever = true}}),
                around("ring-list", members)));
  played.expect(all_follow(carrier, {4}, 3) && carrier.holds("E2"),
                "if the carrier dies with the list, another list is sent, and 4 leads");
  return played;
}

}  // namespace

std::vector<Scenario> election_scenarios() {
  return {
      {.name = "own-election",
       .question = "The coordinator is dead and one process has noticed. What must any election of our own "
                   "keep, and do known ones keep it?",
       .source = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982; Le Lann, IFIP 1977",
       .answer = "one live coordinator for all (E1), in the end (E2), and then no other without need "
                 "(stability)",
       .explanation = "Three different algorithms elect the same process from the same start, because each "
                      "takes the greatest of those that answer, and who noticed first does not matter. What "
                      "users rely on is not the greatest id but that all agree, soon, and for long.",
       .play = own_election},
      {.name = "ring-list-two-starters",
       .question = "What if two processes start a ring election at the same time?",
       .source = "Tanenbaum and van Steen, Distributed Systems",
       .answer = "two elections go round, with the same result and twice the messages",
       .explanation = "Each list is a lap of its own and collects the same live processes, so both name the "
                      "same greatest one. Nothing is wrong but the cost: 2n messages for each starter.",
       .play = two_starters},
      {.name = "ring-list-crash",
       .question = "What if a process fails during a ring election?",
       .source = "Tanenbaum and van Steen, Distributed Systems",
       .answer = "the first that finds itself in the list closes it; if the list dies, the starter sends "
                 "another",
       .explanation =
           "If only the starter may take its list off the ring, the death of the starter leaves it "
           "there for ever; so anybody who finds its own number closes the election, and those "
           "before it in the list are dead. A list that dies with its carrier is missed by the "
           "sender or the starter, and sent again.",
       .play = crash_during_election},
  };
}

}  // namespace conclave::scenario
