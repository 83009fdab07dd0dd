// The rows of the superpeer family: the graphs they run on, what they take from the settings, and the figures
// they claim.
#pragma once
#include "catalogue/entry.hpp"
#include "trace/overlay_monitor.hpp"

namespace conclave::catalogue {

Entry superpeer_dominating_set();
Entry superpeer_distance_domination();
Entry superpeer_p_center();

// The parameter that all of them have.
Parameter graph_parameter();
// The graph of the setting, or else the one that its parameter names, drawn from its seed. A graph that
// cannot be had breaks a belief: `refuse` has said so before.
std::shared_ptr<const Graph> overlay_graph(const Setting& setting);
std::optional<std::string> refuse_overlay(const sim::Options& options, const Setting& setting);
std::optional<std::string> refuse_unconnected(const sim::Options& options, const Setting& setting);
std::uint32_t overlay_number(const Setting& setting, std::string_view parameter);
// One selection, and nobody waits before it.
void overlay_usual(sim::Options& options);

// The greatest number of superpeers that a greedy choice may have, where `fewest` would do.
std::uint32_t greedy_bound(const Graph& graph, std::uint32_t fewest);

// What came of a run on a ring, a grid, a random geometric and a scale-free graph of about so many nodes.
struct OverlayRun {
  std::string graph_name;
  std::shared_ptr<const Graph> graph;
  sim::Report report;
  trace::OverlayMonitor::Summary summary;
  double messages_per_edge() const {
    return static_cast<double>(report.messages) /
           static_cast<double>(std::max<std::size_t>(1, graph->edges()));
  }
};
std::vector<OverlayRun> overlay_runs(std::string_view protocol, std::uint32_t nodes, std::uint64_t seed);

template <class Setup>
Setup dominating_set_setup(const Setting& setting) {
  return {.graph = overlay_graph(setting),
          .limit = overlay_number(setting, "limit"),
          .ties_by_id = setting.variant == "ties-by-id"};
}

template <class Setup>
Setup distance_domination_setup(const Setting& setting) {
  return {.graph = overlay_graph(setting),
          .reach = overlay_number(setting, "k"),
          .by_degree = setting.variant == "degree",
          .by_hash = setting.variant == "hashed",
          .local_maxima = setting.variant == "local-maxima"};
}

template <class Setup>
Setup p_center_setup(const Setting& setting) {
  return {.graph = overlay_graph(setting), .centres = overlay_number(setting, "p")};
}

}  // namespace conclave::catalogue
