#include "trace/snapshot_monitor.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace conclave::trace {

void SnapshotMonitor::see(const Step& step) {
  for (const Sent& sent : step.sends) {
    if (sent.what.type == "Marker") ++markers_;
  }
  for (const Item& event : step.events) {
    const auto content = nlohmann::json::parse(event.content, nullptr, false);
    if (!content.is_object() || !content.contains("snapshot")) continue;
    const std::string name = content["snapshot"].dump();
    Snapshot& snapshot = under_way_[name];
    snapshot.last_step = step.number;
    if (event.type == "Recorded") {
      snapshot.frontier[*step.node] = step.vector;
      snapshot.balances += content.value("balance", std::uint64_t{0});
    } else if (event.type == "Completed") {
      snapshot.in_transit += content.value("in_transit", std::uint64_t{0});
      if (++snapshot.completed < members_.size()) continue;
      judge(name, snapshot);
      under_way_.erase(name);
    }
  }
}

void SnapshotMonitor::judge(const std::string& name, const Snapshot& snapshot) {
  ++finished_;
  if (snapshot.in_transit > 0) ++with_money_under_way_;
  const std::uint64_t counted = snapshot.balances + snapshot.in_transit;
  if (counted != money_ && conserved_.holds)
    conserved_ = {"conserved", false,
                  fmt::format("snapshot {} counts {} where there are {}", name, counted, money_),
                  snapshot.last_step};
  if (!with_vectors_) return;
  for (const auto& [one, vector] : snapshot.frontier) {
    for (const auto& [other, others] : snapshot.frontier) {
      if (one == other || vector[one] >= others[one] || !cut_.holds) continue;
      cut_ = {"cut", false,
              fmt::format("in snapshot {} process {} knows of what process {} did after its own state was "
                          "recorded",
                          name, other.value, one.value),
              snapshot.last_step};
    }
  }
}

void SnapshotMonitor::end(const End& end) {
  if (under_way_.empty()) return;
  complete_ = {"complete", false,
               fmt::format("snapshot {} was not finished by everybody{}", under_way_.begin()->first,
                           end.quiet ? ", and nothing is under way" : ""),
               under_way_.begin()->second.last_step};
}

std::vector<Fact> SnapshotMonitor::facts() const {
  const double each = finished_ == 0 ? 0 : static_cast<double>(markers_) / static_cast<double>(finished_);
  return {{"snapshots", fmt::format("{}, {} with money under way", finished_, with_money_under_way_),
           std::to_string(finished_)},
          {"markers per snapshot", fmt::format("{:g}", each), fmt::format("{}", each)}};
}

}  // namespace conclave::trace
