#include "trace/overlay_monitor.hpp"

#include <fmt/format.h>

#include "trace/mutex_monitor.hpp"

namespace conclave::trace {
namespace {

void violate(Verdict& verdict, std::optional<std::uint64_t> step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

}  // namespace

void OverlayMonitor::see(const Step& step) {
  summary_.messages += step.sends.size();
  for (const Item& event : step.events) {
    const auto superpeer = number_field(event.content, "superpeer");
    const auto hops = number_field(event.content, "hops");
    if (event.type != "Joined" || !superpeer || !hops) continue;
    const Place place = {
        {static_cast<std::uint32_t>(*superpeer)}, static_cast<std::uint32_t>(*hops), step.number};
    if (!places_.emplace(*step.node, place).second)
      violate(attached_, step.number, fmt::format("p{} was told twice where it belongs", step.node->value));
  }
}

void OverlayMonitor::end(const End&) {
  sum_up();
  for (NodeId node : graph_->nodes()) {
    const auto found = places_.find(node);
    if (found == places_.end()) {
      violate(attached_, {}, fmt::format("p{} was not told where it belongs", node.value));
    } else {
      check(node, found->second);
    }
  }
  compare_with_claims();
}

void OverlayMonitor::sum_up() {
  std::uint64_t hops = 0;
  for (const auto& [node, place] : places_) {
    if (place.superpeer == node) summary_.superpeers.insert(node);
    if (place.superpeer != node) ++summary_.peers[place.superpeer];
    summary_.worst_hops = std::max(summary_.worst_hops, place.hops);
    hops += place.hops;
  }
  if (!places_.empty()) summary_.mean_hops = static_cast<double>(hops) / static_cast<double>(places_.size());
  summary_.least_peers = summary_.superpeers.empty() ? 0 : UINT32_MAX;
  for (NodeId superpeer : summary_.superpeers) {
    const std::uint32_t peers = summary_.peers[superpeer];
    summary_.most_peers = std::max(summary_.most_peers, peers);
    summary_.least_peers = std::min(summary_.least_peers, peers);
  }
}

// Looks at the node and its neighbours only.
void OverlayMonitor::check(NodeId node, const Place& place) {
  const bool serves = place.superpeer == node;
  if (serves != (place.hops == 0))
    return violate(
        attached_, place.step,
        fmt::format("p{} belongs to p{}, {} hops away", node.value, place.superpeer.value, place.hops));
  bool way = serves;
  std::optional<NodeId> least;  // superpeer of those neighbours that are nearer
  for (NodeId neighbour : graph_->neighbours(node)) {
    const auto found = places_.find(neighbour);
    if (found == places_.end()) continue;
    const Place& theirs = found->second;
    if (theirs.hops + 1 < place.hops)
      violate(nearest_, place.step,
              fmt::format("p{} is {} hops from p{}, but its neighbour p{} has only {} hops to p{}",
                          node.value, place.hops, place.superpeer.value, neighbour.value, theirs.hops,
                          theirs.superpeer.value));
    if (theirs.hops + 1 != place.hops) continue;
    way = way || theirs.superpeer == place.superpeer;
    least = std::min(least.value_or(theirs.superpeer), theirs.superpeer);
  }
  if (!way)
    violate(attached_, place.step,
            fmt::format("p{} belongs to p{}, but there is no way of {} hops", node.value,
                        place.superpeer.value, place.hops));
  if (least && *least < place.superpeer)
    violate(nearest_, place.step,
            fmt::format("p{} belongs to p{}, although p{} is as near", node.value, place.superpeer.value,
                        least->value));
}

void OverlayMonitor::compare_with_claims() {
  const std::uint32_t count = summary_.superpeers.size();
  if (claims_.hops && summary_.worst_hops > claims_.hops->most)
    violate(access_, {},
            fmt::format("somebody has {} hops to go, more than {}: {}", summary_.worst_hops,
                        claims_.hops->most, claims_.hops->why));
  if (claims_.superpeers && count > claims_.superpeers->most)
    violate(share_, {},
            fmt::format("{} superpeers, more than {}: {}", count, claims_.superpeers->most,
                        claims_.superpeers->why));
  if (claims_.exactly && count != *claims_.exactly)
    violate(share_, {}, fmt::format("{} superpeers instead of {}", count, *claims_.exactly));
  if (claims_.peers && summary_.most_peers > claims_.peers->most)
    violate(load_, {},
            fmt::format("a superpeer serves {} peers, more than {}: {}", summary_.most_peers,
                        claims_.peers->most, claims_.peers->why));
}

std::vector<Fact> OverlayMonitor::facts() const {
  const std::uint32_t count = summary_.superpeers.size();
  const std::uint32_t nodes = graph_->nodes().size();
  const auto per_edge =
      static_cast<double>(summary_.messages) / static_cast<double>(std::max<std::size_t>(1, graph_->edges()));
  return {
      {"graph", fmt::format("{} nodes, {} edges", nodes, graph_->edges()),
       fmt::format(R"({{"nodes":{},"edges":{}}})", nodes, graph_->edges())},
      {"superpeers",
       fmt::format("{} of {} nodes ({:.1f} %)", count, nodes, 100.0 * count / std::max(1u, nodes)),
       std::to_string(count)},
      {"access", fmt::format("at most {} hops, {:.2f} on average", summary_.worst_hops, summary_.mean_hops),
       fmt::format(R"({{"worst_hops":{},"mean_hops":{:.4f}}})", summary_.worst_hops, summary_.mean_hops)},
      {"distribution", fmt::format("{} to {} peers a superpeer", summary_.least_peers, summary_.most_peers),
       fmt::format(R"({{"least_peers":{},"most_peers":{}}})", summary_.least_peers, summary_.most_peers)},
      {"messages per edge", fmt::format("{:.2f}", per_edge), fmt::format("{:.4f}", per_edge)},
  };
}

}  // namespace conclave::trace
