#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "accept/families.hpp"
#include "catalogue/limits/rows.hpp"
#include "protocols/limits/two_generals.hpp"
#include "protocols/membership/registry.hpp"
#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::accept {
namespace {

NodeId node(const Json& value) {
  if (!value.is_number_unsigned()) throw CannotPlay(fmt::format("{} is no process number", value.dump()));
  return {value.get<std::uint32_t>()};
}

NodeId node(const std::string& key) { return {static_cast<std::uint32_t>(std::stoul(key))}; }

void add_verdicts(Json& got, const trace::ConsensusMonitor& monitor) {
  for (const trace::Verdict& verdict : monitor.verdicts()) got[verdict.property] = verdict.holds;
}

// Asynchronous consensus.

// "decide after N values", "decide most-voted of the first N-1 values including own, tie -> 0".
std::map<std::string, std::string> rule_of(const Json& config, std::uint32_t n) {
  const std::string rule = need(config, "rule").get<std::string>();
  unsigned long votes = 0;
  auto default_value = config.value("default", std::int64_t{0});
  std::smatch found;
  if (std::regex_search(rule, found, std::regex(R"(\b[nN]\s*(?:-|−)\s*(\d+))"))) {
    const auto fewer = std::stoul(found[1]);
    if (fewer >= n) throw CannotPlay("the rule waits for nobody");
    votes = n - fewer;
  } else if (std::regex_search(rule, std::regex(R"(\b[nN]\b)")) || rule.find("all") != std::string::npos) {
    votes = n;
  } else if (std::regex_search(rule, found, std::regex(R"((\d+) (?:values|votes))"))) {
    votes = std::stoul(found[1]);
  } else {
    throw CannotPlay(fmt::format("the rule '{}' does not say how many values to wait for", rule));
  }
  const std::regex without_own(R"((excluding|without|besides|not counting) (its |the )?own)");
  if (std::regex_search(rule, without_own)) ++votes;
  if (std::regex_search(rule, found, std::regex(R"(tie[^0-9-]*(?:->)?[^0-9-]*(-?\d+))")))
    default_value = std::stoll(found[1]);
  return {{"votes", std::to_string(votes)}, {"default", std::to_string(default_value)}};
}

std::vector<NodeId> process_numbers(const Json& config, std::uint32_t n) {
  std::vector<NodeId> numbers;
  if (config.contains("process_numbers")) {
    for (const Json& number : config["process_numbers"]) numbers.push_back(node(number));
    if (numbers.size() != n) throw CannotPlay(fmt::format("{} processes need as many numbers", n));
  } else {
    for (std::uint32_t i = 0; i < n; ++i) numbers.push_back({i});
  }
  return numbers;
}

Json list_of(const Json& one_or_many) {
  return one_or_many.is_array() ? one_or_many : Json::array({one_or_many});
}

Json run_async(const Vector& vector) {
  const Json& values = need(vector.inputs, "values");
  const auto n = vector.config.value("n", static_cast<std::uint32_t>(values.size()));
  if (n < 1 || values.size() != n) throw CannotPlay(fmt::format("{} processes need as many values", n));
  catalogue::Setting setting = {.protocol = "wait-for", .parameters = rule_of(vector.config, n)};
  NodeSet& members = setting.members;
  std::size_t place = 0;
  for (NodeId number : process_numbers(vector.config, n)) {
    members.insert(number);
    const Json& value =
        values.is_object() ? need(values, std::to_string(number.value).c_str()) : values[place];
    setting.values[number] = value.get<std::int64_t>();
    ++place;
  }
  trace::ConsensusMonitor monitor;
  const auto stage = catalogue::find_limit(setting.protocol)->stage(setting, &monitor);
  NodeSet down;
  for (const Json& crash : vector.inputs.value("crash", Json::array())) {
    down.insert(node(crash.is_object() ? need(crash, "p") : crash));
    if (!members.contains(down.max())) throw CannotPlay("a process crashes that is not there");
  }
  for (NodeId crashed : down) stage->crash(crashed);
  for (NodeId member : members) {
    if (!down.contains(member)) stage->command(member, "Propose");
  }
  const Json firsts = vector.inputs.value("first_received", Json::object());
  for (const auto& [receiver, senders] : firsts.items()) {
    for (const Json& sender : list_of(senders)) {
      const std::string problem = stage->deliver(node(sender), node(receiver), "Vote", true);
      if (!problem.empty()) throw CannotPlay(fmt::format("{} from {}: {}", receiver, sender.dump(), problem));
    }
  }
  while (stage->deliver_oldest()) {
  }
  stage->end();
  Json got = {
      {"decision", Json::object()}, {"undecided", Json::array()}, {"messages", monitor.summary().messages}};
  for (const auto& [who, decision] : monitor.summary().decisions)
    got["decision"][std::to_string(who.value)] = decision.value;
  for (NodeId who : monitor.summary().undecided) got["undecided"].push_back(who.value);
  add_verdicts(got, monitor);
  return got;
}

// Two generals: A is process 1, B is process 2.

trace::ConsensusMonitor handshake(std::uint32_t messages, std::optional<std::uint32_t> lost) {
  trace::ConsensusMonitor monitor;
  sim::Options options = {.nodes = 2};
  options.script = sim::Script{{.what = sim::Action::What::wish, .node = {1}}};
  if (lost) {
    const NodeId sender = {*lost % 2 == 1 ? 1u : 2u};
    options.script->push_back({.what = sim::Action::What::lose, .node = sender, .nth = (*lost + 1) / 2});
  }
  catalogue::find_limit("two-generals")
      ->simulate(options,
                 {.protocol = "two-generals",
                  .members = NodeSet::range({1}, 2),
                  .parameters = {{"messages", std::to_string(messages)}}},
                 &monitor);
  return monitor;
}

bool attacks(const trace::ConsensusMonitor& monitor, std::uint32_t general) {
  return monitor.summary().decisions.at({general}).value == limits::attack;
}

std::string who_attacks(const trace::ConsensusMonitor& monitor) {
  const bool a = attacks(monitor, 1);
  const bool b = attacks(monitor, 2);
  if (a && b) return "both attack";
  if (!a && !b) return "neither attacks";
  return a ? "A attacks" : "B attacks";
}

Json run_generals(const Vector& vector) {
  constexpr std::uint32_t longest = 1000;
  Json lengths = Json::array();
  if (vector.inputs.contains("k")) {
    lengths = list_of(vector.inputs["k"]);
  } else {
    for (const Json& row : need(vector.expected, "table")) lengths.push_back(need(row, "messages"));
  }
  Json table = Json::array();
  bool possible = false;
  for (const Json& length : lengths) {
    const auto k = length.get<std::uint32_t>();
    if (k < 1 || k > longest) throw CannotPlay(fmt::format("a handshake of {} messages", k));
    const auto lost_last = handshake(k, k);
    Json outcome = who_attacks(lost_last);
    if (attacks(lost_last, 1) != attacks(lost_last, 2)) {
      const bool a = attacks(lost_last, 1);
      outcome = {{"attacks", a ? "A" : "B"}, {"does_not", a ? "B" : "A"}};
    }
    table.push_back({{"messages", k}, {"no_loss", who_attacks(handshake(k, {}))}, {"lost_last", outcome}});
    bool survives = true;
    for (std::uint32_t lost = 1; lost <= k; ++lost) {
      const auto monitor = handshake(k, lost);
      survives &= attacks(monitor, 1) == attacks(monitor, 2);
    }
    possible |= survives;
  }
  return {{"table", table}, {"agreement_possible", possible}};
}

// Discovery.

std::uint32_t address(const std::string& text) {
  std::smatch parts;
  if (!std::regex_match(text, parts, std::regex(R"((\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}))")))
    throw CannotPlay(fmt::format("'{}' is no address", text));
  std::uint32_t number = 0;
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto part = static_cast<std::uint32_t>(std::stoul(parts[i]));
    if (part > 255) throw CannotPlay(fmt::format("'{}' is no address", text));
    number = number << 8 | part;
  }
  return number;
}

