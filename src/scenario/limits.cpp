// What cannot be done: agreement over links that lose messages, and consensus without bounds on time when one
// process may crash.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "scenario/found.hpp"
#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

using What = sim::Action::What;

// The two generals.

constexpr std::int64_t attack = 1;
constexpr std::uint32_t longest_handshake = 6;
const NodeSet generals = NodeSet::range({1}, 2);

catalogue::Setting handshake_of(std::uint32_t messages) {
  return {.protocol = "two-generals",
          .members = generals,
          .parameters = {{"messages", std::to_string(messages)}, {"dawn", "100"}}};
}

// They send in turn, p1 the first; `lost` is a number in the handshake, or 0.
Run handshake(std::uint32_t messages, std::uint32_t lost) {
  sim::Script script = {{.what = What::wish, .node = {1}}};
  if (lost > 0)
    script.push_back({.what = What::lose, .node = {lost % 2 == 1 ? 1u : 2u}, .nth = (lost + 1) / 2});
  return simulated(
      fmt::format("two-generals: a handshake of {}, the last messenger is caught (1: attack, 0: retreat)",
                  messages),
      timed(generals, 10, script), handshake_of(messages));
}

std::size_t attackers(const Run& run) {
  const auto decided = run.decided();
  return static_cast<std::size_t>(
      std::ranges::count_if(decided, [](const auto& one) { return one.second == attack; }));
}

Played two_generals() {
  Played played;
  for (std::uint32_t k = 1; k <= longest_handshake; ++k) {
    played.expect(attackers(handshake(k, 0)) == 2, fmt::format("{} messages, none lost: both attack", k));
    // Each message answers the one before, so losing one loses all that follow: these are all the runs
    // that differ in what is lost.
    std::uint32_t failing = 0;
    for (std::uint32_t lost = 1; lost <= k; ++lost) failing += handshake(k, lost).holds("agreement") ? 0 : 1;
    const Run& last = played.runs.emplace_back(handshake(k, k));
    const NodeId sender = {k % 2 == 1 ? 1u : 2u};
    played.expect(
        failing > 0 && attackers(last) == 1 && last.decided().at(sender) == attack,
        fmt::format("{} messages, the last one lost: exactly its sender p{} attacks", k, sender.value));
    // No bound on time: a messenger who comes after dawn is as good as caught.
    const Found found =
        explored(fmt::format("two-generals: the checker's shortest failure of a handshake of {}", k),
                 {.budget = {.losses = 1, .timeouts = 2}}, handshake_of(k), "agreement");
    played.expect(found.run && !found.run->holds("agreement"),
                  fmt::format("{} messages: the checker finds a run in which one attacks alone", k));
    if (found.run && k == longest_handshake) played.runs.push_back(*found.run);
  }
  return played;
}

// Consensus without time.

catalogue::Setting waiting_for(const char* votes) {
  return {.protocol = "wait-for",
          .members = NodeSet::range({1}, 3),
          .values = {{{1}, 0}, {{2}, 1}, {{3}, 1}},
          .parameters = {{"votes", votes}}};
}

Run wait_for_all() {
  Directed run("wait-for: everybody waits for three votes, and p3 crashes", waiting_for("3"));
  run.crash({3});
  for (NodeId node : {NodeId{1}, NodeId{2}}) run.command(node, "Propose");
  run.deliver_all();
  return run.finish();
}

Run wait_for_two() {
  Directed run("wait-for: everybody waits for two votes, nobody crashes", waiting_for("2"));
  for (NodeId node : NodeSet::range({1}, 3)) run.command(node, "Propose");
  run.deliver({2}, {1}, "Vote");
  run.deliver({3}, {2}, "Vote");
  run.deliver_all();
  return run.finish();
}

// The state of all processes and links, with ballots counted from the greatest there is: what an attempt
// does depends on which ballot is greater and by how much, never on how great they are.
std::string apart_from_ballots(const sim::Stage& stage) {
  std::string whole;
  for (NodeId node : stage.members()) whole += stage.state(node) + '\n';
  for (const sim::InFlight& flight : stage.in_flight())
    whole += fmt::format("{} {} {} {}\n", flight.from.value, flight.to.value, flight.type, flight.content);
  // How often one has tried only says how long it would wait, and in a duel nobody waits.
  whole = std::regex_replace(whole, std::regex(R"("attempts":\d+)"), "");
  const std::regex round(R"("round":(\d+))");
  std::uint64_t greatest = 0;
  for (std::sregex_iterator at(whole.begin(), whole.end(), round), end; at != end; ++at)
    greatest = std::max<std::uint64_t>(greatest, std::stoull((*at)[1]));
  std::string relative;
  auto rest = whole.cbegin();
  for (std::sregex_iterator at(whole.begin(), whole.end(), round), end; at != end; ++at) {
    relative.append(rest, (*at)[0].first);
    relative += fmt::format("\"round\":-{}", greatest - std::stoull((*at)[1]));
    rest = (*at)[0].second;
  }
  return relative.append(rest, whole.cend());
}

