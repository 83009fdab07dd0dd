#include "trace/election_monitor.hpp"

#include <fmt/format.h>

#include "trace/mutex_monitor.hpp"

namespace conclave::trace {

void ElectionMonitor::begin(const Header& header) {
  for (NodeId node : header.nodes) process(node);
}

ElectionMonitor::Process& ElectionMonitor::process(NodeId node) {
  const auto [place, is_new] = processes_.try_emplace(node);
  if (is_new) ++live_;
  return place->second;
}

bool ElectionMonitor::is_up(NodeId node) const {
  const auto found = processes_.find(node);
  return found != processes_.end() && found->second.up;
}

std::optional<NodeId> ElectionMonitor::elected(NodeId node) const {
  const auto found = processes_.find(node);
  return found == processes_.end() ? std::nullopt : found->second.elected;
}

void ElectionMonitor::violate(Verdict& verdict, std::uint64_t step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

void ElectionMonitor::see(const Step& step) {
  if (!step.node) return;
  if (step.kind == Kind::tell || step.kind == Kind::hear) return;
  if (step.kind == Kind::command && step.input.type == "Start") ++summary_.started;
  if (step.kind == Kind::crash) crash(*step.node);
  if (step.kind == Kind::recover) recover(*step.node);
  for (const Sent& sent : step.sends) {
    ++summary_.sent[sent.what.type];
    ++summary_.messages;
  }
  for (const Item& event : step.events) {
    if (event.type == "Participating") {
      Process& here = process(*step.node);
      here.took_part = true;
      here.step = step.number;
      summary_.participants.insert(*step.node);
      set_elected(here, std::nullopt);
    } else if (event.type == "Elected") {
      if (const auto leader = number_field(event.content, "leader"))
        hear_of(step, {static_cast<std::uint32_t>(*leader)});
    }
  }
  note_agreement(step);
}

void ElectionMonitor::set_elected(Process& process, std::optional<NodeId> leader) {
  if (process.elected) {
    const auto found = followers_.find(*process.elected);
    if (--found->second == 0) followers_.erase(found);
  }
  process.elected = leader;
  if (leader) ++followers_[*leader];
}

void ElectionMonitor::crash(NodeId node) {
  Process& dead = process(node);
  if (!dead.up) return;
  set_elected(dead, std::nullopt);
  dead = {.up = false};
  summary_.participants.erase(node);
  --live_;
  if (agreed_once_ && newest_ == node) newest_has_failed_ = true;
}

void ElectionMonitor::recover(NodeId node) {
  Process& back = process(node);
  if (back.up) return;
  back.up = true;
  ++live_;
}

void ElectionMonitor::hear_of(const Step& step, NodeId leader) {
  Process& here = process(*step.node);
  here.step = step.number;
  if (step.kind != Kind::start) {
    here.took_part = true;
    summary_.participants.insert(*step.node);
  }
  set_elected(here, leader);
  if (!agreed_once_ || leader == newest_) return;
  ++summary_.leader_changes;
  if (!newest_has_failed_) {
    ++summary_.needless_changes;
    violate(
        stability_, step.number,
        fmt::format("p{} turned to p{} although p{} works", step.node->value, leader.value, newest_.value));
  }
  newest_ = leader;
  newest_has_failed_ = !is_up(leader);
}

void ElectionMonitor::note_agreement(const Step& step) {
  const bool agree = followers_.size() == 1 && followers_.begin()->second == live_;
  if (agree && !agreed_) {
    summary_.agreed_at = step.at;
    if (!agreed_once_) {
      agreed_once_ = true;
      newest_ = followers_.begin()->first;
      newest_has_failed_ = !is_up(newest_);
    }
  }
  agreed_ = agree;
}

void ElectionMonitor::end(const End&) {
  if (agreed_) summary_.leader = followers_.begin()->first;
  std::optional<NodeId> greatest;
  for (const auto& [node, here] : processes_) {
    if (here.up) greatest = node;
  }
  if (!greatest) return;  // nobody is left whom anything could be asked of
  const bool any_election = summary_.started > 0 || !summary_.participants.empty();
  std::optional<std::pair<NodeId, NodeId>> first_opinion;  // who, whom
  for (const auto& [node, here] : processes_) {
    if (!here.up) continue;
    if (!here.elected) {
      if (any_election) violate(e2_, here.step, fmt::format("p{} ends without a leader", node.value));
      continue;
    }
    const NodeId leader = *here.elected;
    if (winner_ == Winner::greatest_live && here.took_part && leader != *greatest)
      violate(e1_, here.step,
              fmt::format("p{} elected p{}, but the greatest live process is p{}", node.value, leader.value,
                          greatest->value));
    if (winner_ == Winner::any_live && here.took_part && !is_up(leader))
      violate(e1_, here.step, fmt::format("p{} elected p{}, which is down", node.value, leader.value));
    if (!first_opinion) first_opinion.emplace(node, leader);
    if (leader == first_opinion->second) continue;
    const std::string why = fmt::format("p{} follows p{}, and p{} follows p{}", first_opinion->first.value,
                                        first_opinion->second.value, node.value, leader.value);
    violate(agreement_, here.step, why);
    if (winner_ == Winner::any_live && here.took_part) violate(e1_, here.step, why);
  }
}

std::vector<Fact> ElectionMonitor::facts() const {
  const auto number = [](const char* name, std::uint64_t value) {
    return Fact{name, std::to_string(value), std::to_string(value)};
  };
  const auto& leader = summary_.leader;
  return {{"leader", leader ? fmt::format("p{}", leader->value) : "none that all agree on",
           leader ? std::to_string(leader->value) : "null"},
          number("elections", summary_.started),
          {"messages_per_election", fmt::format("{:.2f}", summary_.per_election()),
           fmt::format("{:.4f}", summary_.per_election())},
          number("participants", summary_.participants.size()),
          number("leader_changes", summary_.leader_changes)};
}

}  // namespace conclave::trace