Json to_json(const membership::Identity& identity) {
  return {identity.pid, fmt::format("{}.{}.{}.{}", identity.ip >> 24, identity.ip >> 16 & 255,
                                    identity.ip >> 8 & 255, identity.ip & 255)};
}

Json run_registry(const Vector& vector) {
  const Json& processes = need(vector.inputs, "processes");
  const auto n = static_cast<std::uint32_t>(processes.size());
  membership::Registry::Setup setup = {.expected = vector.config.value("expected_members", n)};
  sim::Options options = {.nodes = n, .step_limit = 100'000};
  options.script.emplace();
  for (std::uint32_t i = 1; i <= n; ++i) {
    const Json& process = processes[i - 1];
    setup.identities[{i}] = {need(process, "pid").get<std::uint32_t>(),
                             address(need(process, "ip").get<std::string>())};
    options.script->push_back({.what = sim::Action::What::wish, .node = {i}});
  }
  sim::World<membership::Registry> world(options, setup, nullptr);
  world.run();
  Json got = {{"identity", "(pid, ip) compared lexicographically, ip as number"},
              {"order", Json::array()},
              {"coordinator", Json()},
              {"members_known_by_each", 0}};
  std::size_t least = SIZE_MAX;
  std::optional<membership::Member> coordinator;
  for (std::uint32_t i = 1; i <= n; ++i) {
    const auto& instance = world.cluster().node(i);
    least = std::min(least, instance.members.size());
    const auto theirs = world.cluster().client(i).coordinator;
    if (i > 1 && theirs != coordinator) throw CannotPlay("the instances take different ones for coordinator");
    coordinator = theirs;
    if (i == 1) {
      for (const auto& member : instance.members) got["order"].push_back(to_json(member.identity));
    }
  }
  got["members_known_by_each"] = least;
  if (!coordinator) return got;
  got["coordinator"] = to_json(coordinator->identity);
  // And once more, with the coordinator killed long after everybody knows it.
  options.script->push_back(
      {.what = sim::Action::What::crash, .at = {10'000}, .node = coordinator->node, .forever = true});
  sim::World<membership::Registry> bereaved(options, setup, nullptr);
  bereaved.run();
  for (std::uint32_t i = 1; i <= n; ++i) {
    const auto next = bereaved.cluster().client(i).coordinator;
    if (coordinator->node.value == i || !next) continue;
    for (const char* name : {"next_coordinator", "coordinator_after_kill", "coordinator_after_crash"})
      got[name] = to_json(next->identity);
  }
  return got;
}

}  // namespace

std::optional<Result> run_limits(const Vector& vector) {
  Json (*run)(const Vector&) = nullptr;
  if (vector.algorithm == "async_consensus") run = run_async;
  if (vector.algorithm == "two_generals") run = run_generals;
  if (vector.algorithm == "registry_discovery") run = run_registry;
  if (!run) return std::nullopt;
  return answered(vector, [&] { return run(vector); });
}

}  // namespace conclave::accept
