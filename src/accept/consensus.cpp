#include <fmt/format.h>

#include <algorithm>

#include "accept/families.hpp"
#include "catalogue/entry.hpp"
#include "trace/consensus_monitor.hpp"
#include "trace/tee.hpp"

namespace conclave::accept {
namespace {

constexpr std::uint32_t most_processes = 1000;

NodeId node(const Json& value) {
  if (!value.is_number_unsigned()) throw CannotPlay(fmt::format("{} is no process number", value.dump()));
  return {value.get<std::uint32_t>()};
}

NodeId node(const std::string& key) { return {static_cast<std::uint32_t>(std::stoul(key))}; }

std::string key(NodeId id) { return std::to_string(id.value); }

// By place in a list, or by name.
std::map<NodeId, std::int64_t> values_of(const Json& values) {
  std::map<NodeId, std::int64_t> by_node;
  if (values.is_array()) {
    for (std::uint32_t i = 0; i < values.size(); ++i) by_node[{i}] = values[i].get<std::int64_t>();
  } else if (values.is_object()) {
    for (const auto& [who, value] : values.items()) by_node[node(who)] = value.get<std::int64_t>();
  } else {
    throw CannotPlay("\"values\" is neither a list nor an object");
  }
  return by_node;
}

std::vector<Graph::Edge> named_edges(const std::string& topology, std::uint32_t n) {
  std::vector<Graph::Edge> edges;
  for (std::uint32_t i = 1; i < n; ++i) {
    if (topology.starts_with("line") || topology.starts_with("ring")) edges.push_back({{i - 1}, {i}});
    if (topology.starts_with("star")) edges.push_back({{0}, {i}});
  }
  if (topology.starts_with("ring") && n > 2) edges.push_back({{n - 1}, {0}});
  if (edges.empty() && n > 1) throw CannotPlay(fmt::format("no adjacency, and no topology '{}'", topology));
  return edges;
}

std::shared_ptr<const Graph> graph_of(const Json& config, const NodeSet& members) {
  std::vector<Graph::Edge> edges;
  if (config.contains("adjacency")) {
    for (const auto& [who, neighbours] : config["adjacency"].items()) {
      for (const Json& neighbour : neighbours) edges.emplace_back(node(who), node(neighbour));
    }
  } else if (config.contains("edges")) {
    for (const Json& edge : config["edges"]) edges.emplace_back(node(edge.at(0)), node(edge.at(1)));
  } else {
    const std::string topology = config.value("topology", std::string("complete"));
    if (topology.starts_with("complete")) return nullptr;
    edges = named_edges(topology, members.size());
  }
  return std::make_shared<const Graph>(members, edges);
}

// How many values each process knows, and after which round it knew them all.
class Knowledge : public trace::Observer {
 public:
  explicit Knowledge(std::uint32_t everybody) : everybody_(everybody) {}
  void see(const trace::Step& step) override {
    if (!step.node || step.changed.empty()) return;
    const Json changed = Json::parse(step.changed);
    if (!changed.contains("box")) return;
    const std::size_t count = changed["box"]["known"].size();
    known[key(*step.node)] = count;
    const bool arrived = step.kind == trace::Kind::deliver;  // in a round, and not before the first
    if (count == everybody_ && !complete_after.contains(key(*step.node)))
      complete_after[key(*step.node)] = arrived ? step.at.count / sim::round_length + 1 : 0;
  }
  bool wants_contents() const override { return true; }
  bool wants_vectors() const override { return false; }

  Json known = Json::object();
  Json complete_after = Json::object();

