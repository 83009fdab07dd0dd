// Vectors of kind `explore`: every interleaving of every configuration that the vector names.
#include <fmt/format.h>

#include <algorithm>

#include "accept/families.hpp"
#include "catalogue/explore.hpp"

namespace conclave::accept {
namespace {

struct Named {
  std::string_view algorithm;
  std::string_view variant;  // empty: any, and the entry's own of that name
  std::string_view entry;
};

constexpr Named names[] = {
    {"ricart_agrawala", "kept-permission", "ricart-agrawala-just-released"},
    {"dijkstra", "", "dijkstra"},
    {"bakery", "", "bakery"},
    {"all_to_all_election", "", "all-to-all"},
    {"chang_roberts", "", "chang-roberts"},
    {"ring_list", "", "ring-list"},
    {"bully", "delayed-start", "bully-delayed"},
    {"bully", "polite", "bully-polite"},
    {"bully", "send-to-all", "bully-send-to-all"},
    {"bully", "", "bully"},
    {"invitation", "", "invitation"},
    {"paxos", "", "paxos"},
    {"multi_paxos", "", "multi-paxos"},
    {"raft", "", "raft"},
    {"global_snapshot", "", "global-snapshot"},
};

// A list, whether it is written as one or as a single value.
std::vector<Json> several(const Json& config, const char* key) {
  if (!config.contains(key)) return {};
  const Json& value = config[key];
  if (value.is_array()) return {value.begin(), value.end()};
  return {value};
}

std::uint32_t small(const Json& value, const char* what) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 12)
    throw CannotPlay(fmt::format("{}: {} is no number up to 12", what, value.dump()));
  return value.get<std::uint32_t>();
}

NodeId node(const Json& value) {
  if (!value.is_number_unsigned()) throw CannotPlay(fmt::format("{} is no process number", value.dump()));
  return {value.get<std::uint32_t>()};
}

NodeId node_of_key(const std::string& key) {
  if (key.empty() || key.find_first_not_of("0123456789") != std::string::npos || key.size() > 6)
    throw CannotPlay(fmt::format("\"{}\" is no process number", key));
  return {static_cast<std::uint32_t>(std::stoul(key))};
}

// A number for all, or one for each number of processes.
std::optional<std::uint32_t> per_process(const Json& config, const char* key, std::uint32_t n) {
  if (!config.contains(key)) return std::nullopt;
  const Json& value = config[key];
  if (!value.is_object()) return small(value, key);
  return small(need(value, std::to_string(n).c_str()), key);
}

// One configuration of a vector, and what came of it.
struct Case {
  std::uint32_t n = 0;
  catalogue::CheckPlan plan = {};
  check::Report report = {};
};

class Exploration {
 public:
  Exploration(const catalogue::Entry& entry, const Vector& vector, std::string variant)
      : entry_(entry), vector_(vector), config_(vector.config), variant_(std::move(variant)) {}

  Json answer() {
    for (Case& each : cases()) {
      prepare(each);
      each.report = catalogue::explore(entry_, each.plan);
      if (!each.report.complete && each.report.findings.empty())
        throw CannotPlay("not every state was seen: " + each.report.stopped_by);
      cases_.push_back(std::move(each));
    }
    Json got = Json::object();
    for (const auto& [key, value] : vector_.expected.items()) {
      if (auto found = look_up(key, value)) got[key] = std::move(*found);
    }
    return got;
  }

