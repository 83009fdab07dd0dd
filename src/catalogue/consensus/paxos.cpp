#include "protocols/consensus/paxos.hpp"

#include <algorithm>

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

// Everybody proposes its own id unless the run says otherwise: what was decided then tells whose it was.
consensus::Paxos::Setup setup(const Setting& setting) {
  using Deviation = consensus::Paxos::Deviation;
  Deviation deviation = Deviation::none;
  if (setting.variant == "duel") deviation = Deviation::duel;
  if (setting.variant == "amnesia") deviation = Deviation::amnesia;
  return {.values = setting.values,
          .patience_ticks = static_cast<std::uint64_t>(number_set(setting, "patience", 100)),
          .deviation = deviation};
}

void usual(sim::Options& options) {
  options.entries = 1;
  options.think = {sim::Delay::Shape::uniform, 0, 300};
}

// So many propose at the same moment, and every message takes 10 ticks.
ConsensusRun run_calmly(std::uint32_t nodes, std::uint32_t proposers, const char* variant,
                        std::uint64_t seed) {
  const Entry& entry = *find("paxos");
  const Setting setting = {
      .protocol = std::string(entry.name), .variant = variant, .members = entry.members(nodes), .seed = seed};
  sim::Options options = {.nodes = nodes, .entries = 1, .starters = proposers, .seed = seed};
  options.think = {sim::Delay::Shape::fixed, 0, 0};
  options.delay.usual = {sim::Delay::Shape::fixed, 10, 10};
  if (proposers > 1) options.until = {10'000};
  return judge_consensus(entry, options, setting);
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double peers = nodes - 1.0;
  const auto alone = run_calmly(nodes, 1, "canonical", seed).summary;
  const auto count = [&](std::initializer_list<const char*> types) {
    double sum = 0;
    for (const char* type : types) {
      if (const auto sent = alone.sent.find(type); sent != alone.sent.end())
        sum += static_cast<double>(sent->second);
    }
    return sum;
  };
  double first = 1e9;
  double last = 0;
  for (const auto& [node, decision] : alone.decisions) {
    first = std::min(first, static_cast<double>(decision.at.count) / 10);
    last = std::max(last, static_cast<double>(decision.at.count) / 10);
  }
  std::vector<Measurement> figures = {
      {"messages to prepare", count({"Prepare", "Promise"}), exactly(2 * peers)},
      {"messages to vote", count({"Accept", "Accepted"}), exactly(2 * peers)},
      {"messages to tell", count({"Learn"}), exactly(peers)},
      {"messages, one proposer", static_cast<double>(alone.messages), exactly(5 * peers)},
      {"message delays until the proposer knows", first, exactly(nodes == 1 ? 0 : 4)},
      {"message delays until all know", last, exactly(nodes == 1 ? 0 : 5)}};
  if (nodes < 2) return figures;
  const auto decided = [&](const char* variant) {
    return static_cast<double>(run_calmly(nodes, 2, variant, seed).summary.decisions.size());
  };
  figures.push_back({"decided, two proposers", decided("canonical"), exactly(nodes)});
  figures.push_back({"decided, two that never wait", decided("duel"), exactly(0)});
  return figures;
}

}  // namespace

Entry paxos() {
  Entry entry = {
      .name = "paxos",
      .family = "consensus",
      .title = "Paxos, single decree",
      .paper = "Lamport, TOCS 16(2), 1998; Paxos made simple, 2001",
      .year = 1998,
      .source = "src/protocols/consensus/paxos.hpp",
      .worlds = {"sim", "check"},
      .cost = "5(N-1) messages with one proposer, 4 delays for it, 5 for the others",
      .properties = {"termination", "agreement", "validity", "uniform"},
      .remark =
          "termination: with probability 1, once messages arrive and a majority stays up; integrity: the "
          "value of a proposer that is down may be the one chosen",
      .variants = {{"canonical", "an overtaken proposer waits at random, longer every time"},
                   {"duel", "it tries again at once: two can overtake each other for ever", true},
                   {"amnesia", "a crash takes promises and votes: two values can be decided", true}},
      .parameters = {{"patience", "ticks that an attempt may take", "100", 1, 1'000'000}},
      .most_nodes = 1'000,
      .monitor = consensus_monitor,
      .usual = usual,
      .measure = measure};
  bind<consensus::Paxos, setup>(entry);
  bind_check<consensus::Paxos, consensus::Judge, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.entries = 0;
    o.entries_of = {{NodeId{1}, 1}, {NodeId{2}, 1}};
    o.budget.crashes = 1;
    // Who proposed the value that is decided may be down in the end: no integrity.
    o.properties = {"termination", "agreement", "validity", "uniform"};
  };
  return entry;
}

}  // namespace conclave::catalogue
