// Acceptance vectors of superpeer selection: graph problems solved exactly, the four criteria of a given
// choice, and the choice that the nodes make themselves.
#include <fmt/format.h>

#include <charconv>

#include "accept/families.hpp"
#include "catalogue/entry.hpp"
#include "graph/criteria.hpp"
#include "graph/distance.hpp"
#include "graph/generate.hpp"
#include "graph/optimum.hpp"
#include "trace/overlay_monitor.hpp"

namespace conclave::accept {
namespace {

constexpr std::uint32_t most_nodes_here = 10'000;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

NodeId node(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX)
    return {value.get<std::uint32_t>()};
  if (value.is_string()) {
    if (const auto id = number(value.get_ref<const std::string&>())) return {*id};
  }
  throw CannotPlay(fmt::format("{} is no node's number", value.dump()));
}

NodeSet node_set(const Json& list) {
  NodeSet set;
  for (const Json& one : list) set.insert(node(one));
  return set;
}

Json to_json(const auto& nodes) {
  Json list = Json::array();
  for (NodeId one : nodes) list.push_back(one.value);
  return list;
}

// "cycle 0..5", "path 1..5", "star 0..4" (its first node in the middle), "complete 0..3", "grid 3x4".
Graph described_graph(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::string kind = text.substr(0, space);
  const std::string range = space == std::string::npos ? "" : text.substr(space + 1);
  const auto wrong = [&] { return CannotPlay(fmt::format("no such graph: '{}'", text)); };
  const bool on_grid = kind == "grid";
  const std::string between = on_grid ? "x" : "..";
  const std::size_t place = range.find(between);
  if (place == std::string::npos) throw wrong();
  const auto first = number(range.substr(0, place));
  const auto last = number(range.substr(place + between.size()));
  if (!first || !last) throw wrong();
  if (on_grid) {
    const std::uint64_t count = std::uint64_t{*first} * *last;
    if (count < 1 || count > most_nodes_here) throw wrong();
    const auto nodes = static_cast<std::uint32_t>(count);
    return graph::over(NodeSet::range({0}, nodes), graph::grid(nodes, *last));
  }
  if (*last < *first || *last - *first >= most_nodes_here) throw wrong();
  const std::uint32_t nodes = *last - *first + 1;
  const NodeSet members = NodeSet::range({*first}, nodes);
  if (kind == "cycle" || kind == "ring") return graph::over(members, graph::ring(nodes));
  if (kind == "path" || kind == "line") return graph::over(members, graph::path(nodes));
  if (kind == "star") return graph::over(members, graph::star(nodes));
  if (kind == "complete" || kind == "clique") {
    if (nodes > 1000) throw wrong();
    return graph::over(members, graph::complete(nodes));
  }
  throw wrong();
}

// A description, a list of edges, {"nodes": …, "edges": …}, or every node with its neighbours.
Graph graph_of(const Json& described) {
  if (described.is_string()) return described_graph(described.get<std::string>());
  NodeSet nodes;
  std::vector<Graph::Edge> edges;
  const auto add_edges = [&](const Json& list) {
    for (const Json& edge : list) {
      if (!edge.is_array() || edge.size() != 2) throw CannotPlay(fmt::format("{} is no edge", edge.dump()));
      edges.emplace_back(node(edge[0]), node(edge[1]));
    }
  };
  if (described.is_array()) {
    add_edges(described);
  } else if (described.is_object() && described.contains("edges")) {
    if (described.contains("nodes")) {
      const Json& listed = described["nodes"];
      nodes =
          listed.is_number_unsigned() ? NodeSet::range({0}, listed.get<std::uint32_t>()) : node_set(listed);
    }
    add_edges(described["edges"]);
  } else if (described.is_object()) {
    for (const auto& [one, neighbours] : described.items()) {
      nodes.insert(node(Json(one)));
      for (const Json& other : neighbours) edges.emplace_back(node(Json(one)), node(other));
    }
  } else {
    throw CannotPlay(fmt::format("no such graph: {}", described.dump()));
  }
  for (const auto& [a, b] : edges) {
    nodes.insert(a);
    nodes.insert(b);
  }
  if (nodes.empty() || nodes.size() > most_nodes_here)
    throw CannotPlay("a graph has some nodes, not too many");
  return Graph(std::move(nodes), edges);
}

// "two", "3" or "p", the number that the vector names elsewhere.
std::optional<std::uint32_t> count_word(std::string_view word, std::optional<std::uint32_t> p) {
  constexpr std::string_view words[] = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
  for (std::uint32_t i = 0; i < std::size(words); ++i) {
    if (word == words[i]) return i;
  }
  if (word == "p" || word == "k") return p;
  return number(word);
}

// What stands between two ends of a key, if it has them.
std::optional<std::string_view> between(std::string_view key, std::string_view before,
                                        std::string_view after) {
  if (key.size() < before.size() + after.size() || !key.starts_with(before) || !key.ends_with(after))
    return std::nullopt;
  return key.substr(before.size(), key.size() - before.size() - after.size());
}

std::optional<std::uint32_t> optional_number(const Json& config, const char* key) {
  if (!config.contains(key)) return std::nullopt;
  return config[key].get<std::uint32_t>();
}

// The answer to one question about a graph; the question is the name of the field.
std::optional<Json> solve(const Graph& graph, std::string_view key, const Json& config) {
  const auto p = optional_number(config, "p");
  const auto k = optional_number(config, "k");
  const auto least = [&](std::uint32_t reach) { return graph::least_dominating_set(graph, reach); };
  const auto centres = [&](std::optional<std::uint32_t> count) {
    if (!count) throw CannotPlay(fmt::format("how many centres? {}", key));
    const auto best = graph::best_centres(graph, *count);
    if (!best) throw CannotPlay(fmt::format("{} centres do not reach everybody", *count));
    return *best;
  };
  if (key == "min_dominating_set_size") return Json(least(1).size());
  if (key == "example_dominating_set") return to_json(least(1));
  for (const char* end : {"_dominating_set_size", "_dominating_set"}) {
    const bool size = std::string_view(end).ends_with("size");
    const auto distance = between(key, size ? "min_distance" : "example_distance", end);
    if (!distance) continue;
    const auto reach =
        distance->empty() ? k : count_word(distance->starts_with('_') ? distance->substr(1) : *distance, k);
    if (!reach) return std::nullopt;
    return size ? Json(least(*reach).size()) : to_json(least(*reach));
  }
  if (const auto count = between(key, "", "_center_radius"))
    return Json(centres(count_word(*count, p)).radius);
  if (const auto count = between(key, "example_", "_centers"))
    return to_json(centres(count_word(*count, p)).nodes);
  return std::nullopt;
}

Json graph_problems(const Vector& vector) {
  const Json& graphs = need(vector.config, "graphs");
  Json table = Json::array();
  for (const Json& row : need(vector.expected, "table")) {
    const Json& name = need(row, "graph");
    const Graph graph = graph_of(need(graphs, name.get<std::string>().c_str()));
    if (graph.nodes().size() > 2 * graph::most_nodes_for_optimum)
      throw CannotPlay(fmt::format("{} is too large to try every set", name.dump()));
    Json config = vector.config;
    config.update(row);
    Json answers = Json::object();
    for (const auto& [key, value] : row.items()) {
      if (const auto answer = solve(graph, key, config)) {
        answers[key] = *answer;
      } else if (key == "graph" || key == "p" || key == "k") {
        answers[key] = value;  // not an answer but part of the question
      }
    }
    table.push_back(answers);
  }
  return {{"table", table}};
}

// A share "p/q", or a number.
std::pair<std::uint64_t, std::uint64_t> share_of(const Json& value) {
  if (value.is_number_unsigned()) return {value.get<std::uint64_t>(), 1};
  if (value.is_number()) return {static_cast<std::uint64_t>(value.get<double>() * 1e9 + 0.5), 1'000'000'000};
  const std::string text = value.get<std::string>();
  const std::size_t slash = text.find('/');
  const auto top = number(text.substr(0, slash));
  const auto bottom = slash == std::string::npos ? 1u : number(text.substr(slash + 1));
  if (!top || !bottom || *bottom == 0) throw CannotPlay(fmt::format("'{}' is no share", text));
  return {*top, *bottom};
}

std::uint32_t allowed_difference(const Json& config) {
  for (const char* key : {"max_gap_difference", "max_region_difference", "max_difference"}) {
    if (config.contains(key)) return config[key].get<std::uint32_t>();
  }
  return 1;  // as even as whole numbers can be
}

bool share_is_right(const graph::Criteria& found, const Json& config) {
  if (!config.contains("target_share")) return true;
  const auto [top, bottom] = share_of(config["target_share"]);
  const auto [off, of] = config.contains("share_tolerance") ? share_of(config["share_tolerance"])
                                                            : std::pair<std::uint64_t, std::uint64_t>{0, 1};
  const double share = static_cast<double>(found.superpeers) / found.nodes;
  const double target = static_cast<double>(top) / static_cast<double>(bottom);
  return std::abs(share - target) <= static_cast<double>(off) / static_cast<double>(of) + 1e-9;
}

Json four_criteria(const Graph& graph, const NodeSet& superpeers, const Json& config) {
  for (NodeId one : superpeers) {
    if (!graph.nodes().contains(one))
      throw CannotPlay(fmt::format("superpeer {} is not in the graph", one.value));
  }
  if (superpeers.empty()) throw CannotPlay("there are no superpeers");
  const graph::Criteria found = graph::criteria(graph, superpeers);
  Json peers = Json::object();
  Json regions = Json::object();
  Json attached = Json::object();
  for (const auto& [superpeer, count] : found.peers) {
    peers[std::to_string(superpeer.value)] = count;
    regions[std::to_string(superpeer.value)] = count + 1;
  }
  const auto places = graph::attach(graph, superpeers);
  std::size_t i = 0;
  for (NodeId one : graph.nodes()) {
    if (const auto to = places[i++].to) attached[std::to_string(one.value)] = to->value;
  }
  Json distribution = {{"region_sizes", regions}};
  std::uint32_t difference = found.most_peers - found.least_peers;
  if (graph::is_cycle(graph)) {
    const auto gaps = graph::gaps(graph, superpeers);
    distribution["gaps_between_consecutive_superpeers"] = gaps;
    difference = *std::ranges::max_element(gaps) - *std::ranges::min_element(gaps);
  }
  distribution["ok"] = difference <= allowed_difference(config);
  const auto most_hops = optional_number(config, "max_latency_hops");
  const auto most_peers = optional_number(config, "max_peers_per_superpeer");
  Json worst = found.worst_hops == graph::unreachable ? Json() : Json(found.worst_hops);
  return {{"access",
           {{"worst_hops", worst},
            {"ok",
             found.worst_hops != graph::unreachable && found.worst_hops <= most_hops.value_or(UINT32_MAX)}}},
          {"distribution", distribution},
          {"proportion",
           {{"share", fmt::format("{}/{}", found.superpeers, found.nodes)},
            {"ok", share_is_right(found, config)}}},
          {"load", {{"peers", peers}, {"ok", found.most_peers <= most_peers.value_or(UINT32_MAX)}}},
          {"attached", attached}};
}

// The nodes choose for themselves: the algorithm runs on the graph.
Json selection(const Vector& vector, const Graph& graph) {
  const Json& config = vector.config;
  const auto k = optional_number(config, "k");
  const auto p = optional_number(config, "p");
  const catalogue::Entry& entry = *catalogue::find(p   ? "superpeer-p-center"
                                                   : k ? "superpeer-distance-domination"
                                                       : "superpeer-dominating-set");
  catalogue::Setting setting = {.protocol = std::string(entry.name),
                                .members = graph.nodes(),
                                .graph = std::make_shared<const Graph>(graph)};
  for (const std::string& variant : {vector.variant, config.value("variant", std::string())}) {
    if (variant == "local_maxima" || variant == "local-maxima-only") setting.variant = "local-maxima";
    if (entry.variant(variant) && setting.variant == "canonical") setting.variant = variant;
  }
  if (p) setting.parameters["p"] = std::to_string(*p);
  if (k) setting.parameters["k"] = std::to_string(*k);
  sim::Options options = {.nodes = graph.nodes().size(), .members = graph.nodes(), .round_limit = 100'000};
  entry.usual(options);
  // Whoever is within k hops of nobody never hears, and the rounds would not end by themselves.
  if (k) options.round_limit = 3 * *k + 1;
  trace::OverlayMonitor monitor(setting.graph, {});
  const sim::Report report = entry.simulate(options, setting, &monitor);
  if (!report.broken.empty()) throw CannotPlay(report.broken);
  const NodeSet& superpeers = monitor.summary().superpeers;
  Json got = superpeers.empty() ? Json::object() : four_criteria(graph, superpeers, config);
  const std::uint32_t radius = superpeers.empty() ? graph::unreachable : graph::radius(graph, superpeers);
  const bool dominates = radius <= k.value_or(1);
  got["superpeers"] = to_json(superpeers);
  got["count"] = superpeers.size();
  got["worst_hops"] = radius == graph::unreachable ? Json() : Json(radius);
  got["radius"] = got["worst_hops"];
  got["dominating"] = got["k_dominating"] = dominates;
  got["domination"] = dominates ? "holds" : "violated";
  got["messages"] = got["total"] = report.messages;
  got["rounds"] = report.rounds;
  if (k) {
    // What each node voted for, in the words of the rule: the greatest id within k hops.
    Json votes = Json::object();
    for (NodeId one : graph.nodes()) {
      const auto hops = graph::distances(graph, one);
      NodeId best = one;
      std::size_t i = 0;
      for (NodeId other : graph.nodes()) {
        if (hops[i++] <= *k) best = std::max(best, other);
      }
      votes[std::to_string(one.value)] = best.value;
    }
    got["votes"] = votes;
  }
  return got;
}

Json compute(const Vector& vector) {
  if (vector.config.contains("graphs")) return graph_problems(vector);
  const Graph graph = graph_of(need(vector.config, "graph"));
  if (!vector.config.contains("superpeers")) return selection(vector, graph);
  return four_criteria(graph, node_set(vector.config["superpeers"]), vector.config);
}

}  // namespace

std::optional<Result> run_overlay(const Vector& vector) {
  if (vector.algorithm != "superpeer_selection") return std::nullopt;
  return answered(vector, [&] { return compute(vector); });
}

}  // namespace conclave::accept
