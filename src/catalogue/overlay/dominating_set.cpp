#include "protocols/overlay/dominating_set.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/overlay/rows.hpp"
#include "graph/optimum.hpp"

namespace conclave::catalogue {
namespace {

constexpr std::string_view name = "superpeer-dominating-set";

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  auto graph = overlay_graph(setting);
  trace::OverlayMonitor::Claims claims = {.hops = {{1, "superpeers are neighbours"}}};
  const std::uint32_t limit = overlay_number(setting, "limit");
  if (limit > 0) {
    claims.peers = {limit, "the limit that was set"};
  } else if (graph->nodes().size() <= graph::most_nodes_for_optimum) {
    const auto fewest = static_cast<std::uint32_t>(graph::least_dominating_set(*graph, 1).size());
    claims.superpeers = {greedy_bound(*graph, fewest),
                         fmt::format("the greedy bound, where {} would do", fewest)};
  }
  return std::make_unique<trace::OverlayMonitor>(std::move(graph), std::move(claims));
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<Measurement> figures;
  for (const OverlayRun& run : overlay_runs(name, std::min(nodes, 20u), seed)) {
    const auto fewest = static_cast<std::uint32_t>(graph::least_dominating_set(*run.graph, 1).size());
    figures.push_back(
        {fmt::format("superpeers to the fewest, {} of {}", run.graph_name, run.graph->nodes().size()),
         static_cast<double>(run.summary.superpeers.size()) / fewest,
         within(1, static_cast<double>(greedy_bound(*run.graph, fewest)) / fewest)});
  }
  for (const OverlayRun& run : overlay_runs(name, nodes, seed)) {
    figures.push_back({fmt::format("worst hops, {}", run.graph_name),
                       static_cast<double>(run.summary.worst_hops), within(0, 1)});
    figures.push_back({fmt::format("share of superpeers in %, {}", run.graph_name),
                       100.0 * run.summary.superpeers.size() / nodes, unclaimed()});
    figures.push_back(
        {fmt::format("messages per edge, {}", run.graph_name), run.messages_per_edge(), unclaimed()});
    figures.push_back(
        {fmt::format("rounds, {}", run.graph_name), static_cast<double>(run.report.rounds), unclaimed()});
  }
  return figures;
}

}  // namespace

Entry superpeer_dominating_set() {
  Entry entry = {
      .name = name,
      .family = "overlay",
      .title = "Dominating set, greedily by span",
      .paper = "Liang, Haas, INFOCOM 2000",
      .year = 2000,
      .source = "src/protocols/overlay/dominating_set.hpp",
      .worlds = {"sim"},
      .cost = "4 rounds a phase; at most H(D+1) times the fewest superpeers, D the greatest degree",
      .properties = {"attached", "access", "share", "load"},
      .remark =
          "nearest: peers belong to whoever covered them first, not to the least id; around hubs phases "
          "follow one another, up to N of them",
      .variants = {{"canonical", "equal spans are compared by scrambled ids, so that phases stay few"},
                   {"ties-by-id", "as published: equal spans are compared by ids"}},
      .parameters = {graph_parameter(),
                     {"limit", "peers that a superpeer serves at most; 0: any number", "0", 0, 1'000'000}},
      .most_nodes = 1'000'000,
      .monitor = monitor,
      .usual = overlay_usual,
      .refuse = refuse_overlay,
      .measure = measure};
  bind_world<overlay::DominatingSet, dominating_set_setup<overlay::DominatingSet::Setup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
