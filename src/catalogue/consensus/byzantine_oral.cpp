#include "protocols/consensus/byzantine_oral.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"

namespace conclave::catalogue {
namespace {

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  return std::make_unique<trace::ConsensusMonitor>(oral_treason(setting).traitors);
}

void usual(sim::Options& options) { options.entries = 1; }

std::optional<std::string> refuse(const sim::Options& options, const Setting& setting) {
  const consensus::Treason plan = oral_treason(setting);
  const std::uint32_t f = plan.rounds - 1;
  if (3 * f >= options.nodes && setting.variant != "outnumbered")
    return fmt::format("f={}: by word of mouth it takes more than {} nodes", f, 3 * f);
  Setting with_f = setting;
  with_f.parameters["f"] = std::to_string(f);
  return refuse_treason(options, with_f);
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("byzantine-oral");
  const std::uint32_t f = nodes > 3 ? 1 : 0;
  const Setting setting = {.protocol = std::string(entry.name),
                           .members = entry.members(nodes),
                           .parameters = {{"traitors", "none"}, {"f", std::to_string(f)}},
                           .seed = seed};
  const ConsensusRun calm = judge_consensus(entry, {.nodes = nodes, .entries = 1, .seed = seed}, setting);
  const double n = nodes;
  return {{fmt::format("messages, f = {}", f), static_cast<double>(calm.summary.messages),
           exactly((n - 1) + f * (n - 1) * (n - 2))},
          {fmt::format("rounds, f = {}", f), static_cast<double>(calm.summary.rounds), exactly(f + 1)}};
}

}  // namespace

Entry byzantine_oral() {
  Entry entry = {
      .name = "byzantine-oral",
      .family = "consensus",
      .title = "Byzantine agreement by word of mouth",
      .paper = "Lamport, Shostak, Pease, The Byzantine generals problem, TOPLAS 4(3), 1982",
      .year = 1982,
      .source = "src/protocols/consensus/byzantine_oral.hpp",
      .worlds = {"sim"},
      .cost = "f+1 rounds, (N-1) + f(N-1)(N-2) messages that carry ever more values",
      .properties = {"termination", "agreement", "integrity"},
      .remark = "agreement: only if fewer than a third are traitors; validity: as with signatures",
      .variants = {{"canonical", "f traitors among more than 3f"},
                   {"outnumbered", "one traitor more than that: agreement and integrity are lost", true}},
      .parameters = {{"f", "how many may be traitors", "(N-1)/3, at most 3", 0, 4},
                     {"traitors", "who they are: ids, none, or drawn", "drawn"},
                     {"default", "what is believed when there is no majority", "0", INT32_MIN, INT32_MAX}},
      .least_nodes = 2,
      .most_nodes = 16,
      .monitor = monitor,
      .usual = usual,
      .refuse = refuse,
      .measure = measure};
  bind<consensus::ByzantineOral, byzantine_oral_setup<consensus::ByzantineOral::Setup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