struct Duel {
  Run run;
  std::optional<std::size_t> begins = {};  // the turn to whose state a later one came back
  std::size_t ends = 0;
};

std::uint64_t attempts(const sim::Stage& stage, NodeId node) {
  return trace::number_field(stage.state(node), "attempts").value_or(0);
}

// Everything that is under way arrives, in the order of sending, until both have tried again.
void exchange_blows(Directed& run) {
  const std::uint64_t first = attempts(run.stage(), {1});
  const std::uint64_t second = attempts(run.stage(), {2});
  constexpr std::size_t patience = 10;
  for (std::size_t sweep = 0; sweep < patience; ++sweep) {
    for (std::size_t left = run.stage().in_flight().size(); left > 0; --left) run.stage().deliver_oldest();
    if (attempts(run.stage(), {1}) > first && attempts(run.stage(), {2}) > second) return;
  }
}

// Turns in which every message that was under way arrives, and everybody asks once whether there is a
// decision: nothing waits for longer than a turn, and a turn like the one before can follow for ever. Whoever
// tries again starts its time-out anew, so that one never runs out.
Duel duel() {
  constexpr std::size_t most_turns = 30;
  Directed run("paxos (duel): p1 and p2 overtake each other, every message arrives",
               {.protocol = "paxos", .variant = "duel", .members = NodeSet::range({1}, 3)});
  run.command({1}, "Propose");
  run.command({2}, "Propose");
  std::map<std::string, std::size_t> seen;
  Duel duel;
  for (std::size_t turn = 0; turn < most_turns && !duel.begins; ++turn) {
    const auto [before, fresh] = seen.try_emplace(apart_from_ballots(run.stage()), turn);
    if (!fresh) {
      duel.begins = before->second;
      duel.ends = turn;
      break;
    }
    for (NodeId node : NodeSet::range({1}, 3)) run.fire(node);
    exchange_blows(run);
  }
  duel.run = run.finish();
  duel.run.rows_to_draw = 60;
  return duel;
}

Played flp() {
  Played played;
  const Run& blocked = played.runs.emplace_back(wait_for_all());
  played.expect(!blocked.holds("termination") && blocked.decided().empty(),
                "who waits for all three waits for ever once one has crashed");
  const Run& torn = played.runs.emplace_back(wait_for_two());
  const auto decided = torn.decided();
  played.expect(!torn.holds("agreement") && decided.at({1}) == 0 && decided.at({2}) == 1,
                "who waits for two decides on other votes than its neighbour: p1 decides 0, p2 decides 1");
  const Found stuck = explored("wait-for: the checker's shortest run without a decision",
                               {.budget = {.crashes = 1}}, waiting_for("3"), "termination");
  played.expect(stuck.run && !stuck.run->holds("termination"),
                "the checker finds a crash after which three votes never come");
  if (stuck.run) played.runs.push_back(*stuck.run);
  const Found split =
      explored("wait-for: the checker's shortest disagreement", {}, waiting_for("2"), "agreement");
  played.expect(split.run && !split.run->holds("agreement"),
                "the checker finds a disagreement over two votes without any crash");
  if (split.run) played.runs.push_back(*split.run);
  Duel fought = duel();
  played.expect(fought.begins.has_value(),
                fmt::format("two proposers come back after {} turns to where they were after {}, but for "
                            "greater ballots: that can go on for ever",
                            fought.ends, fought.begins.value_or(0)));
  played.expect(
      !fought.run.holds("termination") && fought.run.holds("agreement") && fought.run.decided().empty(),
      "nothing wrong is ever decided there, but nothing at all is");
  played.runs.push_back(std::move(fought.run));
  return played;
}

}  // namespace

std::vector<Scenario> limit_scenarios() {
  return {
      {.name = "two-generals",
       .question = "Two generals must attack together. Is there a handshake that makes sure of it, if "
                   "messengers can be caught?",
       .source =
           "Akkoyunlu, Ekanadham and Huber, SOSP 1975; Gray, Notes on data base operating systems, 1978",
       .answer = "no: for every number of messages there is a run in which one attacks alone",
       .explanation = "Whoever sends the last messenger cannot know whether it arrived, and attacks all the "
                      "same. If it did not need to arrive, it was not needed at all, and the handshake was "
                      "one shorter: so no length is the right one.",
       .play = two_generals},
      {.name = "async-consensus-impossibility",
       .question =
           "There is no bound on delays, and one process may crash. Why does no protocol always reach "
           "consensus?",
       .source = "Fischer, Lynch and Paterson, JACM 32(2), 1985; Lamport, TOCS 16(2), 1998",
       .answer = "a crash looks like a slow message: who waits may wait for ever, who does not may disagree",
       .explanation =
           "The theorem is about every deterministic protocol; these three show what each gives up: "
           "waiting for all the end, waiting for fewer agreement, and Paxos, which keeps agreement "
           "whatever happens, the end again, on a schedule that delivers every message. Real systems add "
           "what the "
           "theorem leaves out: time-outs, or chance, as the canonical Paxos here does.",
       .play = flp},
  };
}

}  // namespace conclave::scenario
