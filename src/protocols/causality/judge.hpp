// What a global snapshot promises, for the checker. Two of the three properties of the monitor of traces:
//
//   conserved  balances and money under way in a snapshot add up to what there was at the start
//   complete   every snapshot that was begun was finished by everybody, by the end of the run
//
// The third, that the recorded states lie on a consistent cut, asks for the pasts of events. A payment that
// crosses an inconsistent cut backwards is counted twice, so `conserved` finds the cuts that falsify a sum.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/judge.hpp"
#include "protocols/causality/spec.hpp"

namespace conclave::causality {

struct Judge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool conserved = false;
    bool complete = false;
    bool operator==(const Asked&) const = default;
  };
  struct Snapshot {
    NodeSet completed_by = {};
    std::uint64_t counted = 0;  // conserved: so far, in purses and under way
    bool operator==(const Snapshot&) const = default;
  };

  Asked asked = {};
  NodeSet members = {};
  std::uint64_t total = 0;  // the money of all at the start; set by who knows it
  std::map<SnapshotId, Snapshot> under_way = {};
  bool any_complete = false;
  std::vector<Wrong> complaints = {};
  bool operator==(const Judge&) const = default;

  static std::vector<std::string> properties() { return {"conserved", "complete"}; }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command&) { return true; }

  static Judge start(const NodeSet& all, const std::vector<std::string>& properties) {
    return {.asked = {.conserved = asks_for(properties, "conserved"),
                      .complete = asks_for(properties, "complete")},
            .members = all};
  }

  void on_command(NodeId, const Command&, const Past&) {}

  void on_event(NodeId node, const Event& event) {
    if (const auto* recorded = std::get_if<Recorded>(&event)) {
      count(recorded->snapshot, recorded->balance);
      return;
    }
    const auto& completed = std::get<Completed>(event);
    Snapshot& snapshot = count(completed.snapshot, completed.in_transit);
    snapshot.completed_by.insert(node);
    if (snapshot.completed_by.size() < members.size()) return;
    any_complete = true;
    if (asked.conserved && snapshot.counted != total)
      complaints.push_back({"conserved", named(completed.snapshot) + " counts " +
                                             std::to_string(snapshot.counted) + " where there are " +
                                             std::to_string(total)});
    under_way.erase(completed.snapshot);
  }

  void on_crash(NodeId) {}
  void on_recover(NodeId) {}

  std::vector<Wrong> wrong() const { return complaints; }

  std::vector<Wrong> at_end(std::span<const Last<Client>>) const {
    std::vector<Wrong> wrongs;
    if (!asked.complete) return wrongs;
    for (const auto& [id, snapshot] : under_way) {
      NodeSet missing = members;
      for (NodeId node : snapshot.completed_by) missing.erase(node);
      wrongs.push_back({"complete", named(id) + " was not finished by " + in_words(missing)});
    }
    return wrongs;
  }

  static std::vector<std::string_view> sometimes() { return {"a snapshot is complete"}; }
  std::uint32_t seen() const { return any_complete ? 1u : 0u; }

  Snapshot& count(const SnapshotId& id, std::uint64_t money) {
    Snapshot& snapshot = under_way[id];
    if (asked.conserved) snapshot.counted += money;
    return snapshot;
  }

  static std::string named(const SnapshotId& id) {
    return "snapshot " + std::to_string(id.number) + " of " + in_words(id.initiator);
  }
};
static_assert(FamilyJudge<Judge>);

}  // namespace conclave::causality
