#include "catalogue/consensus/setups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/ensure.hpp"
#include "sim/random.hpp"

namespace conclave::catalogue {
namespace {

using consensus::Strategy;
using sim::Draw;
using sim::Purpose;

// Proposals are drawn by id; what concerns the whole run is drawn in the name of nobody.
constexpr std::uint64_t whole_run = std::uint64_t{1} << 40;

constexpr std::string_view graphs[] = {"complete", "line", "ring", "star", "random"};
constexpr std::string_view strategies[] = {"silent", "equivocate", "forge", "late", "erratic"};

Draw draw(const Setting& setting, std::uint64_t nth) {
  return {setting.seed, Purpose::proposal, whole_run, nth};
}

std::vector<Graph::Edge> edges_of(const std::string& name, const std::vector<NodeId>& nodes,
                                  const Setting& setting) {
  std::vector<Graph::Edge> edges;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (name == "line" || name == "ring") edges.emplace_back(nodes[i - 1], nodes[i]);
    if (name == "star") edges.emplace_back(nodes[0], nodes[i]);
    // A tree that grows at random places, and here and there one more edge.
    if (name == "random") {
      edges.emplace_back(nodes[draw(setting, 100 + 2 * i).below(i)], nodes[i]);
      edges.emplace_back(nodes[draw(setting, 101 + 2 * i).below(i)], nodes[i]);
    }
  }
  if (name == "ring" && nodes.size() > 2) edges.emplace_back(nodes.back(), nodes.front());
  return edges;
}

NodeSet drawn_traitors(const Setting& setting, std::uint32_t f) {
  std::vector<NodeId> nodes(setting.members.begin(), setting.members.end());
  std::ranges::sort(nodes, {}, [&](NodeId node) {
    return Draw(setting.seed, Purpose::proposal, whole_run + 1, node.value).bits();
  });
  NodeSet traitors;
  const std::uint64_t count = draw(setting, 1).between(0, f);
  for (std::uint64_t i = 0; i < count; ++i) traitors.insert(nodes[i]);
  return traitors;
}

// Ids with commas between them; nothing if it is something else.
std::optional<NodeSet> listed(std::string_view text) {
  NodeSet set;
  if (text == "none") return set;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    NodeId node = {};
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), node.value);
    if (error != std::errc{} || end != part.data() + part.size()) return std::nullopt;
    set.insert(node);
    if (part.size() == text.size()) return set;
    text.remove_prefix(part.size() + 1);
  }
}

}  // namespace

std::string text_set(const Setting& setting, const char* parameter, const char* usual) {
  const auto found = setting.parameters.find(parameter);
  return found == setting.parameters.end() ? usual : found->second;
}

std::int64_t number_set(const Setting& setting, const char* parameter, std::int64_t usual) {
  const auto found = setting.parameters.find(parameter);
  return found == setting.parameters.end() ? usual : std::stoll(found->second);
}

consensus::Votes proposals(const Setting& setting) {
  constexpr std::uint64_t different = 3;
  consensus::Votes votes;
  for (NodeId node : setting.members) {
    const auto given = setting.values.find(node);
    votes[node] = given != setting.values.end()
                      ? given->second
                      : static_cast<consensus::Value>(
                            Draw(setting.seed, Purpose::proposal, node.value, 0).below(different));
  }
  return votes;
}

std::shared_ptr<const Graph> consensus_graph(const Setting& setting) {
  if (setting.graph) return setting.graph;
  std::string name = text_set(setting, "graph", "drawn");
  if (name == "drawn") name = graphs[draw(setting, 0).below(std::size(graphs))];
  if (name == "complete") return nullptr;
  const std::vector<NodeId> nodes(setting.members.begin(), setting.members.end());
  return std::make_shared<const Graph>(setting.members, edges_of(name, nodes, setting));
}

std::optional<std::string> refuse_graph(const sim::Options&, const Setting& setting) {
  const std::string name = text_set(setting, "graph", "drawn");
  if (name == "drawn" || std::ranges::find(graphs, name) != std::end(graphs)) return std::nullopt;
  return fmt::format("--set graph={}: it must be drawn, {}", name, fmt::join(graphs, ", "));
}

std::optional<std::string> refuse_treason(const sim::Options& options, const Setting& setting) {
  const std::int64_t f = number_set(setting, "f", 0);
  if (f >= options.nodes)
    return fmt::format("--set f={}: of {} processes at most {} may be traitors", f, options.nodes,
                       options.nodes - 1);
  const std::string how = text_set(setting, "strategy", "drawn");
  if (how != "drawn" && std::ranges::find(strategies, how) == std::end(strategies))
    return fmt::format("--set strategy={}: it must be drawn, {}", how, fmt::join(strategies, ", "));
  const std::string who = text_set(setting, "traitors", "drawn");
  if (who == "drawn") return std::nullopt;
  const auto list = listed(who);
  if (!list || std::ranges::any_of(*list, [&](NodeId node) { return !setting.members.contains(node); }))
    return fmt::format("--set traitors={}: write drawn, none, or ids such as 1,3 between {} and {}", who,
                       setting.members.min().value, setting.members.max().value);
  const consensus::Treason plan = treason(setting);
  if (list->size() >= plan.rounds)
    return fmt::format("--set traitors={}: with f={} there are at most as many", who, plan.rounds - 1);
  return std::nullopt;
}

consensus::Treason treason(const Setting& setting) {
  const auto most = static_cast<std::int64_t>(setting.members.size()) - 1;
  const auto f = static_cast<std::uint32_t>(std::min(number_set(setting, "f", 2), most));
  const std::string who = text_set(setting, "traitors", "drawn");
  const std::string how = text_set(setting, "strategy", "drawn");
  consensus::Treason treason = {
      .strategy = static_cast<Strategy>(draw(setting, 2).below(std::size(strategies))),
      .traitors = who == "drawn" ? drawn_traitors(setting, f) : listed(who).value_or(NodeSet{}),
      .source = setting.coordinator.value_or(setting.members.min()),
      .members = setting.members,
      .rounds = f + 1,
      .one = 0,
      .other = 1,
      .in_writing = setting.variant != "unsigned",
      .whims = draw(setting, 3).bits()};
  if (how != "drawn") {
    const auto named = std::ranges::find(strategies, how);
    ensure(named != std::end(strategies), "a strategy of that name was accepted before");
    treason.strategy = static_cast<Strategy>(named - std::begin(strategies));
  }
  // One of the two values that are told is the source's own; the other is greater or less, and not the
  // default.
  treason.one = proposals(setting)[treason.source];
  treason.other = draw(setting, 4).below(2) == 0 ? treason.one + 1 : -5;
  return treason;
}

consensus::Treason oral_treason(const Setting& setting) {
  constexpr std::uint32_t plenty = 3;  // with more the paths become too many
  const std::uint32_t fewer_than_a_third = std::min(plenty, (setting.members.size() - 1) / 3);
  const bool one_more = setting.variant == "outnumbered";
  Setting with_f = setting;
  with_f.parameters.try_emplace("f", std::to_string(fewer_than_a_third + (one_more ? 1 : 0)));
  return treason(with_f);
}

}  // namespace conclave::catalogue
