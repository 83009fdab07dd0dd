// The bully election: what a recovered process has to do, and how many messages it takes.
#include <fmt/format.h>

#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

using What = sim::Action::What;

catalogue::Setting bully_among(const char* protocol, const NodeSet& members, std::uint64_t transmission) {
  return {.protocol = protocol,
          .members = members,
          .parameters = {{"T_t", std::to_string(transmission)}, {"T_p", "0"}}};
}

bool all_follow(const Run& run, const NodeSet& members, NodeId leader) {
  const auto leaders = run.leaders();
  if (leaders.size() != members.size()) return false;
  for (const auto& [node, theirs] : leaders) {
    if (theirs != leader) return false;
  }
  return true;
}

// 6 leads when 7 comes back.
Run comes_back(const char* protocol, const char* title) {
  const NodeSet members = NodeSet::range({0}, 8);
  catalogue::Setting setting = bully_among(protocol, members, 1);
  setting.coordinator = NodeId{6};
  return simulated(title,
                   timed(members, 1,
                         {{.what = What::crash, .node = {7}},
                          {.what = What::recover, .at = {5}, .node = {7}, .durable = false}}),
                   setting);
}

Played take_over() {
  Played played;
  const NodeSet members = NodeSet::range({0}, 8);
  const Run& bully = played.runs.emplace_back(comes_back("bully", "bully: 6 leads, 7 comes back"));
  played.expect(bully.messages() == 7 && all_follow(bully, members, {7}), "bully: 7 messages, and 7 leads");
  played.expect(!bully.holds("stability"), "a coordinator that worked was deposed");
  const Run& polite =
      played.runs.emplace_back(comes_back("bully-polite", "bully-polite: 7 asks first who leads"));
  played.expect(polite.messages() == 2 && all_follow(polite, members, {6}),
                "bully-polite: 2 messages, and 6 goes on leading");
  played.expect(polite.holds("stability") && polite.holds("agreement") && polite.holds("E2"),
                "everybody has the same coordinator all the same");
  return played;
}

// The greatest of five is dead.
Run elects(const char* protocol, std::uint32_t starter, std::string title) {
  const NodeSet members = NodeSet::range({0}, 5);
  catalogue::Setting setting = bully_among(protocol, members, 1);
  return simulated(
      std::move(title),
      timed(members, 1,
            {{.what = What::crash, .node = {4}, .forever = true}, {.what = What::wish, .node = {starter}}}),
      setting);
}

Played messages() {
  Played played;
  const auto count = [&](const char* protocol, std::uint32_t starter, std::uint64_t wanted,
                         const char* which) {
    const Run& run = played.runs.emplace_back(
        elects(protocol, starter, fmt::format("{}: 4 is dead, {} starts: {}", protocol, starter, which)));
    played.expect(run.messages() == wanted && all_follow(run, NodeSet::range({0}, 4), {3}),
                  fmt::format("{}, {} starts: {} messages, {}", protocol, starter, wanted, which));
  };
  count("bully", 0, 19, "the worst case, n²-n-1");
  count("bully", 3, 4, "the best case, n-1");
  count("bully-delayed", 0, 11, "the worst case with delayed starts, 2p+n-2 with p = n-1");
  return played;
}

Played two_coordinators() {
  const NodeSet members = NodeSet::range({1}, 4);
  sim::Options options = timed(members, 4,
                               {{.what = What::crash, .node = {4}},
                                {.what = What::wish, .node = {3}},
                                {.what = What::recover, .at = {6}, .node = {4}, .durable = false}});
  const auto announcement = [&](std::uint32_t from, std::uint32_t to, std::uint64_t ticks) {
    options.delay.per_message[{"Coordinator", {from}, {to}}] = {sim::Delay::Shape::fixed, ticks, ticks};
  };
  announcement(4, 1, 1);
  announcement(4, 2, 4);
  announcement(4, 3, 4);
  announcement(3, 1, 2);
  announcement(3, 2, 1);
  Played played;
  const Run& run = played.runs.emplace_back(simulated("bully: 4 is replaced by another with its number",
                                                      options, bully_among("bully", members, 4)));
  const std::map<NodeId, NodeId> split = {{{1}, {3}}, {{2}, {4}}, {{3}, {4}}, {{4}, {4}}};
  played.expect(run.leaders() == split, "in the end 1 follows 3, and all others follow 4");
  played.expect(!run.holds("E1") && !run.holds("agreement") && run.holds("E2"),
                "everybody has a coordinator, but not the same: E1 is violated");
  played.expect(run.messages() == 6, "6 messages, each within the bound of 4 ticks");
  return played;
}

}  // namespace

std::vector<Scenario> bully_scenarios() {
  return {
      {.name = "bully-take-over",
       .question =
           "In the bully algorithm a recovered process with a greater id takes over from a coordinator "
           "that works. Is that needed?",
       .source = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; "
                 "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
       .answer = "no: asking who leads costs 2 messages instead of 7, and the coordinator stays",
       .explanation =
           "One coordinator on which all agree does not have to be the greatest process, so a "
           "recovered one can ask the others and adopt the answer. The take-over is needed only if "
           "E1 is meant to the letter, the greatest live id, or if greater ids are better machines.",
       .play = take_over},
      {.name = "bully-messages",
       .question = "How many messages does the bully algorithm send, and how is the worst case avoided?",
       .source = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
       .answer = "n²-n-1 if the smallest starts, n-1 if the greatest live one does; delays by rank avoid the "
                 "worst",
       .explanation = "Whoever is called calls all above itself in turn, so a call from the bottom sets off "
                      "everybody's. If the smaller ones wait longer before they call, the greatest has "
                      "announced itself meanwhile: 11 messages instead of 19, for more time.",
       .play = messages},
      {.name = "two-coordinators-one-id",
       .question = "Messages are reliable and all bounds hold. Can the bully algorithm still end with two "
                   "coordinators?",
       .source =
           "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, 15.3; Garcia-Molina, IEEE Trans. "
           "Computers C-31(1), 1982",
       .answer =
           "yes, if a crashed process is replaced by one with the same id while it is being replaced as "
           "coordinator",
       .explanation =
           "3 has waited long enough for the dead 4 and announces itself just when the new 4 does "
           "the same, and the two announcements reach 1 and 2 in different orders. Ids that are "
           "never used again, or announcements with growing numbers, would tell the older from the "
           "newer.",
       .play = two_coordinators},
  };
}

}  // namespace conclave::scenario
