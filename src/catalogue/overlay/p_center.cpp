#include "protocols/overlay/p_center.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/overlay/rows.hpp"
#include "graph/distance.hpp"
#include "graph/optimum.hpp"

namespace conclave::catalogue {
namespace {

constexpr std::string_view name = "superpeer-p-center";
constexpr std::uint32_t usual_centres = 3;

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  auto graph = overlay_graph(setting);
  const std::uint32_t centres = std::min(overlay_number(setting, "p"), graph->nodes().size());
  trace::OverlayMonitor::Claims claims = {.exactly = centres};
  if (graph->nodes().size() <= graph::most_nodes_for_optimum) {
    if (const auto best = graph::best_centres(*graph, centres))
      claims.hops = {2 * best->radius, fmt::format("twice the least possible, {}", best->radius)};
  }
  return std::make_unique<trace::OverlayMonitor>(std::move(graph), std::move(claims));
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<Measurement> figures;
  for (const OverlayRun& run : overlay_runs(name, std::min(nodes, 20u), seed)) {
    const auto best = graph::best_centres(*run.graph, std::min(usual_centres, run.graph->nodes().size()));
    ensure(best.has_value(), "these graphs are connected");
    if (best->radius == 0) continue;
    figures.push_back(
        {fmt::format("radius to the least, {} of {}", run.graph_name, run.graph->nodes().size()),
         static_cast<double>(run.summary.worst_hops) / best->radius, within(1, 2)});
  }
  for (const OverlayRun& run : overlay_runs(name, nodes, seed)) {
    figures.push_back({fmt::format("superpeers, {}", run.graph_name),
                       static_cast<double>(run.summary.superpeers.size()),
                       exactly(std::min(usual_centres, nodes))});
    figures.push_back({fmt::format("radius, {}", run.graph_name), static_cast<double>(run.summary.worst_hops),
                       unclaimed()});
    figures.push_back(
        {fmt::format("messages per edge, {}", run.graph_name), run.messages_per_edge(), unclaimed()});
    figures.push_back({fmt::format("message delays, {}", run.graph_name),
                       static_cast<double>(run.report.end.count), unclaimed()});
  }
  return figures;
}

}  // namespace

Entry superpeer_p_center() {
  Entry entry = {.name = name,
                 .family = "overlay",
                 .title = "p-center by farthest points",
                 .paper = "Gonzalez, Theoretical Computer Science 38, 1985",
                 .year = 1985,
                 .source = "src/protocols/overlay/p_center.hpp",
                 .worlds = {"sim"},
                 .cost = "2E + (p-1)(3N-3) + N-1 messages and p floods; radius at most twice the least",
                 .properties = {"attached", "nearest", "access", "share", "load"},
                 .remark = "needs a connected graph",
                 .variants = {{"canonical", "the least id is the first centre"}},
                 .parameters = {graph_parameter(), {"p", "superpeers", "3", 1, 10'000}},
                 .most_nodes = 1'000'000,
                 .monitor = monitor,
                 .usual = overlay_usual,
                 .refuse = refuse_unconnected,
                 .measure = measure};
  bind<overlay::PCenter, p_center_setup<overlay::PCenter::Setup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
