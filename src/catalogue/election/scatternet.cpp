#include "protocols/election/scatternet.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/election/scatternet.hpp"
#include "graph/generate.hpp"
#include "trace/scatternet_monitor.hpp"

namespace conclave::catalogue {
namespace {

constexpr std::string_view name = "scatternet";

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  return std::make_unique<trace::ScatternetMonitor>(radio_of(setting).graph);
}

std::expected<graph::Shape, std::string> shape_of(const Setting& setting, std::uint64_t seed) {
  const double degree = static_cast<double>(find(name)->number(setting, "degree"));
  if (degree * setting.members.size() / 2 > static_cast<double>(graph::most_edges))
    return std::unexpected(fmt::format("more than {} pairs in range", graph::most_edges));
  return graph::geometric(setting.members.size(), degree, seed);
}

std::optional<std::string> refuse(const sim::Options& options, const Setting& setting) {
  const auto shape = shape_of(setting, options.seed);
  return shape ? std::nullopt : std::optional(shape.error());
}

void usual(sim::Options& options) { options.entries = 1; }

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Setting setting = {
      .protocol = std::string(name), .members = NodeSet::range({1}, nodes), .seed = seed};
  sim::Options options = {.nodes = nodes, .seed = seed};
  usual(options);
  const Radio radio = radio_of(setting);
  trace::ScatternetMonitor watcher(radio.graph);
  const sim::Report report = find(name)->simulate(options, setting, &watcher);
  const trace::ScatternetMonitor::Summary& summary = watcher.summary();
  const auto sent = [&](const char* type) {
    const auto found = report.sent.find(type);
    return found == report.sent.end() ? 0.0 : static_cast<double>(found->second);
  };
  const double n = nodes;
  const double edges = static_cast<double>(radio.graph->edges());
  return {{"slaves of a master, most", static_cast<double>(summary.most_slaves), within(0, 6)},
          {"hello messages", sent("Hello"), exactly(2 * edges)},
          {"role messages", sent("Role"), within(2 * (n - 1), 2 * std::max(n - 1, 3 * n - 6))},
          {"report and assign messages", sent("Report") + sent("Assign"), exactly(2 * (n - summary.leaders))},
          {"leaders in %", 100 * summary.leaders / n, unclaimed()},
          {"bridges in %", 100 * summary.bridges / n, unclaimed()},
          {"links per node", summary.links / n, within((n - 1) / n, 3)}};
}

}  // namespace

Radio radio_of(const Setting& setting) {
  const auto shape = shape_of(setting, setting.seed);
  ensure(shape.has_value(), shape ? "" : shape.error().c_str());
  std::map<NodeId, Place> places;
  std::size_t i = 0;
  for (NodeId node : setting.members) places[node] = shape->places[i++];
  return {std::make_shared<const Graph>(graph::over(setting.members, *shape)),
          std::make_shared<const std::map<NodeId, Place>>(std::move(places))};
}

Entry scatternet() {
  Entry entry = {.name = name,
                 .family = "election",
                 .title = "Scatternet: masters of piconets, and bridges between them",
                 .paper =
                     "Petrioli, Basagni, Chlamtac, IEEE ToC 52(6), 2003, on the thinned-out graph of Li, "
                     "Stojmenovic, Wang, IEEE TPDS 15(4), 2004",
                 .year = 2003,
                 .source = "src/protocols/election/scatternet.hpp",
                 .worlds = {"sim"},
                 .cost = "2E + 2R + 2 messages a slave; E pairs in range, R ≤ 3N-6 links left",
                 .properties = {"placed", "agreed", "led", "degree", "connected"},
                 .remark = "needs everybody's place, and the same range for all",
                 .variants = {{"canonical", "the greatest id leads"}},
                 .parameters = {{"degree", "how many a node has in range on average", "6", 1, 1000}},
                 .most_nodes = 1'000'000,
                 .monitor = monitor,
                 .usual = usual,
                 .refuse = refuse,
                 .measure = measure};
  bind<election::Scatternet, scatternet_setup<election::Scatternet::Setup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
