#include "protocols/election/proof_of_work.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/election/lottery_setup.hpp"
#include "catalogue/election/rows.hpp"
#include "catalogue/judge.hpp"
#include "trace/lottery_monitor.hpp"

namespace conclave::catalogue {
namespace {

constexpr auto setup = lottery_setup<election::ProofOfWork::Setup>;

std::unique_ptr<trace::Monitor> monitor(const sim::Options& options, const Setting& setting) {
  NodeSet miners = setting.members;
  if (setup(setting).attacker_share > 0) miners.erase(miners.max());
  return std::make_unique<trace::LotteryMonitor>(miners, options.entries);
}

void usual(sim::Options& options) {
  options.entries = 20;
  options.think = {sim::Delay::Shape::fixed, 0, 0};
  options.step_limit = 5'000'000;
  options.patience = {1'000'000'000'000};  // blocks take long against messages
}

// How often an attacker with so many thousandths of the lots reverses the leader of the first height.
// One honest process stands for all: their lots are as good as one's.
double measured_chance(std::uint32_t share, std::uint32_t confirmations, std::uint64_t seed) {
  constexpr std::uint64_t races = 20'000;
  constexpr std::uint32_t nodes = 2;
  const Entry& entry = *find("proof-of-work");
  sim::Options options;
  usual(options);
  options.nodes = nodes;
  options.entries = 1;
  options.delay.usual = {sim::Delay::Shape::fixed, 1, 1};
  Setting setting = {.protocol = "proof-of-work", .variant = "attacker", .members = entry.members(nodes)};
  setting.parameters = {{"confirmations", std::to_string(confirmations)},
                        {"share", std::to_string(share)},
                        {"interval", "1000000"}};
  // His branch shows itself as a leader that is reversed at everybody else.
  class Race : public trace::Observer {
   public:
    bool won = false;
    void see(const trace::Step& step) override {
      for (const trace::Item& event : step.events) {
        if (event.type == "Attacked") won = event.content.find("true") != std::string::npos;
      }
    }
    bool wants_vectors() const override { return false; }
  };
  std::uint64_t won = 0;
  for (std::uint64_t i = 0; i < races; ++i) {
    options.seed = seed * races + i;
    Race race;
    entry.simulate(options, setting, &race);
    won += race.won;
  }
  return static_cast<double>(won) / races;
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("proof-of-work");
  sim::Options options;
  usual(options);
  options.nodes = nodes;
  options.seed = seed;
  options.entries = 100;
  const Setting setting = {.protocol = "proof-of-work", .members = entry.members(nodes)};
  const Judged judged = judge(entry, options, setting);
  const double blocks = std::stod(judged.facts.front().json);
  constexpr double share = 0.3;
  constexpr std::uint32_t depth = 5;
  const double chance = measured_chance(300, depth, seed);
  const double published = election::nakamoto(share, depth);
  return {{"messages per block", static_cast<double>(judged.report.messages) / blocks, exactly(nodes - 1.0)},
          {"leader reversed after 5, attacker 30 %: exact", chance,
           exactly(election::rosenfeld(share, depth)), 0.04},
          {"the same against Nakamoto's Poisson",
           chance,
           {fmt::format("{:.4f}, too low by a tenth", published), published, 1.15 * published}}};
}

}  // namespace

Entry proof_of_work() {
  Entry entry = {
      .name = "proof-of-work",
      .family = "election",
      .title = "Leader by lottery on a chain",
      .paper = "Nakamoto, Bitcoin, 2008",
      .year = 2008,
      .source = "src/protocols/election/proof_of_work.hpp",
      .worlds = {"sim"},
      .cost = "N-1 messages per block",
      .properties = {"confirmed", "agreement", "growth"},
      .remark = "confirmed: only with a probability, and not at all against half of the lots",
      .variants = {{"canonical", "everybody is honest"},
                   {"attacker", "the greatest id mines a secret branch: a confirmed leader may be reversed",
                    true}},
      .parameters = {{"interval", "mean ticks between two blocks", "10000", 1, 1'000'000'000},
                     {"confirmations", "blocks that make a leader count, its own among them", "6", 1, 1000},
                     {"share", "of the attacker, in thousandths of the lots", "300", 1, 999}},
      .least_nodes = 2,
      .most_nodes = 1000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind_world<election::ProofOfWork, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
