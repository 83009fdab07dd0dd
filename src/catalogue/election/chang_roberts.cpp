#include "protocols/election/chang_roberts.hpp"

#include <algorithm>

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/rows.hpp"
#include "catalogue/election/setups.hpp"
#include "catalogue/election/staged.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

using election::ChangRoberts;

void usual(sim::Options& options) { options.entries = 1; }

std::optional<std::string> refuse(const sim::Options&, const Setting& setting) {
  const auto ring = setting.parameters.find("ring");
  if (ring == setting.parameters.end() || ring->second == "drawn" || ring->second == "rising")
    return std::nullopt;
  return "--set ring: is 'drawn' or 'rising'";
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("chang-roberts");
  const double n = nodes;
  const NodeSet members = entry.members(nodes);
  const std::vector<NodeId> rising(members.begin(), members.end());
  const std::vector<NodeId> falling(rising.rbegin(), rising.rend());
  std::vector<Measurement> figures = {
      {"messages, the greatest starts",
       messages_of(entry, {.members = members, .ring = rising, .starters = {members.max()}}), exactly(2 * n)},
      {"messages, its successor starts",
       messages_of(entry, {.members = members, .ring = rising, .starters = {members.min()}}),
       exactly(3 * n - 1)},
      {"messages, all start, ids rising",
       messages_of(entry, {.members = members, .ring = rising, .starters = rising}), exactly(3 * n - 1)},
      {"messages, all start, ids falling",
       messages_of(entry, {.members = members, .ring = falling, .starters = rising}),
       exactly(n * (n + 1) / 2 + n)}};
  const std::uint64_t rings = std::clamp<std::uint64_t>(100'000 / nodes, 3, 4000);
  double sum = 0;
  for (std::uint64_t i = 0; i < rings; ++i) {
    const auto ring = ring_of({.members = members, .seed = seed + i});
    sum += messages_of(entry, {.members = members, .ring = ring, .starters = rising});
  }
  double harmonic = 0;
  for (std::uint32_t i = 1; i <= nodes; ++i) harmonic += 1.0 / i;
  figures.push_back({"messages, all start, mean over rings", sum / static_cast<double>(rings),
                     exactly(n * harmonic + n), 0.02});
  if (nodes <= 1000)  // N² and more
    figures.push_back(
        {"messages, all start, without the flag",
         messages_of(
             entry,
             {.members = members, .ring = rising, .starters = rising, .variant = "no-participant-flag"}),
         exactly(n * (n - 1) / 2 + 2 * n * n)});
  return figures;
}

}  // namespace

Entry chang_roberts() {
  Entry entry = {
      .name = "chang-roberts",
      .family = "election",
      .title = "Chang-Roberts ring election",
      .paper = "Chang and Roberts, CACM 22(5), 1979",
      .year = 1979,
      .source = "src/protocols/election/chang_roberts.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "2N+d messages, d from the starter to the greatest; all start: N*H_N+N on average",
      .properties = {"E1", "E2", "agreement", "stability"},
      .remark = "a crash breaks the ring, or takes the message with it",
      .variants = {{"canonical", "with the participant flag"},
                   {"no-participant-flag",
                    "a smaller id is always replaced: every initiation is carried to its end, and a "
                    "successor that is down is skipped"}},
      .parameters = {{.name = "ring",
                      .what = "the order of the ring: drawn (by the seed), rising (ids clockwise)",
                      .usual = "drawn"}},
      .most_nodes = 10'000'000,
      .monitor = election_monitor,
      .usual = usual,
      .refuse = refuse,
      .measure = measure};
  bind<ChangRoberts, chang_roberts_setup<ChangRoberts::Setup>>(entry);
  bind_election<ChangRoberts, chang_roberts_setup<ChangRoberts::Setup>>(entry);
  bind_check<ChangRoberts, election::Judge, chang_roberts_setup<ChangRoberts::Setup>>(entry);
  bind_live<ChangRoberts, chang_roberts_setup<ChangRoberts::Setup>>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.nodes = 4; };
  return entry;
}

}  // namespace conclave::catalogue
