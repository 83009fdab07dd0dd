#include "protocols/consensus/sync_flooding.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

// A complete graph and the two in which the news travel farthest. In all of them a node sends to all its
// neighbours in every round up to its eccentricity plus one, for each brings something new; on a complete
// graph the first suffices.
std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("sync-flooding");
  std::vector<Measurement> figures;
  const auto add = [&](const std::string& graph, double messages, double rounds) {
    const Setting setting = {.protocol = std::string(entry.name),
                             .members = entry.members(nodes),
                             .parameters = {{"graph", graph}},
                             .seed = seed};
    const ConsensusRun run = judge_consensus(entry, {.nodes = nodes, .entries = 1, .seed = seed}, setting);
    figures.push_back({"messages, " + graph, static_cast<double>(run.summary.messages), exactly(messages)});
    figures.push_back({"rounds, " + graph, static_cast<double>(run.summary.rounds), exactly(rounds)});
  };
  const double n = nodes;
  add("complete", n * (n - 1), nodes > 1 ? 2 : 1);
  if (nodes < 3) return figures;
  if (nodes > 3) add("ring", 2 * n * (nodes / 2 + 1), nodes / 2 + 1);
  double on_line = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::uint32_t eccentricity = std::max(i, nodes - 1 - i);
    on_line += (i == 0 || i + 1 == nodes ? 1.0 : 2.0) * (eccentricity + 1);
  }
  add("line", on_line, n);
  return figures;
}

void usual(sim::Options& options) { options.entries = 1; }

}  // namespace

Entry sync_flooding() {
  Entry entry = {
      .name = "sync-flooding",
      .family = "consensus",
      .title = "Flooding in synchronous rounds, no failures",
      .paper = "Lynch, Distributed Algorithms, 1996, chapters 4 and 6",
      .year = 1996,
      .source = "src/protocols/consensus/sync_flooding.hpp",
      .worlds = {"sim", "check"},
      .cost = "N(N-1) messages and 2 rounds if complete; else as many rounds as the graph is wide, plus 1",
      .properties = {"termination", "agreement", "integrity"},
      .remark = "validity: in a tie all decide a default; termination: not if anybody crashes",
      .variants = {{"canonical", "passes on what it learns, unless the graph is complete"},
                   {"always-relay", "passes it on there too"},
                   {"no-relay", "never passes anything on: termination is lost if not all are neighbours",
                    true}},
      .parameters = {{"graph", "complete, line, ring, star, random, or drawn from these", "drawn"},
                     {"default", "what is decided in a tie", "0", INT32_MIN, INT32_MAX}},
      .most_nodes = 1'000,
      .monitor = consensus_monitor,
      .usual = usual,
      .refuse = refuse_graph,
      .measure = measure};
  bind<consensus::SyncFlooding, sync_flooding_setup<consensus::SyncFlooding::Setup>>(entry);
  bind_check<consensus::SyncFlooding, consensus::Judge, sync_flooding_setup<consensus::SyncFlooding::Setup>>(
      entry);
  return entry;
}

}  // namespace conclave::catalogue
