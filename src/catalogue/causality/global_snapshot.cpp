#include "protocols/causality/global_snapshot.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/causality/rows.hpp"
#include "catalogue/causality/setups.hpp"
#include "catalogue/judge.hpp"
#include "protocols/causality/judge.hpp"
#include "trace/snapshot_monitor.hpp"

namespace conclave::catalogue {
namespace {

constexpr auto setup = snapshot_setup<causality::GlobalSnapshot::Setup>;

std::unique_ptr<trace::Monitor> monitor(const sim::Options& options, const Setting& setting) {
  return std::make_unique<trace::SnapshotMonitor>(setting.members,
                                                  setup(setting).balance * setting.members.size(),
                                                  options.nodes <= most_nodes_for_vectors);
}

void usual(sim::Options& options) {
  options.nodes = 4;
  options.entries = 10;
  options.think = {sim::Delay::Shape::uniform, 0, 30};
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("global-snapshot");
  sim::Options options;
  usual(options);
  options.nodes = nodes;
  options.seed = seed;
  const Judged judged =
      judge(entry, options, {.protocol = "global-snapshot", .members = entry.members(nodes)});
  const auto snapshots = std::stod(judged.facts.front().json);
  return {{"markers per snapshot", static_cast<double>(judged.report.sent.at("Marker")) / snapshots,
           exactly(static_cast<double>(nodes) * (nodes - 1))}};
}

void prepare(causality::Judge& judge, const Setting& setting) {
  judge.total = setup(setting).balance * setting.members.size();
}

}  // namespace

Entry global_snapshot() {
  Entry entry = {
      .name = "global-snapshot",
      .family = "causality",
      .title = "Global snapshot by markers",
      .paper = "Chandy, Lamport, TOCS 3(1), 1985",
      .year = 1985,
      .source = "src/protocols/causality/global_snapshot.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "one marker per channel, N(N-1)",
      .properties = {"cut", "conserved", "complete"},
      .remark = "without FIFO links: a marker overtakes a payment",
      .variants = {{"canonical", "as published"}},
      .parameters = {{"balance", "money of each process at the start", "100", 0, 1'000'000'000},
                     {"every", "payments of the recorder between two snapshots", "4", 1, 1'000'000}},
      .most_nodes = 1000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind<causality::GlobalSnapshot, setup>(entry);
  bind_check<causality::GlobalSnapshot, causality::Judge, setup, prepare>(entry);
  bind_live<causality::GlobalSnapshot, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting& setting) {
    o.entries = 2;
    setting.parameters["every"] = "2";
  };
  return entry;
}

}  // namespace conclave::catalogue
