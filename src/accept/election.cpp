#include <fmt/format.h>

#include <algorithm>

#include "accept/arithmetic.hpp"
#include "accept/election_run.hpp"
#include "accept/families.hpp"

namespace conclave::accept {
namespace {

using namespace election;

// Variants that are entries of their own, or go by another name here.
struct Named {
  std::string_view algorithm;
  std::string_view variant;
  std::string_view entry;
  std::string_view variant_here;
};

constexpr Named names[] = {
    {"all_to_all_election", "canonical", "all-to-all", "canonical"},
    {"chang_roberts", "canonical", "chang-roberts", "canonical"},
    {"ring_list", "canonical", "ring-list", "canonical"},
    {"ring_list", "direct", "ring-list", "direct-announcement"},
    {"ring_list", "only-initiator-closes", "ring-list", "starter-closes"},
    {"ring_list", "only-starter-stops", "ring-list", "starter-closes"},
    {"ring_list", "initiator-closes", "ring-list", "starter-closes"},
    {"ring_list", "no-hardening", "ring-list", "starter-closes"},
    {"bully", "canonical", "bully", "canonical"},
    {"bully", "send-to-all", "bully-send-to-all", "canonical"},
    {"bully", "delayed-start", "bully-delayed", "canonical"},
    {"bully", "delayed", "bully-delayed", "canonical"},
    {"bully", "polite", "bully-polite", "canonical"},
    {"bully", "polite-recovery", "bully-polite", "canonical"},
    {"bully", "no-T-prime", "bully", "no-second-wait"},
    {"bully", "no-T'", "bully", "no-second-wait"},
    {"bully", "no-t-prime", "bully", "no-second-wait"},
    {"bully", "no-T_prime", "bully", "no-second-wait"},
    {"bully", "without-T-prime", "bully", "no-second-wait"},
    {"bully", "without-t-prime", "bully", "no-second-wait"},
    {"bully", "without-second-wait", "bully", "no-second-wait"},
};

struct Cast {
  const catalogue::Entry* entry = nullptr;
  std::string variant = {};
};

Cast cast_of(const Vector& vector) {
  for (const Named& named : names) {
    if (named.algorithm == vector.algorithm && named.variant == vector.variant)
      return {catalogue::find(named.entry), std::string(named.variant_here)};
  }
  // Else a variant of the canonical entry.
  for (const Named& named : names) {
    if (named.algorithm != vector.algorithm) continue;
    const catalogue::Entry* entry = catalogue::find(named.entry);
    if (entry && entry->variant(vector.variant)) return {entry, vector.variant};
  }
  throw CannotPlay(fmt::format("no variant '{}' of {}", vector.variant, vector.algorithm));
}

Json run_script(const Cast& cast, const Vector& vector) {
  const Company company = company_of(*cast.entry, cast.variant, vector.config);
  if (vector.inputs.contains("script")) return play_script(vector, company, vector.inputs["script"]);
  return play_starters(vector, company, processes(need(vector.inputs, "initiators")));
}

// Ring elections: who starts, from the row or from the words of the configuration.
std::vector<NodeId> starters_of(const Company& company, const Json& row, const Json& config) {
  for (const Json* place : {&row, &config}) {
    if (place->contains("initiator") && (*place)["initiator"].is_number())
      return {process((*place)["initiator"])};
    if (place->contains("initiators") && (*place)["initiators"].is_array())
      return processes((*place)["initiators"]);
  }
  const std::vector<NodeId>& ring = company.setting.ring;
  const auto greatest = static_cast<std::size_t>(std::ranges::max_element(ring) - ring.begin());
  // So many places before the greatest.
  for (const char* key : {"d", "distance"}) {
    if (row.contains(key))
      return {ring[(greatest + ring.size() - row[key].get<std::size_t>() % ring.size()) % ring.size()]};
  }
  const std::string words = config.contains("initiators") && config["initiators"].is_string()
                                ? config["initiators"].get<std::string>()
                                : std::string();
  const auto says = [&](const char* word) { return words.find(word) != std::string::npos; };
  if (says("anticlockwise")) return {ring[(greatest + 1) % ring.size()]};
  if (says("largest")) return {ring[greatest]};
  if (words.empty() || says("all")) return ring;
  throw CannotPlay(fmt::format("who starts? '{}'", words));
}

Json ring_of(std::uint32_t n, bool rising) {
  Json ring = Json::array();
  for (std::uint32_t i = 1; i <= n; ++i) ring.push_back(rising ? i : n + 1 - i);
  return ring;
}

// What a row of a table may ask about one run.
Json counts_of(const Json& outcome, const Company& company, const std::vector<NodeId>& starters) {
  Json got = outcome["sent"];
  for (const char* key : {"total", "elected", "coordinator", "announcements", "attempts_to_dead", "E1", "E2",
                          "delivered", "lost_to_dead"}) {
    if (outcome.contains(key)) got[key] = outcome[key];
  }
  got["n"] = company.setting.members.size();
  got["ring"] = to_json(company.setting.ring);
  got["initiators"] = to_json(starters);
  if (starters.size() == 1) got["initiator"] = starters.front().value;
  return got;
}

// A run whose outcome is compared with a row and not with the whole vector.
Vector for_row(const Vector& vector, const Json& row) {
  Vector asked = vector;
  asked.expected = Json::object();
  if (row.contains("elected")) asked.expected["elected"] = row["elected"];
  return asked;
}

Json ring_row(const Cast& cast, const Vector& vector, const Json& row) {
  Json config = vector.config;
  for (const char* key : {"n", "ring", "ids", "dead"}) {
    if (row.contains(key)) config[key] = row[key];
  }
  if (row.contains("live") && !row.contains("n")) config["n"] = row["live"];
  const auto run = [&](const std::string& variant, const Json& with, std::optional<std::size_t> count) {
    const Company company = company_of(*cast.entry, variant, with);
    auto starters = starters_of(company, row, with);
    // Ring lists start at one place, or at opposite ones.
    if (count) {
      const std::vector<NodeId>& ring = company.setting.ring;
      starters.clear();
      for (std::size_t i = 0; i < *count; ++i) starters.push_back(ring[i * ring.size() / *count]);
    }
    const Json outcome = play_starters(for_row(vector, row), company, starters);
    Json got = counts_of(outcome, company, starters);
    got["lists"] = outcome["election_lists"];
    for (const char* key : {"d", "distance"}) {
      if (row.contains(key)) got[key] = row[key];
    }
    return got;
  };
  Json got;
  if (vector.algorithm == "ring_list") {
    got = run(cast.variant, config, 1);
    got["live"] = row.value("live", got["n"]);
    got["one_initiator"] = got["total"];
    got["ids_in_last_election_message"] = got["lists"].empty() ? 0 : got["lists"].back().size();
    std::size_t carried = 0;
    for (const Json& list : got["lists"]) carried += list.size();
    got["ids_carried_by_all_election_messages"] = carried;
    if (row.contains("two_initiators")) got["two_initiators"] = run(cast.variant, config, 2)["total"];
    if (row.contains("direct_announcement_variant"))
      got["direct_announcement_variant"] = run("direct-announcement", config, 1)["total"];
    if (row.contains("k")) {  // so many starters
      got["total"] = run(cast.variant, config, row["k"].get<std::size_t>())["total"];
      got["k"] = row["k"];
    }
    return got;
  }
  const bool by_order = row.contains("ids_decreasing_clockwise") || row.contains("ids_increasing_clockwise");
  if (!by_order) return run(cast.variant, config, {});
  const auto n = need(config, "n").get<std::uint32_t>();
  got["n"] = n;
  for (const bool rising : {false, true}) {
    config["ring"] = ring_of(n, rising);
    got[rising ? "ids_increasing_clockwise" : "ids_decreasing_clockwise"] = run(cast.variant, config, {});
  }
  return got;
}

// Elections with time-outs: "0..n-1", "n-1" and "k" in the configuration are formulas over the row.
Numbers numbers_of(const Json& row) {
  Numbers numbers;
  for (const auto& [key, value] : row.items()) {
    if (key.size() == 1 && value.is_number_unsigned()) numbers[key] = value.get<std::int64_t>();
  }
  return numbers;
}

std::uint32_t id_from(const Json& value, const Numbers& numbers) {
  const std::int64_t id =
      value.is_string() ? evaluate(value.get<std::string>(), numbers) : value.get<std::int64_t>();
  if (id < 0 || id > 100'000) throw CannotPlay(fmt::format("{} is no process", id));
  return static_cast<std::uint32_t>(id);
}

Json ids_from(const Json& value, const Numbers& numbers) {
  if (value.is_array()) return value;
  const std::string range = value.is_string() ? value.get<std::string>() : "0..n-1";
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) throw CannotPlay(fmt::format("'{}' is no range of ids", range));
  Json ids = Json::array();
  const std::uint32_t last = id_from(range.substr(dots + 2), numbers);
  for (std::uint32_t id = id_from(range.substr(0, dots), numbers); id <= last; ++id) ids.push_back(id);
  return ids;
}

Json timed_counts(const Cast& cast, const Vector& vector, const Json& row, const Json& known_dead = {}) {
  Json config = vector.config;
  for (const char* key : {"ids", "dead", "initiator", "n"}) {
    if (row.contains(key)) config[key] = row[key];
  }
  const Numbers numbers = numbers_of(row);
  config["ids"] = ids_from(config.value("ids", Json()), numbers);
  Json dead = config.value("dead", Json("n-1"));
  if (!dead.is_array()) dead = Json::array({id_from(dead, numbers)});
  config["dead"] = dead;
  Company company = company_of(*cast.entry, cast.variant, config);
  if (!known_dead.is_null()) company.setting.parameters["known_dead"] = known_dead.dump();
  const Json who = config.value("initiator", Json(row.contains("k") ? "k" : "0"));
  std::vector<NodeId> starters;
  if (who == "all") {
    for (NodeId node : company.setting.members) {
      if (!company.dead.contains(node)) starters.push_back(node);
    }
  } else if (who.is_array()) {
    starters = processes(who);
  } else {
    starters = {{id_from(who, numbers)}};
  }
  Json inputs = Json::object();
  for (NodeId node : starters) inputs["detect"].push_back({0, node.value});
  const Json outcome = play_timed(for_row(vector, row), company, config, inputs);
  Json got = counts_of(outcome, company, starters);
  for (const char* key : {"k", "p"}) {
    if (row.contains(key)) got[key] = row[key];
  }
  got["dead"] = row.value("dead", dead);
  return got;
}

Json timed_row(const Cast& cast, const Vector& vector, const Json& row) {
  Json got = timed_counts(cast, vector, row);
  got["with_probe_of_dead"] = got["total"];
  if (row.contains("announcing_at_once"))
    got["announcing_at_once"] = timed_counts(cast, vector, row, got["dead"].size())["total"];
  for (const auto& [key, name] :
       {std::pair("send_to_all_variant", "bully-send-to-all"), std::pair("send_to_all", "bully-send-to-all"),
        std::pair("canonical", "bully"), std::pair("delayed_start_variant", "bully-delayed")}) {
    if (row.contains(key))
      got[key] = timed_counts({catalogue::find(name), "canonical"}, vector, row)["total"];
  }
  return got;
}

Json count_row(const Cast& cast, const Vector& vector, const Json& row) {
  Json got = vector.algorithm == "bully" ? timed_row(cast, vector, row) : ring_row(cast, vector, row);
  // A type that was never sent counts as zero.
  for (const auto& [key, value] : row.items()) {
    if (!got.contains(key) && value == 0) got[key] = 0;
  }
  return got;
}

// How the messages grow with n: twice the processes, so many times the messages.
std::string order_of(const Cast& cast, const Vector& vector, const Json& row) {
  const auto messages = [&](std::uint32_t n) {
    Json larger = row;
    larger["n"] = n;
    const Json got = count_row(cast, vector, larger);
    return got["total"].get<double>();
  };
  const double growth = messages(64) / messages(32);
  return growth > 3 ? "n^2" : growth > 1.5 ? "n" : "1";
}

Json run_count(const Cast& cast, const Vector& vector) {
  const Json& expected = vector.expected;
  if (!expected.contains("table")) return count_row(cast, vector, expected);
  Json got = {{"table", Json::array()}};
  for (const Json& row : expected["table"]) got["table"].push_back(count_row(cast, vector, row));
  if (expected.contains("example")) got["example"] = count_row(cast, vector, expected["example"]);
  if (expected.contains("order") && !expected["table"].empty())
    got["order"] = order_of(cast, vector, expected["table"].front());
  // A formula is right if it gives what every row has measured.
  if (expected.contains("formula_total")) {
    const std::string formula = expected["formula_total"].get<std::string>();
    got["formula_total"] = formula;
    for (std::size_t i = 0; i < got["table"].size(); ++i) {
      const auto value = evaluate_cases(formula, numbers_of(expected["table"][i]));
      if (!value || got["table"][i]["total"] != *value)
        got["formula_total"] = fmt::format("gives {} in row {}, where {} were sent", value.value_or(-1),
                                           i + 1, got["table"][i]["total"].dump());
    }
  }
  return got;
}

// How long a candidate waits, seen from outside: the one above it is dead and does not answer.
Json time_outs(const Cast& cast, const Vector& vector) {
  Json got = {{"T", Json::array()}, {"T_prime", Json::array()}};
  for (const Json& one : need(vector.inputs, "cases")) {
    Json config = one;
    config["ids"] = {1, 2, 3};
    config["dead"] = {3};
    Vector asked = vector;
    asked.expected = {{"sequence", Json::array()}};
    asked.kind = "timed";
    const Company company = company_of(*cast.entry, cast.variant, config);
    got["T"].push_back(
        need(play_timed(asked, company, config, {{"detect", {{0, 2}}}}), "decided_at").get<std::uint64_t>());
    // The one that answers dies before it can announce itself: the caller calls again.
    const auto travel = std::stoull(company.setting.parameters.at("T_t"));
    const Json story =
        play_timed(asked, company, config, {{"detect", {{0, 1}}}, {"crash", {{travel + 1, 2}}}});
    for (const Json& line : story["sequence"]) {
      if (line.at(1) != "ELECTION" || line.at(2) != 1 || line.at(0) == 0) continue;
      got["T_prime"].push_back(line.at(0).get<std::uint64_t>() - 2 * travel);
      break;
    }
  }
  return got;
}

// Elections again and again, among processes of which the greatest may fail; by every algorithm that elects
// the greatest.
Json run_check(const Vector& vector) {
  Json config = vector.config;
  if (config.contains("ids")) config["ring"] = config["ids"];
  const auto failures = vector.inputs.value("failures", std::uint64_t{0});
  std::uint64_t changes = 0;
  bool agreed = true;
  for (const catalogue::Entry& entry : catalogue::entries()) {
    if (entry.family != "election" || !entry.claims_property("E1")) continue;
    if (failures > 0 && entry.assumes.crashes == Crashes::none) continue;
    Company company = company_of(entry, "canonical", config);
    company.setting.parameters.clear();
    sim::Options options = {.nodes = company.setting.members.size()};
    if (entry.usual) entry.usual(options);
    options.members = company.setting.members;
    NodeSet alive = company.setting.members;
    options.script = sim::Script{};
    for (std::uint64_t round = 0; round < 100; ++round) {
      const Ticks at = {10'000 * round};
      for (NodeId node : alive)
        options.script->push_back(
            {.what = sim::Action::What::wish, .at = at + Ticks{node.value}, .node = node});
      if (round % 10 != 5 || round / 10 >= failures || alive.size() < 2) continue;
      options.script->push_back(
          {.what = sim::Action::What::crash, .at = at + Ticks{5000}, .node = alive.max(), .forever = true});
      alive.erase(alive.max());
    }
    trace::ElectionMonitor monitor;
    entry.simulate(options, company.setting, &monitor);
    changes = std::max(changes, monitor.summary().leader_changes);
    for (const trace::Verdict& verdict : monitor.verdicts()) agreed = agreed && verdict.holds;
  }
  const char* verdict = agreed ? "holds" : "violated";
  return {{"leader_changes_after_first", changes},
          {"E1", verdict},
          {"E2", verdict},
          {"stability", verdict},
          {"agreement", verdict}};
}

}  // namespace

std::optional<Result> run_election(const Vector& vector) {
  const bool known = vector.algorithm == "election_requirements" ||
                     std::ranges::find(names, vector.algorithm, &Named::algorithm) != std::end(names);
  if (!known) return std::nullopt;
  return answered(vector, [&]() -> Json {
    if (vector.algorithm == "election_requirements") return run_check(vector);
    const Cast cast = cast_of(vector);
    if (!cast.entry) throw CannotPlay(fmt::format("{} is not in the catalogue", vector.algorithm));
    if (vector.kind == "script") return run_script(cast, vector);
    if (vector.kind == "count") return run_count(cast, vector);
    if (vector.kind == "formula") return time_outs(cast, vector);
    if (vector.kind == "timed")
      return play_timed(vector, company_of(*cast.entry, cast.variant, vector.config), vector.config,
                        vector.inputs);
    throw CannotPlay(fmt::format("no kind '{}' for {}", vector.kind, vector.algorithm));
  });
}

}  // namespace conclave::accept