 private:
  std::uint32_t everybody_;
};

struct Case {
  const catalogue::Entry* entry = nullptr;
  sim::Options options = {};
  catalogue::Setting setting = {};
  NodeSet traitors = {};
};

void add_crashes(const Vector& vector, Case& run) {
  if (!vector.inputs.contains("crash")) return;
  for (const Json& crash : vector.inputs["crash"]) {
    const auto round = std::max<std::uint64_t>(1, crash.value("round", std::uint64_t{1}));
    sim::Action action = {.what = sim::Action::What::crash,
                          .at = {(round - 1) * sim::round_length},
                          .node = node(crash.contains("p") ? crash["p"] : crash.at("process")),
                          .forever = true,
                          .dying = true};
    if (!run.setting.members.contains(action.node)) throw CannotPlay("a process crashes that is not there");
    for (const Json& receiver : crash.value("reaches", Json::array())) action.group.insert(node(receiver));
    run.options.script->push_back(action);
  }
}

// Which algorithm: a number of rounds, or of crashes to survive, makes it the one that counts rounds.
void choose_algorithm(const Vector& vector, Case& run) {
  const Json& config = vector.config;
  const bool waits = config.contains("stop_rule") || vector.variant == "wait-for-all";
  const bool counts = config.contains("rounds") || config.contains("f");
  auto& parameters = run.setting.parameters;
  parameters["default"] = std::to_string(config.value("default", std::int64_t{0}));
  const std::int64_t f = config.value("f", std::int64_t{0});
  run.setting.variant = vector.variant;
  if (!waits && (counts || vector.variant == "too-few-rounds")) {
    run.entry = catalogue::find("sync-crash-tolerant");
    parameters["f"] = std::to_string(f);
    // The number of rounds says it all, whatever the variant is called.
    if (counts && !run.entry->variant(vector.variant)) run.setting.variant = "canonical";
    if (config.contains("rounds"))
      parameters["rounds"] = std::to_string(config["rounds"].get<std::int64_t>());
  } else {
    run.entry = catalogue::find("sync-flooding");
    parameters["graph"] = "complete";  // unless there is one in the setting
    if (waits) run.setting.variant = "canonical";
    if (config.value("relay", false) && run.setting.variant == "canonical")
      run.setting.variant = "always-relay";
    if (!config.value("relay", true) && run.setting.graph) run.setting.variant = "no-relay";
  }
  if (!run.entry->variant(run.setting.variant))
    throw CannotPlay(fmt::format("no variant '{}' of {}", vector.variant, run.entry->name));
  run.setting.protocol = run.entry->name;
}

Case case_of(const Vector& vector) {
  Case run;
  if (!vector.inputs.contains("values")) throw CannotPlay("\"values\" is missing");
  run.setting.values = values_of(vector.inputs["values"]);
  const auto n = vector.config.value("n", static_cast<std::uint32_t>(run.setting.values.size()));
  if (n < 1 || n > most_processes) throw CannotPlay(fmt::format("n = {} is out of range", n));
  if (run.setting.values.size() != n) throw CannotPlay(fmt::format("{} processes need as many values", n));
  run.setting.members = NodeSet::range({0}, n);
  run.setting.graph = graph_of(vector.config, run.setting.members);
  choose_algorithm(vector, run);
  run.options = {.nodes = n, .members = run.setting.members};
  run.options.script.emplace();
  for (NodeId member : run.setting.members)
    run.options.script->push_back({.what = sim::Action::What::wish, .node = member});
  add_crashes(vector, run);
  // What is decided in a round shows when the next begins.
  run.options.round_limit = 1 + vector.config.value("max_rounds", 2 * n + 100);
  if (vector.inputs.contains("correct")) {
    run.traitors = run.setting.members;
    for (const Json& correct : vector.inputs["correct"]) run.traitors.erase(node(correct));
  }
  return run;
}

Json decision_of(const trace::ConsensusMonitor& monitor, const Json& expected) {
  Json by_node = Json::object();
  std::optional<std::int64_t> common;
  bool unanimous = true;
  for (const auto& [who, decision] : monitor.summary().decisions) {
    by_node[key(who)] = decision.value;
    if (!monitor.correct(who)) continue;
    if (common && *common != decision.value) unanimous = false;
    common = decision.value;
  }
  const bool by_node_wanted = expected.contains("decision") && expected["decision"].is_object();
  if (by_node_wanted || !unanimous) return by_node;
  return common ? Json(*common) : Json();
}

Json run_rounds(const Vector& vector) {
  const Case run = case_of(vector);
  const std::uint32_t n = run.setting.members.size();
  trace::ConsensusMonitor monitor(run.traitors);
  Knowledge knowledge(n);
  trace::Tee both({&monitor, &knowledge});
  const sim::Report report = run.entry->simulate(run.options, run.setting, &both);
  if (!report.broken.empty()) throw CannotPlay("the protocol broke its own rule: " + report.broken);
  const auto& summary = monitor.summary();
  Json got = {{"decision", decision_of(monitor, vector.expected)},
              {"rounds", summary.rounds},
              {"messages", report.messages},
              {"bound_N_minus_1", n - 1},
              {"known_values", knowledge.known},
              {"all_values_known_after", knowledge.complete_after},
              {"rounds_per_node", Json::object()},
              {"undecided", Json::array()}};
  for (const auto& [who, decision] : summary.decisions) got["rounds_per_node"][key(who)] = decision.round;
  for (NodeId who : summary.undecided) got["undecided"].push_back(who.value);
  for (const trace::Verdict& verdict : monitor.verdicts()) got[verdict.property] = verdict.holds;
  return got;
}

}  // namespace

std::optional<Result> run_consensus(const Vector& vector) {
  if (vector.algorithm != "sync_consensus") return std::nullopt;
  return answered(vector, [&]() -> Json {
    if (vector.kind != "rounds") throw CannotPlay(fmt::format("no kind '{}' for consensus", vector.kind));
    return run_rounds(vector);
  });
}

}  // namespace conclave::accept
