#include "protocols/consensus/byzantine_signed.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  return std::make_unique<trace::ConsensusMonitor>(treason(setting).traitors);
}

void usual(sim::Options& options) { options.entries = 1; }

// What the loyal sent: the traitors may waste as much as they like.
class LoyalMessages : public trace::Observer {
 public:
  explicit LoyalMessages(NodeSet traitors) : traitors_(std::move(traitors)) {}
  void see(const trace::Step& step) override {
    if (step.node && !traitors_.contains(*step.node)) sent += step.sends.size();
  }
  bool wants_vectors() const override { return false; }
  std::uint64_t sent = 0;

 private:
  NodeSet traitors_;
};

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("byzantine-signed");
  if (nodes < 2) return {};
  const double n = nodes;
  Setting setting = {.protocol = std::string(entry.name),
                     .members = entry.members(nodes),
                     .parameters = {{"traitors", "none"}},
                     .seed = seed};
  sim::Options options = {.nodes = nodes, .entries = 1, .seed = seed};
  const ConsensusRun calm = judge_consensus(entry, options, setting);
  std::uint64_t most = 0;
  setting.parameters.clear();
  for (std::uint64_t i = 0; i < 50; ++i) {
    options.seed = setting.seed = seed + i;
    LoyalMessages loyal(treason(setting).traitors);
    entry.simulate(options, setting, &loyal);
    most = std::max(most, loyal.sent);
  }
  const double rounds = treason(setting).rounds;
  return {
      {"messages, nobody betrays", static_cast<double>(calm.summary.messages), exactly((n - 1) * (n - 1))},
      {"rounds", static_cast<double>(calm.summary.rounds), exactly(rounds)},
      {"messages of the loyal, most of 50 runs", static_cast<double>(most),
       within(0, (n - 1) + 2 * (n - 1) * (n - 2))}};
}

void prepare(consensus::Judge& judge, const Setting& setting) { judge.traitors = treason(setting).traitors; }

}  // namespace

Entry byzantine_signed() {
  Entry entry = {
      .name = "byzantine-signed",
      .family = "consensus",
      .title = "Byzantine agreement with signatures",
      .paper = "Dolev, Strong, SIAM J. Comput. 12(4), 1983",
      .year = 1983,
      .source = "src/protocols/consensus/byzantine_signed.hpp",
      .worlds = {"sim", "check"},
      .cost = "f+1 rounds, (N-1)^2 messages if nobody betrays, less than 2N^2 by the loyal in any case",
      .properties = {"termination", "agreement", "integrity"},
      .remark = "validity: a traitor as source makes all decide a default, or what no client proposed",
      .variants = {{"canonical", "signed with Ed25519"},
                   {"unsigned", "by word of mouth: agreement and integrity are lost", true}},
      .parameters = {{"f", "how many may be traitors; at most all but one are", "2", 0, 100},
                     {"traitors", "who they are: ids, none, or drawn", "drawn"},
                     {"strategy", "silent, equivocate, forge, late, erratic, or drawn from these", "drawn"},
                     {"default", "what is decided when the source betrays", "0", INT32_MIN, INT32_MAX}},
      .least_nodes = 2,
      .most_nodes = 200,
      .monitor = monitor,
      .usual = usual,
      .refuse = refuse_treason,
      .measure = measure};
  bind<consensus::ByzantineSigned, byzantine_signed_setup<consensus::ByzantineSigned::Setup>>(entry);
  bind_check<consensus::ByzantineSigned, consensus::Judge,
             byzantine_signed_setup<consensus::ByzantineSigned::Setup>, prepare>(entry);
  entry.usual_check = [](check::Options& o, Setting& setting) {
    o.nodes = 4;
    setting.parameters.insert({{"f", "1"}, {"traitors", "1"}, {"strategy", "late"}});
  };
  return entry;
}

}  // namespace conclave::catalogue
