// What consensus promises, for the checker. The same five properties as in the monitor of traces:
//
//   termination  every correct process has decided by the end of the run
//   agreement    all correct processes decide the same value, and none changes its mind
//   integrity    if all correct processes that proposed anything proposed v, no correct process decides
//                anything but v
//   validity     what a correct process decides was proposed by somebody before
//   uniform      agreement also with those who decided and crashed later
//
// Correct is who is no traitor and is not down: at the end of the run, which may be here. Only integrity has
// to wait for the end, because a proposal still to come may be another one.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/judge.hpp"
#include "protocols/consensus/spec.hpp"

namespace conclave::consensus {

struct Judge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool termination = false;
    bool agreement = false;
    bool integrity = false;
    bool validity = false;
    bool uniform = false;
    bool operator==(const Asked&) const = default;
  };

  Asked asked = {};
  NodeSet members = {};
  NodeSet traitors = {};  // faulty from the beginning, whatever they say; set by who knows them
  NodeSet down = {};
  std::map<NodeId, Value> proposals = {};  // integrity and validity
  std::map<NodeId, Value> decisions = {};  // the first of each process that is no traitor
  std::vector<Wrong> complaints = {};
  bool operator==(const Judge&) const = default;

  static std::vector<std::string> properties() {
    return {"termination", "agreement", "integrity", "validity", "uniform"};
  }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command&) { return true; }

  static Judge start(const NodeSet& all, const std::vector<std::string>& properties) {
    return {.asked = {.termination = asks_for(properties, "termination"),
                      .agreement = asks_for(properties, "agreement"),
                      .integrity = asks_for(properties, "integrity"),
                      .validity = asks_for(properties, "validity"),
                      .uniform = asks_for(properties, "uniform")},
            .members = all};
  }

  void on_command(NodeId node, const Command& command, const Past&) {
    if (asked.integrity || asked.validity) proposals[node] = std::get<Propose>(command).value;
  }

  void on_event(NodeId node, const Event& event) {
    if (traitors.contains(node)) return;
    const Value value = std::get<Decided>(event).value;
    const auto [first, fresh] = decisions.try_emplace(node, value);
    if (!fresh) return keep_to(node, first->second, value);
    compare(node);
    if (asked.validity && !proposed(value))
      complaints.push_back(
          {"validity", in_words(node) + " decided " + std::to_string(value) + ", which nobody proposed"});
  }

  void on_crash(NodeId node) { down.insert(node); }
  // Who comes back is correct again, and may have decided what nobody else has.
  void on_recover(NodeId node) {
    down.erase(node);
    if (decisions.contains(node)) compare(node);
  }

  std::vector<Wrong> wrong() const { return complaints; }

  std::vector<Wrong> at_end(std::span<const Last<Client>>) const {
    std::vector<Wrong> wrongs;
    if (asked.termination) {
      NodeSet undecided;
      for (NodeId node : members) {
        if (correct(node) && !decisions.contains(node)) undecided.insert(node);
      }
      if (!undecided.empty()) wrongs.push_back({"termination", in_words(undecided) + " never decided"});
    }
    if (asked.integrity) judge_integrity(wrongs);
    return wrongs;
  }

  static std::vector<std::string_view> sometimes() { return {"somebody decides"}; }
  std::uint32_t seen() const { return decisions.empty() ? 0u : 1u; }

  bool correct(NodeId node) const { return !traitors.contains(node) && !down.contains(node); }

  bool proposed(Value value) const {
    return std::ranges::any_of(proposals, [value](const auto& proposal) { return proposal.second == value; });
  }

  void keep_to(NodeId node, Value before, Value now) {
    if (before == now) return;
    const std::string why =
        in_words(node) + " decided " + std::to_string(before) + ", then " + std::to_string(now);
    if (asked.agreement) complaints.push_back({"agreement", why});
    if (asked.uniform) complaints.push_back({"uniform", why});
  }

  // This decision with those of all others, which have been compared among themselves.
  void compare(NodeId node) {
    const Value mine = decisions.at(node);
    std::optional<NodeId> any_other;
    std::optional<NodeId> correct_other;
    for (const auto& [other, theirs] : decisions) {
      if (theirs == mine) continue;
      if (!any_other) any_other = other;
      if (!correct_other && correct(other)) correct_other = other;
    }
    const auto against = [&](NodeId other) {
      return in_words(other) + " decided " + std::to_string(decisions.at(other)) + " and " + in_words(node) +
             " decided " + std::to_string(mine);
    };
    if (asked.agreement && correct_other) complaints.push_back({"agreement", against(*correct_other)});
    if (asked.uniform && any_other) complaints.push_back({"uniform", against(*any_other)});
  }

  void judge_integrity(std::vector<Wrong>& wrongs) const {
    std::optional<Value> only;
    for (const auto& [node, value] : proposals) {
      if (!correct(node)) continue;
      if (only && *only != value) return;
      only = value;
    }
    if (!only) return;
    for (const auto& [node, value] : decisions) {
      if (correct(node) && value != *only)
        return wrongs.push_back({"integrity", "every correct process proposed " + std::to_string(*only) +
                                                  ", and " + in_words(node) + " decided " +
                                                  std::to_string(value)});
    }
  }
};
static_assert(FamilyJudge<Judge>);

}  // namespace conclave::consensus