 private:
  // Every combination of what the vector lists.
  std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Json& ring : several_rings()) {
      Case one = {.n = static_cast<std::uint32_t>(ring.size()), .plan = catalogue::usual_check(entry_)};
      for (const Json& member : ring) one.plan.setting.ring.push_back(node(member));
      one.plan.setting.members = {};
      for (NodeId member : one.plan.setting.ring) one.plan.setting.members.insert(member);
      all.push_back(std::move(one));
    }
    for (const char* key : {"n", "servers", "nodes"}) {
      for (const Json& value : several(config_, key)) {
        const std::uint32_t n = small(value, key);
        if (n < std::max(1u, entry_.least_nodes)) throw CannotPlay(fmt::format("{} = {} is too few", key, n));
        Case one = {.n = n, .plan = catalogue::usual_check(entry_, n)};
        all.push_back(std::move(one));
      }
    }
    if (all.empty()) throw CannotPlay("the configuration names neither n nor rings");
    for (Case& one : all) one.plan.options.nodes = one.n;
    multiply(all, "channel", [](Case& one, const Json& value) {
      if (value != "fifo" && value != "unordered")
        throw CannotPlay(fmt::format("channel {}: fifo or unordered", value.dump()));
      one.plan.options.fifo = value == "fifo";
    });
    if (entry_.name == "dijkstra") multiply_dijkstra(all);
    if (entry_.name == "raft") multiply_raft(all);
    multiply(all, "registers", [](Case& one, const Json& value) {
      if (value != "atomic" && value != "safe")
        throw CannotPlay(fmt::format("registers {}: atomic or safe", value.dump()));
      if (value == "safe") one.plan.setting.variant = "safe";
    });
    return all;
  }

  std::vector<Json> several_rings() const {
    if (config_.contains("rings")) return several(config_, "rings");
    if (config_.contains("ring")) return {config_["ring"]};
    return {};
  }

  template <class Apply>
  void multiply(std::vector<Case>& all, const char* key, Apply&& apply) const {
    const std::vector<Json> values = several(config_, key);
    if (values.empty()) return;
    std::vector<Case> product;
    for (const Case& one : all) {
      for (const Json& value : values) {
        product.push_back(one);
        apply(product.back(), value);
      }
    }
    all = std::move(product);
  }

  // The sentinel at every process, both orders of leaving, and the read of L3 in one step and in two.
  void multiply_dijkstra(std::vector<Case>& all) const {
    std::vector<Case> product;
    for (const Case& one : all) {
      const std::uint32_t sentinels = one.n == 2 ? one.n : 1;
      for (std::uint32_t k = 1; k <= sentinels; ++k) {
        product.push_back(one);
        product.back().plan.setting.parameters["k"] = std::to_string(k);
      }
    }
    all = std::move(product);
    multiply(all, "exit_order", [](Case& one, const Json& value) {
      if (value == "b-then-c") one.plan.setting.variant = "b-then-c";
    });
    multiply(all, "b_of_k_read_atomic", [](Case& one, const Json& value) {
      if (value == false) one.plan.setting.parameters["split"] = "1";
    });
  }

  // Terms are bounded by time-outs, the log by what is proposed. All faults at once do not fit, so they take
  // turns. A message that is never delivered is as good as lost.
  void multiply_raft(std::vector<Case>& all) const {
    const auto terms =
        static_cast<std::uint8_t>(config_.contains("max_term") ? small(config_["max_term"], "max_term") : 2);
    std::vector<Case> product;
    for (const Case& one : all) {
      Case elections = one;  // as many terms as asked for
      elections.plan.options.entries_of = nobody(one);
      elections.plan.options.fifo = true;
      elections.plan.options.budget = {.timeouts = terms};
      product.push_back(std::move(elections));
      Case failures = one;  // a server crashes and comes back, messages overtake each other
      failures.plan.options.entries_of = nobody(one);
      failures.plan.options.fifo = false;
      failures.plan.options.budget = {.crashes = 1, .recoveries = 1, .timeouts = 2};
      product.push_back(std::move(failures));
      Case repeated = one;  // a message arrives twice
      repeated.plan.options.entries_of = nobody(one);
      repeated.plan.options.fifo = false;
      repeated.plan.options.budget = {.duplications = 1, .timeouts = 2};
      product.push_back(std::move(repeated));
      Case proposal = one;  // something is proposed
      proposal.plan.options.entries_of = nobody(one);
      proposal.plan.options.entries_of[one.plan.setting.members.min()] = 1;
      proposal.plan.options.fifo = true;
      proposal.plan.options.budget = {.timeouts = 2};
      product.push_back(std::move(proposal));
    }
    all = std::move(product);
  }
  static std::map<NodeId, std::uint32_t> nobody(const Case& one) {
    std::map<NodeId, std::uint32_t> entries;
    for (NodeId member : one.plan.setting.members) entries[member] = 0;
    return entries;
  }

  void prepare(Case& one) const {
    catalogue::Setting& setting = one.plan.setting;
    check::Options& options = one.plan.options;
    if (variant_ != "canonical") setting.variant = variant_;
    for (const char* key : {"entries_per_process", "initiations_per_process"}) {
      if (const auto entries = per_process(config_, key, one.n)) options.entries = *entries;
    }
    if (config_.contains("sets")) {
      for (const auto& [member, voters] : config_["sets"].items()) {
        for (const Json& voter : voters) setting.voting_sets[node_of_key(member)].insert(node(voter));
      }
    }
    if (config_.contains("clock_before_request")) {
      for (const auto& [member, clock] : config_["clock_before_request"].items())
        setting.clocks[node_of_key(member)] = clock.get<std::uint64_t>();
    }
    if (config_.contains("wanting")) {
      for (NodeId member : setting.members) options.entries_of[member] = 0;
      for (const Json& who : config_["wanting"]) {
        if (!setting.members.contains(node(who)))
          throw CannotPlay(fmt::format("there is no process {}", who.dump()));
        options.entries_of[node(who)] = options.entries;
        if (vector_.inputs.value("both_requests_sent_before_any_delivery", false))
          options.opening.push_back(node(who));
      }
    }
    options.budget.tells = 0;
    options.stop_at_violation = false;
    options.symmetry = false;
    options.starvation = entry_.family == "registers";
    options.workers = 2;
    options.count_messages = vector_.expected.contains("total");
    options.properties = properties();
  }

  // Only what the vector asks about: what a judge remembers multiplies the states.
  std::vector<std::string> properties() const {
    std::vector<std::string> asked;
    const auto ask = [&](const char* property) {
      const std::string name = property;
      if (std::ranges::find(entry_.checkable, name) != entry_.checkable.end() &&
          std::ranges::find(asked, name) == asked.end())
        asked.push_back(name);
    };
    for (const auto& [key, value] : vector_.expected.items()) {
      if (key == "possible_entry_orders") asked.emplace_back("order");
      ask(property_of(key).c_str());
    }
    if (asked.empty() || entry_.family != "mutex") {
      for (const std::string_view property : entry_.properties) ask(std::string(property).c_str());
    }
    return asked;
  }

  static std::string property_of(const std::string& key) {
    if (key == "ME" || key == "mutual_exclusion" || key == "shortest_violation_steps") return "EM1";
    if (key == "deadlock" || key == "shortest_deadlock_steps") return "ND";
    if (key == "NS") return "starvation";
    if (key == "election_safety") return "election safety";
    if (key == "state_machine_safety") return "agreement";
    if (key == "log_matching") return "log matching";
    if (key == "leader_completeness") return "leader completeness";
    return key;
  }

  bool violated(const std::string& property) const {
    return std::ranges::any_of(cases_,
                               [&](const Case& one) { return one.report.violation(property) != nullptr; });
  }

  std::optional<Json> shortest(const std::string& property) const {
    std::optional<std::uint32_t> steps;
    for (const Case& one : cases_) {
      if (const auto* finding = one.report.violation(property))
        steps = std::min(steps.value_or(finding->steps), finding->steps);
    }
    if (!steps) return Json("none");
    return Json(*steps);
  }

  std::optional<Json> look_up(const std::string& key, const Json& expected) {
    if (key == "shortest_deadlock_steps" || key == "shortest_violation_steps")
      return shortest(property_of(key));
    if (key == "deadlock") return violated("ND") ? "reachable" : "none";
    if (key == "largest_ticket_seen") return tickets();
    if (key == "possible_entry_orders") return orders();
    if (key == "total") return total();
    if (key == "final_elected") return elected();
    if (key == "final_participants") return participants();
    if (key == "NS") return starves() ? "violated" : "holds";
    const std::string property = property_of(key);
    const auto& first = cases_.front().report.properties;
    const bool judged = std::ranges::find(first, property) != first.end();
    if (judged && expected.is_string()) return violated(property) ? "violated" : "holds";
    return std::nullopt;
  }

  // Clients that come again and again, without tokens, whose numbers would never repeat.
  bool starves() const {
    return std::ranges::any_of(cases_, [&](Case one) {
      one.plan.options.for_ever = true;
      one.plan.options.entries = 1;
      one.plan.options.starvation = true;
      one.plan.options.properties = {"EM1", "ND"};
      one.plan.setting.parameters["tokens"] = "0";
      return catalogue::explore(entry_, one.plan).violation("starvation") != nullptr;
    });
  }

  Json tickets() const {
    Json seen = Json::object();
    for (const Case& one : cases_) {
      const auto figure = one.report.figures.find("greatest value of a register");
      if (figure != one.report.figures.end()) seen[std::to_string(one.n)] = figure->second;
    }
    return seen;
  }

  Json orders() const {
    std::vector<std::vector<std::uint32_t>> all;
    for (const Case& one : cases_) {
      for (const auto& [outcome, count] : one.report.outcomes) {
        std::vector<std::uint32_t> order;
        for (std::size_t at = outcome.find('p'); at != std::string::npos; at = outcome.find('p', at + 1))
          order.push_back(static_cast<std::uint32_t>(std::stoul(outcome.substr(at + 1))));
        if (std::ranges::find(all, order) == all.end()) all.push_back(std::move(order));
      }
    }
    std::ranges::sort(all);
    return all;
  }

  std::optional<Json> total() const {
    std::optional<std::uint64_t> one_number;
    for (const Case& one : cases_) {
      for (const char* figure : {"messages at least", "messages at most"}) {
        const auto found = one.report.figures.find(figure);
        if (found == one.report.figures.end()) return std::nullopt;
        if (one_number.value_or(found->second) != found->second) return Json("not the same in every run");
        one_number = found->second;
      }
    }
    return Json(*one_number);
  }

  // Whom every run of every configuration ends with.
  Json elected() const {
    for (const Case& one : cases_) {
      const std::string greatest = "p" + std::to_string(one.plan.setting.members.max().value);
      for (const auto& [outcome, count] : one.report.outcomes) {
        if (outcome != greatest) return outcome;
      }
      if (one.report.outcomes.empty()) return nullptr;
    }
    return "max id";
  }

  Json participants() const {
    for (const Case& one : cases_) {
      if (const auto found = one.report.figures.find("final states with somebody discontent");
          found == one.report.figures.end() || found->second > 0)
        return "somebody still takes part in the end";
    }
    return Json::array();
  }

  const catalogue::Entry& entry_;
  const Vector& vector_;
  const Json& config_;
  std::string variant_;
  std::vector<Case> cases_;
};

}  // namespace

std::optional<Result> run_explore(const Vector& vector) {
  if (vector.kind != "explore") return std::nullopt;
  const catalogue::Entry* entry = nullptr;
  bool by_variant = false;  // its name has chosen the row, and means nothing more there
  for (const Named& named : names) {
    if (entry || named.algorithm != vector.algorithm) continue;
    if (!named.variant.empty() && named.variant != vector.variant) continue;
    entry = catalogue::find(named.entry);
    by_variant = !named.variant.empty();
  }
  if (!entry) {
    entry = mutex_entry(vector);
    by_variant = entry && entry->name.ends_with(vector.variant);
  }
  if (!entry || !entry->check)
    return Result{
        Result::Outcome::skipped,
        fmt::format("no algorithm '{}' that can be explored in the catalogue yet", vector.algorithm)};
  const std::string variant = by_variant ? "canonical" : vector.variant;
  if (!entry->variant(variant))
    return Result{Result::Outcome::failed, fmt::format("{} has no variant '{}'", entry->name, variant)};
  return answered(vector, [&] { return Exploration(*entry, vector, variant).answer(); });
}

}  // namespace conclave::accept
