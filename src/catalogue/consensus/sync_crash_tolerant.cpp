#include "protocols/consensus/sync_crash_tolerant.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

using Protocol = consensus::SyncCrashTolerant;

constexpr std::uint32_t usual_f = 1;

void usual(sim::Options& options) {
  options.entries = 1;
  options.most_crashes = usual_f;  // for twins, which have no parameters
}

std::optional<std::string> refuse(const sim::Options& options, const Setting& setting) {
  const std::int64_t f = number_set(setting, "f", usual_f);
  if (2 * f < options.nodes) return std::nullopt;
  return fmt::format("--set f={}: those who crash could outvote those who survive; take {} nodes or more", f,
                     2 * f + 1);
}

// With as many crashes as it is told to survive, and no more.
sim::Report simulate(const sim::Options& given, const Setting& setting, trace::Observer* observer) {
  Entry plain;
  bind_world<Protocol, sync_crash_tolerant_setup<Protocol::Setup>>(plain);
  sim::Options options = given;
  options.most_crashes = static_cast<std::uint32_t>(number_set(setting, "f", usual_f));
  return plain.simulate(options, setting, observer);
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("sync-crash-tolerant");
  const double n = nodes;
  Setting setting = {.protocol = std::string(entry.name), .members = entry.members(nodes), .seed = seed};
  sim::Options options = {.nodes = nodes, .entries = 1, .seed = seed, .most_crashes = usual_f};
  const ConsensusRun calm = judge_consensus(entry, options, setting);
  options.faults.crash = true;
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    options.seed = setting.seed = seed + i;
    most = std::max(most, judge_consensus(entry, options, setting).summary.messages);
  }
  return {{"messages, nobody crashes", static_cast<double>(calm.summary.messages), exactly(2 * n * (n - 1))},
          {"rounds", static_cast<double>(calm.summary.rounds), exactly(usual_f + 1)},
          {"messages, most of 50 runs", static_cast<double>(most), within(0, (usual_f + 1) * n * (n - 1))}};
}

}  // namespace

Entry sync_crash_tolerant() {
  Entry entry = {
      .name = "sync-crash-tolerant",
      .family = "consensus",
      .title = "Flooding in f+1 synchronous rounds, up to f crashes",
      .paper = "Lynch, Distributed Algorithms, 1996, section 6.2",
      .year = 1996,
      .source = "src/protocols/consensus/sync_crash_tolerant.hpp",
      .worlds = {"sim", "check"},
      .cost = "f+1 rounds, at most (f+1)N(N-1) messages",
      .properties = {"termination", "agreement", "integrity", "uniform"},
      .remark = "validity: in a tie all decide a default; integrity: only if more survive than crash",
      .variants = {{"canonical", "f+1 rounds"}, {"too-few-rounds", "f rounds: agreement is lost", true}},
      .parameters = {{"f", "how many may crash", "1", 1, 100},
                     {"rounds", "how many there are", "f+1", 0, 1000},
                     {"default", "what is decided in a tie", "0", INT32_MIN, INT32_MAX}},
      .least_nodes = 3,
      .most_nodes = 1'000,
      .monitor = consensus_monitor,
      .usual = usual,
      .refuse = refuse,
      .measure = measure};
  bind<Protocol, sync_crash_tolerant_setup<Protocol::Setup>>(entry);
  bind_check<Protocol, consensus::Judge, sync_crash_tolerant_setup<Protocol::Setup>>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.budget.crashes = 1; };
  entry.simulate = simulate;
  return entry;
}

}  // namespace conclave::catalogue
