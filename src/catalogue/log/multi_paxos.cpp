#include "protocols/log/multi_paxos.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/log/rows.hpp"
#include "protocols/log/judge.hpp"
#include "trace/log_monitor.hpp"

namespace conclave::catalogue {
namespace {

std::uint64_t number_set(const Setting& setting, const char* parameter, std::uint64_t usual) {
  const auto found = setting.parameters.find(parameter);
  return found == setting.parameters.end() ? usual : std::stoull(found->second);
}

log::MultiPaxos::Setup setup(const Setting& setting) {
  return {.heartbeat_ticks = number_set(setting, "heartbeat", 40),
          .patience_ticks = number_set(setting, "patience", 120),
          .piggyback = setting.variant == "piggyback"};
}

// Long enough for leaders to come and go.
void usual(sim::Options& options) { options.think = {sim::Delay::Shape::uniform, 0, 300}; }

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& entry = *find("multi-paxos");
  const double peers = nodes - 1.0;
  std::vector<Measurement> figures;
  for (const char* variant : {"canonical", "piggyback"}) {
    const Setting setting = {.protocol = std::string(entry.name),
                             .variant = variant,
                             .members = entry.members(nodes),
                             .seed = seed};
    sim::Options options = {.nodes = nodes, .entries = 20, .seed = seed};
    options.think = {sim::Delay::Shape::uniform, 0, 1000};
    options.delay.usual = {sim::Delay::Shape::fixed, 10, 10};
    trace::LogMonitor monitor;
    entry.simulate(options, setting, &monitor);
    const auto& run = monitor.summary();
    const auto each = [&](std::initializer_list<const char*> types) {
      double sum = 0;
      for (const char* type : types) {
        if (const auto sent = run.sent.find(type); sent != run.sent.end())
          sum += static_cast<double>(sent->second);
      }
      return sum / static_cast<double>(run.commands);
    };
    const std::string which = variant;
    if (which == "piggyback") {
      figures.push_back(
          {"messages per command, piggyback", each({"Accept", "Accepted", "Commit"}), exactly(2 * peers)});
      continue;
    }
    figures.push_back({"votes per command", each({"Accept", "Accepted"}), exactly(2 * peers)});
    figures.push_back({"notices per command", each({"Commit"}), exactly(peers)});
    if (run.leaders.size() != 1) continue;  // the figures below are those of a stable leader
    double follower = 1e9;
    for (const auto& [node, delay] : run.delay_of) {
      const double delays = static_cast<double>(delay.least) / 10;
      if (node == run.leaders[0]) {
        figures.push_back({"message delays, proposed by the leader", delays, exactly(nodes == 1 ? 0 : 2)});
      } else {
        follower = std::min(follower, delays);
      }
    }
    if (nodes > 1) figures.push_back({"message delays, proposed by another", follower, exactly(4)});
  }
  return figures;
}

}  // namespace

Entry multi_paxos() {
  Entry entry = {
      .name = "multi-paxos",
      .family = "log",
      .title = "Multi-Paxos, a log with a stable leader",
      .paper = "Lamport, TOCS 16(2), 1998; Paxos made simple, 2001",
      .year = 1998,
      .source = "src/protocols/log/multi_paxos.hpp",
      .worlds = {"sim", "check"},
      .cost = "2(N-1) messages per command and N-1 to tell that it is chosen",
      .properties = {"agreement", "integrity", "order", "termination", "linearizable"},
      .remark = "termination: with probability 1, once messages arrive and a majority stays up",
      .variants = {{"canonical", "a message of its own says what is chosen"},
                   {"piggyback", "the next command or heartbeat says so: N-1 messages less, later news"}},
      .parameters = {{"heartbeat", "ticks between a leader's signs of life", "40", 1, 1'000'000},
                     {"patience", "ticks for which a follower waits for one, at least", "120", 1, 1'000'000}},
      // Alone it would announce what its disk does not have yet.
      .least_nodes = 2,
      .most_nodes = 1'000,
      .monitor = log_monitor,
      .usual = usual,
      .measure = measure};
  bind<log::MultiPaxos, setup>(entry);
  bind_check<log::MultiPaxos, log::Judge, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.entries = 0;
    o.entries_of = {{NodeId{1}, 1}};
    o.budget = {.crashes = 1, .recoveries = 1, .losses = 1, .timeouts = 1};
  };
  return entry;
}

}  // namespace conclave::catalogue
