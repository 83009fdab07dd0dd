#include "catalogue/compare.hpp"

#include <fmt/format.h>

#include "sim/random.hpp"

namespace conclave::catalogue {
namespace {

constexpr std::uint64_t hop = 10;  // ticks that a message takes, and that a process stays inside

sim::Options common_options(std::uint32_t nodes, std::uint64_t seed) {
  sim::Options options = {.nodes = nodes, .seed = seed};
  options.delay.usual = {sim::Delay::Shape::fixed, hop, hop};
  options.hold = {sim::Delay::Shape::fixed, hop, hop};
  options.think = {sim::Delay::Shape::fixed, 0, 0};
  return options;
}

// So far apart that every request finds the section free and everything at rest.
sim::Script lonely_requests(std::uint32_t nodes, std::uint64_t seed) {
  constexpr std::uint32_t rounds = 10;
  const std::uint64_t apart = (4 * nodes + 20) * hop;
  sim::Script script;
  for (std::uint32_t i = 0; i < rounds * nodes; ++i) {
    const sim::Draw who(seed, sim::Purpose::plan, 1, i);
    const sim::Draw when(seed, sim::Purpose::plan, 2, i);
    script.push_back({.what = sim::Action::What::wish,
                      .at = {1 + i * apart + when.below(apart / 4)},
                      .node = {1 + static_cast<std::uint32_t>(who.below(nodes))},
                      .amount = hop});
  }
  return script;
}

// Figures of the literature are exact or ranges; measured means agree to a hundredth.
Measured against(double value, const Figure& claim) {
  constexpr double tolerance = 0.01;
  const bool below = claim.low >= 0 && value < claim.low - tolerance;
  const bool above = claim.high >= 0 && value > claim.high + tolerance;
  return {value, below || above};
}

ComparedLoad measure(const Entry& entry, const sim::Options& options, bool heavy) {
  const Setting setting = {.protocol = std::string(entry.name), .members = entry.members(options.nodes)};
  ComparedLoad load = {.claims = entry.claims(options.nodes, heavy),
                       .judged = judge(entry, options, setting)};
  const auto& summary = load.judged.summary;
  if (summary.entries.empty()) return load;
  load.messages =
      against(static_cast<double>(load.judged.report.messages) / static_cast<double>(summary.entries.size()),
              load.claims.messages);
  const auto& spread = heavy ? summary.synchronisation_delay : summary.client_delay;
  if (spread.count > 0)
    load.delay =
        against(spread.mean() / hop, heavy ? load.claims.synchronisation_delay : load.claims.client_delay);
  load.throughput = 100 * hop * summary.throughput();
  return load;
}

void add_remarks(ComparedRow& row, const ComparedLoad& load, const char* name) {
  for (const trace::Verdict& verdict : load.judged.verdicts) {
    if (!verdict.holds && verdict.property == "ND")
      row.remarks.push_back(fmt::format("{} load: deadlock after {} entries; {}", name,
                                        load.judged.summary.entries.size(), verdict.why));
  }
  if (load.judged.failure) row.remarks.push_back(fmt::format("{} load: {}", name, *load.judged.failure));
  const bool differs = (load.messages && load.messages->differs) || (load.delay && load.delay->differs);
  if (differs && !row.entry->why_it_differs.empty())
    row.remarks.push_back(fmt::format("{} load: {}", name, row.entry->why_it_differs));
}

}  // namespace

ComparedRow compare(const Entry& entry, std::uint32_t nodes, bool light, bool heavy, std::uint64_t seed) {
  ComparedRow row = {.entry = &entry, .nodes = nodes};
  if (light) {
    sim::Options options = common_options(nodes, seed);
    options.script = lonely_requests(nodes, seed);
    row.light = measure(entry, options, false);
    add_remarks(row, *row.light, "low");
  }
  if (heavy) {
    sim::Options options = common_options(nodes, seed);
    options.entries = 20;
    // Not in step: processes that all ask in the same tick would never meet in another order.
    options.think = {sim::Delay::Shape::uniform, 0, 2 * hop};
    row.heavy = measure(entry, options, true);
    add_remarks(row, *row.heavy, "high");
  }
  return row;
}

}  // namespace conclave::catalogue
