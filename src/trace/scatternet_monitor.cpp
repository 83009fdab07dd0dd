#include "trace/scatternet_monitor.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trace/parse_json.hpp"

namespace conclave::trace {
namespace {

void violate(Verdict& verdict, std::optional<std::uint64_t> step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

NodeSet node_set(const nlohmann::json& list) {
  NodeSet set;
  for (const auto& one : list) set.insert({one.get<std::uint32_t>()});
  return set;
}

}  // namespace

void ScatternetMonitor::see(const Step& step) {
  for (const Item& event : step.events) {
    if (event.type != "Placed") continue;
    const auto told = parse_json<nlohmann::json>(event.content);
    const Node node = {{told.at("leader").get<std::uint32_t>()},
                       node_set(told.at("slaves")),
                       node_set(told.at("masters")),
                       step.number};
    if (!nodes_.emplace(*step.node, node).second)
      violate(placed_, step.number, fmt::format("p{} was told its place twice", step.node->value));
  }
}

void ScatternetMonitor::end(const End&) {
  for (NodeId node : radio_->nodes()) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) {
      violate(placed_, {}, fmt::format("p{} was not told its place", node.value));
    } else {
      check(node, found->second);
    }
  }
  check_connected();
}

void ScatternetMonitor::check(NodeId node, const Node& told) {
  const std::uint32_t slaves = told.slaves.size();
  const std::uint32_t piconets = told.masters.size() + (slaves > 0 ? 1 : 0);
  summary_.leaders += told.leader == node ? 1 : 0;
  summary_.piconets += slaves > 0 ? 1 : 0;
  summary_.bridges += piconets > 1 ? 1 : 0;
  summary_.links += slaves;
  summary_.most_slaves = std::max(summary_.most_slaves, slaves);
  summary_.most_piconets = std::max(summary_.most_piconets, piconets);
  if (slaves > most_slaves)
    violate(degree_, told.step,
            fmt::format("p{} has {} slaves, more than {}", node.value, slaves, most_slaves));

  const auto leader = nodes_.find(told.leader);
  if ((told.leader != node && !told.masters.contains(told.leader)) || leader == nodes_.end() ||
      leader->second.leader != told.leader)
    violate(led_, told.step,
            fmt::format("p{} follows p{}, which is no leader of it", node.value, told.leader.value));

  const auto in_range = radio_->neighbours(node);
  const auto compare = [&](const NodeSet& ours, NodeSet Node::*theirs, const char* role) {
    for (NodeId other : ours) {
      const auto found = nodes_.find(other);
      if (found == nodes_.end() || !(found->second.*theirs).contains(node))
        violate(agreed_, told.step,
                fmt::format("p{} takes p{} for its {}, and p{} does not agree", node.value, other.value, role,
                            other.value));
      if (!std::ranges::binary_search(in_range, other))
        violate(agreed_, told.step,
                fmt::format("p{} has a link to p{} out of its range", node.value, other.value));
    }
  };
  compare(told.slaves, &Node::masters, "slave");
  compare(told.masters, &Node::slaves, "master");
}

void ScatternetMonitor::check_connected() {
  std::map<NodeId, NodeId> part;  // by the least node of each
  for (const auto& [start, told] : nodes_) {
    std::vector<NodeId> to_visit = {start};
    while (!to_visit.empty()) {
      const NodeId node = to_visit.back();
      to_visit.pop_back();
      const auto found = nodes_.find(node);
      if (found == nodes_.end() || !part.emplace(node, start).second) continue;
      to_visit.insert(to_visit.end(), found->second.slaves.begin(), found->second.slaves.end());
      to_visit.insert(to_visit.end(), found->second.masters.begin(), found->second.masters.end());
    }
  }
  // It is enough to look at neighbours: a way by radio is a chain of them.
  for (const auto& [node, least] : part) {
    for (NodeId neighbour : radio_->neighbours(node)) {
      const auto found = part.find(neighbour);
      if (found != part.end() && found->second != least)
        violate(connected_, nodes_.at(node).step,
                fmt::format("p{} and p{} are in range, and no chain of links joins them", node.value,
                            neighbour.value));
    }
  }
}

std::vector<Fact> ScatternetMonitor::facts() const {
  return {
      {"radio", fmt::format("{} nodes, {} pairs in range", radio_->nodes().size(), radio_->edges()),
       fmt::format(R"({{"nodes":{},"edges":{}}})", radio_->nodes().size(), radio_->edges())},
      {"leaders",
       fmt::format("{} elected, {} piconets with the bridges' own", summary_.leaders, summary_.piconets),
       fmt::format(R"({{"leaders":{},"piconets":{}}})", summary_.leaders, summary_.piconets)},
      {"bridges",
       fmt::format("{} nodes in several piconets, at most {}", summary_.bridges, summary_.most_piconets),
       fmt::format(R"({{"bridges":{},"most_piconets":{}}})", summary_.bridges, summary_.most_piconets)},
      {"links", fmt::format("{}, at most {} slaves a master", summary_.links, summary_.most_slaves),
       fmt::format(R"({{"links":{},"most_slaves":{}}})", summary_.links, summary_.most_slaves)},
  };
}

}  // namespace conclave::trace
