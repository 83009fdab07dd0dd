#include "catalogue/overlay/rows.hpp"

#include <fmt/format.h>

#include "catalogue/families.hpp"
#include "graph/parse.hpp"

namespace conclave::catalogue {

std::vector<Entry> overlay_rows() {
  return {superpeer_dominating_set(), superpeer_distance_domination(), superpeer_p_center()};
}

Parameter graph_parameter() {
  return {"graph",
          "who is whose neighbour: ring, path, star, complete, grid, geometric, scale-free, random or file",
          "geometric:,6"};
}

namespace {

std::expected<Graph, std::string> named_graph(const Setting& setting, std::uint64_t seed) {
  return graph::parse_graph(find(setting.protocol)->text(setting, "graph"), seed, setting.members);
}

}  // namespace

std::shared_ptr<const Graph> overlay_graph(const Setting& setting) {
  if (setting.graph) return setting.graph;
  auto graph = named_graph(setting, setting.seed);
  ensure(graph.has_value(), graph ? "" : graph.error().c_str());
  return std::make_shared<const Graph>(std::move(*graph));
}

std::optional<std::string> refuse_overlay(const sim::Options& options, const Setting& setting) {
  if (setting.graph) return std::nullopt;
  const auto graph = named_graph(setting, options.seed);
  return graph ? std::nullopt : std::optional(graph.error());
}

std::optional<std::string> refuse_unconnected(const sim::Options& options, const Setting& setting) {
  const auto graph = setting.graph ? *setting.graph : named_graph(setting, options.seed);
  if (!graph) return graph.error();
  const std::string why = graph::why_not_connected(*graph);
  return why.empty() ? std::nullopt
                     : std::optional(fmt::format("{}; {} needs one part", why, setting.protocol));
}

std::uint32_t overlay_number(const Setting& setting, std::string_view parameter) {
  return static_cast<std::uint32_t>(find(setting.protocol)->number(setting, parameter));
}

void overlay_usual(sim::Options& options) {
  options.entries = 1;
  options.think = {sim::Delay::Shape::fixed, 0, 0};
}

std::uint32_t greedy_bound(const Graph& graph, std::uint32_t fewest) {
  std::size_t degree = 0;
  for (NodeId node : graph.nodes()) degree = std::max(degree, graph.neighbours(node).size());
  double harmonic = 0;
  for (std::size_t i = 1; i <= degree + 1; ++i) harmonic += 1.0 / static_cast<double>(i);
  return static_cast<std::uint32_t>(harmonic * fewest);
}

std::vector<OverlayRun> overlay_runs(std::string_view protocol, std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find(protocol);
  std::vector<OverlayRun> runs;
  for (const char* name : {"ring", "grid", "geometric", "scale-free"}) {
    Setting setting = {.protocol = std::string(protocol),
                       .members = NodeSet::range({1}, nodes),
                       .parameters = {{"graph", name}},
                       .seed = seed};
    OverlayRun run = {.graph_name = name, .graph = overlay_graph(setting)};
    setting.graph = run.graph;
    sim::Options options = {.nodes = nodes, .seed = seed};
    overlay_usual(options);
    options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
    trace::OverlayMonitor monitor(run.graph, {});
    run.report = entry.simulate(options, setting, &monitor);
    run.summary = monitor.summary();
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace conclave::catalogue
