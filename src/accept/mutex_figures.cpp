#include "accept/mutex_figures.hpp"

#include <fmt/format.h>

#include <cmath>

#include "accept/mutex_play.hpp"
#include "catalogue/judge.hpp"
#include "protocols/mutex/voting_sets.hpp"

namespace conclave::accept {
namespace {

double rounded(double value) { return std::round(value * 1000) / 1000; }

const catalogue::Entry& entry(const char* name) { return *catalogue::find(name); }

Play play_of(const char* name, std::uint32_t n) {
  const catalogue::Entry& row = entry(name);
  return Play(row, {.protocol = name, .members = row.members(n)}, true);
}

// The messages of one entry and exit with nobody else asking.
Json alone(const char* name, std::uint32_t n) {
  Play play = play_of(name, n);
  play.want({1});
  if (!play.monitor().inside({1})) play.run_until_entry();
  play.leave({1});
  play.drain();
  Json sent = play.sent();
  sent["total"] = play.monitor().summary().messages;
  sent["before_entry"] = play.monitor().summary().messages_before_first_entry;
  return sent;
}

// Whether p1 waits for ever once somebody is down.
bool blocks_after_crash(const char* name, NodeId crashed) {
  Play play = play_of(name, 3);
  play.crash(crashed);
  play.want({2});
  play.drain();
  return play.phase({2}) == "WANTED";
}

bool deadlocks_when_all_ask(const char* name) {
  Play play = play_of(name, 3);
  for (NodeId member : play.members()) play.want(member);
  play.drain();
  play.end();
  return !play.monitor().verdicts()[3].holds;  // ND
}

bool token_is_lost_with_its_holder() {
  Play play = play_of("token-ring", 3);
  play.want({1});
  play.crash({1});
  play.want({2});
  play.drain();
  return play.phase({2}) == "WANTED";
}

Json bakery_cost(const Json& rows) {
  Json table = Json::array();
  for (const Json& row : rows) {
    const auto n = row.at("n").get<std::uint32_t>();
    Json got = alone("bakery-messages", n);
    got["n"] = n;
    got["seed_per_exchange"] = 2 * n;
    got["seed_total"] = 6 * n;
    got["exact_total"] = got["total"];
    got["exact_per_exchange"] = got["total"].get<std::uint64_t>() / 3;
    table.push_back(got);
  }
  return {{"table", table}};
}

// How far the token travels to a node that wants it just after passing it on.
std::uint64_t hops_after_forwarding(std::uint32_t n) {
  Play play = play_of("token-ring", n);
  play.fire({1});
  play.want({1});
  play.run_until_entry();
  return play.delivered();
}

std::uint64_t hops_when_it_is_here(std::uint32_t n) {
  Play play = play_of("token-ring", n);
  play.want({1});
  return play.monitor().inside({1}) ? play.delivered() : n;
}

Json ring_delay_bounds(const Json& rows) {
  Json table = Json::array();
  for (const Json& row : rows) {
    const auto n = row.at("n").get<std::uint32_t>();
    const std::uint64_t hops = hops_after_forwarding(n);
    // The message that is under way when the wish comes has been sent before.
    table.push_back({{"n", n},
                     {"min", hops_when_it_is_here(n)},
                     {"seed_max", hops - 1},
                     {"hops_if_wanted_right_after_forwarding", hops}});
  }
  return {{"table", table}};
}

Json k_table(const Vector& vector) {
  Json table = Json::array();
  for (const Json& row : vector.expected.at("table")) {
    const auto k = row.at("K").get<std::uint32_t>();
    const std::uint32_t n = k * (k - 1) + 1;
    if (n > 1 && mutex::plane_order(n) != k - 1)
      throw CannotPlay(fmt::format("no plane of order {} was found", k - 1));
    const double root = std::sqrt(n);
    table.push_back({{"K", k},
                     {"N", n},
                     {"sqrtN", rounded(root)},
                     {"seed_3sqrtN", rounded(3 * root)},
                     {"with_self_3K", 3 * k},
                     {"network_3Kminus1", alone("maekawa", n)["total"]},
                     {"ricart_agrawala", alone("ricart-agrawala", n)["total"]}});
  }
  Json got = {{"table", table}};
  if (const auto none = vector.expected.find("no_optimal_system_for"); none != vector.expected.end()) {
    const auto k = none->at("K").get<std::uint32_t>();
    const std::uint32_t n = k * (k - 1) + 1;
    if (!mutex::plane_order(n)) got["no_optimal_system_for"] = {{"K", k}, {"N", n}};
  }
  return got;
}

Json crossover(const Json& rows) {
  Json table = Json::array();
  for (const Json& row : rows) {
    const auto n = row.at("n").get<std::uint32_t>();
    const double quorum = 3 * std::sqrt(n);
    const auto all = alone("ricart-agrawala", n)["total"].get<double>();
    table.push_back(
        {{"n", n}, {"three_sqrt_n", rounded(quorum)}, {"ra", all}, {"maekawa_cheaper", quorum < all}});
  }
  return {{"table", table}};
}

// The properties of a system of voting sets.
Json check_sets(const Json& config) {
  std::map<std::uint32_t, NodeSet> sets;
  for (const auto& [member, voters] : config.at("sets").items()) {
    NodeSet& set = sets[static_cast<std::uint32_t>(std::stoul(member))];
    for (const Json& voter : voters) set.insert({voter.get<std::uint32_t>()});
  }
  const std::uint32_t k = sets.begin()->second.size();
  bool same_size = true;
  bool self_member = true;
  std::map<std::uint32_t, std::uint32_t> membership;
  for (const auto& [member, set] : sets) {
    same_size &= set.size() == k;
    self_member &= set.contains({member});
    for (NodeId voter : set) ++membership[voter.value];
  }
  Json intersections = Json::object();
  bool all_meet = true;
  std::optional<std::size_t> common_size;
  bool one_size = true;
  for (auto a = sets.begin(); a != sets.end(); ++a) {
    for (auto b = std::next(a); b != sets.end(); ++b) {
      Json shared = Json::array();
      for (NodeId voter : a->second) {
        if (b->second.contains(voter)) shared.push_back(voter.value);
      }
      all_meet &= !shared.empty();
      one_size &= common_size.value_or(shared.size()) == shared.size();
      common_size = shared.size();
      intersections[fmt::format("{},{}", a->first, b->first)] = shared;
    }
  }
  Json counts = Json::object();
  bool same_load = true;
  for (const auto& [member, count] : membership) {
    counts[std::to_string(member)] = count;
    same_load &= count == membership.begin()->second;
  }
  Json got = {{"self_member", self_member},
              {"all_pairs_intersect", all_meet},
              {"membership_count", counts},
              {"intersections", intersections},
              {"N_equals_K_times_Kminus1_plus_1", sets.size() == k * (k - 1) + 1}};
  if (same_size) got["K"] = k;
  if (same_load) got["M"] = membership.begin()->second;
  if (one_size && common_size) got["every_intersection_size"] = *common_size;
  return got;
}

// The table of the lecture: messages and "delay in messages"; its problems are shown, not quoted.
Json comparison_table(const Vector& vector) {
  Json central = {{"algorithm", "central_server or token_central"}};
  Json agrawala = {{"algorithm", "ricart_agrawala"}};
  Json ring = {{"algorithm", "token_ring"}, {"messages_per_entry_exit", "1 to infinity"}};
  Json maekawa = {{"algorithm", "maekawa"}};
  for (const Json& size : vector.inputs.at("n")) {
    const auto n = size.get<std::uint32_t>();
    const std::string key = std::to_string(n);
    const Json by_server = alone("central-server", n);
    const Json by_token = alone("central-token", n);
    if (by_server["total"] != by_token["total"] || by_server["before_entry"] != by_token["before_entry"])
      throw CannotPlay("central server and central token do not cost the same");
    central["messages_per_entry_exit"][key] = by_server["total"];
    central["delay_before_entry"][key] = by_server["before_entry"];
    const Json by_all = alone("ricart-agrawala", n);
    agrawala["messages_per_entry_exit"][key] = by_all["total"];
    agrawala["delay_before_entry"][key] = by_all["before_entry"];
    ring["delay_before_entry"][key] = {hops_when_it_is_here(n), hops_after_forwarding(n) - 1};
    maekawa["messages_per_entry_exit"][key] = rounded(3 * std::sqrt(n));
    maekawa["delay_before_entry"][key] = rounded(2 * std::sqrt(n));
  }
  if (blocks_after_crash("central-server", {0}) && blocks_after_crash("central-token", {0}))
    central["problem"] = "coordinator crash";
  if (blocks_after_crash("ricart-agrawala", {1}) && blocks_after_crash("ricart-agrawala", {3}))
    agrawala["problem"] = "crash of any process";
  if (token_is_lost_with_its_holder() && blocks_after_crash("token-ring", {1}))
    ring["problem"] = "token loss; crash of any process";
  if (deadlocks_when_all_ask("maekawa")) maekawa["problem"] = "possible deadlock";
  return {{"rows", {central, agrawala, ring, maekawa}}};
}

// The least and the most of what was measured, in message delays.
struct Range {
  double least = 1e9;
  double most = 0;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(const Range& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

struct Delays {
  Range client;
  Range synchronisation;
};

// One process enters a free section; while it is inside, another one asks: for all pairs.
Delays measured_delays(const char* name, std::uint32_t n) {
  constexpr std::uint64_t hop = 10;
  sim::Options options = {.nodes = n};
  options.delay.usual = {sim::Delay::Shape::fixed, hop, hop};
  const catalogue::Setting setting = {.protocol = name, .members = entry(name).members(n)};
  const auto wish = [](std::uint64_t at, std::uint32_t node, std::int64_t hold) {
    return sim::Action{.what = sim::Action::What::wish, .at = {at * hop}, .node = {node}, .amount = hold};
  };
  Delays delays;
  for (std::uint32_t first = 1; first <= n; ++first) {
    for (std::uint32_t second = 1; second <= n; ++second) {
      if (first == second) continue;
      const std::uint64_t later = 4 * n + first;  // so that a token is found in different places
      options.script = {wish(later, first, static_cast<std::int64_t>((2 * n + 20) * hop)),
                        wish(later + n + 10, second, hop)};
      const auto summary = catalogue::judge(entry(name), options, setting).summary;
      delays.client.add(summary.client_delay.mean() / hop);
      delays.synchronisation.add(summary.synchronisation_delay.mean() / hop);
    }
  }
  return delays;
}

Json added_delays(const Vector& vector) {
  Json got = {{"unit", "message hops in sequence, parallel messages count once"}};
  const std::pair<const char*, const char*> rows[] = {{"central_server", "central-server"},
                                                      {"token_central", "central-token"},
                                                      {"lamport_mutex", "lamport"},
                                                      {"ricart_agrawala", "ricart-agrawala"},
                                                      {"maekawa", "maekawa"},
                                                      {"token_ring", "token-ring"}};
  for (const auto& [key, name] : rows) {
    Delays all;
    bool on_ring = std::string_view(name) == "token-ring";
    bool within_ring = true;
    for (const Json& size : vector.inputs.at("n")) {
      const auto n = size.get<std::uint32_t>();
      const Delays delays = measured_delays(name, n);
      within_ring = within_ring && delays.client.most <= n && delays.synchronisation.least >= 1 &&
                    delays.synchronisation.most <= n;
      all.client.add(delays.client);
      all.synchronisation.add(delays.synchronisation);
    }
    // The worst pair counts: a process that casts the missing vote itself saves a hop.
    got["rows"][key] = on_ring
                           ? Json{{"client", within_ring ? "0..N" : "more"},
                                  {"synchronisation", within_ring ? "1..N" : "more"}}
                           : Json{{"client", all.client.most}, {"synchronisation", all.synchronisation.most}};
  }
  return got;
}

}  // namespace

std::uint64_t voting_set_size(const Json& n) {
  return mutex::VotingSystem(NodeSet::range({1}, n.get<std::uint32_t>())).of({1}).size();
}

Json figures(const Vector& vector) {
  const Json& config = vector.config;
  const Json rows = vector.expected.value("table", Json::array());
  if (vector.algorithm == "maekawa" && config.contains("sets")) return check_sets(config);
  if (vector.algorithm == "maekawa" && vector.inputs.contains("K")) return k_table(vector);
  if (vector.algorithm == "maekawa") return crossover(rows);
  if (vector.algorithm == "bakery_messages") return bakery_cost(rows);
  if (vector.algorithm == "token_ring") return ring_delay_bounds(rows);
  if (vector.algorithm == "comparison")
    return vector.expected.contains("unit") ? added_delays(vector) : comparison_table(vector);
  throw CannotPlay(fmt::format("no formula of {} is known here", vector.algorithm));
}

}  // namespace conclave::accept
