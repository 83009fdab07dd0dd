#include "protocols/overlay/distance_domination.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/overlay/rows.hpp"
#include "graph/optimum.hpp"

namespace conclave::catalogue {
namespace {

constexpr std::string_view name = "superpeer-distance-domination";
constexpr std::uint32_t usual_reach = 2;

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  const std::uint32_t reach = overlay_number(setting, "k");
  return std::make_unique<trace::OverlayMonitor>(
      overlay_graph(setting), trace::OverlayMonitor::Claims{.hops = {{reach, "k, as it was set"}}});
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<Measurement> figures;
  for (const OverlayRun& run : overlay_runs(name, std::min(nodes, 20u), seed)) {
    const auto fewest = graph::least_dominating_set(*run.graph, usual_reach).size();
    figures.push_back(
        {fmt::format("superpeers to the fewest, {} of {}", run.graph_name, run.graph->nodes().size()),
         static_cast<double>(run.summary.superpeers.size()) / static_cast<double>(fewest),
         at_least(1, "≥ 1")});
  }
  for (const OverlayRun& run : overlay_runs(name, nodes, seed)) {
    const double edges = std::max(1.0, static_cast<double>(run.graph->edges()));
    figures.push_back({fmt::format("worst hops, {}", run.graph_name),
                       static_cast<double>(run.summary.worst_hops), within(0, usual_reach)});
    figures.push_back({fmt::format("share of superpeers in %, {}", run.graph_name),
                       100.0 * run.summary.superpeers.size() / nodes, unclaimed()});
    figures.push_back({fmt::format("messages per edge, {}", run.graph_name), run.messages_per_edge(),
                       within(0, 2.0 * usual_reach + 2.0 + usual_reach * nodes / edges)});
    figures.push_back({fmt::format("rounds, {}", run.graph_name), static_cast<double>(run.report.rounds),
                       within(1, 3.0 * usual_reach + 1)});
  }
  return figures;
}

}  // namespace

Entry superpeer_distance_domination() {
  Entry entry = {
      .name = name,
      .family = "overlay",
      .title = "Distance domination by votes for the best within k hops",
      .paper = "Amis, Prakash, Vuong, Huynh, INFOCOM 2000 (its first half)",
      .year = 2000,
      .source = "src/protocols/overlay/distance_domination.hpp",
      .worlds = {"sim"},
      .cost = "3k+1 rounds, at most 2kE + kN + 2E messages",
      .properties = {"attached", "nearest", "access", "share", "load"},
      .remark =
          "nothing is claimed of their number: ids that ascend along the graph make almost everybody one",
      .variants = {{"canonical", "the greatest id is the best"},
                   {"degree", "the most neighbours are the best, then the greatest id"},
                   {"hashed",
                    "the greatest scrambled id is the best: ids that ascend along the graph do no harm"},
                   {"local-maxima", "only who is best for itself serves: some have no superpeer", true}},
      .parameters = {graph_parameter(), {"k", "hops that nobody is farther from a superpeer", "2", 0, 1000}},
      .most_nodes = 1'000'000,
      .monitor = monitor,
      .usual = overlay_usual,
      .refuse = refuse_overlay,
      .measure = measure};
  bind_world<overlay::DistanceDomination, distance_domination_setup<overlay::DistanceDomination::Setup>>(
      entry);
  return entry;
}

}  // namespace conclave::catalogue
