#include "trace/consensus_monitor.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace conclave::trace {
namespace {

// Of {"value":-3}.
std::optional<std::int64_t> value_in(std::string_view object) {
  constexpr std::string_view key = "\"value\":";
  const std::size_t at = object.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto result = std::from_chars(object.data() + at + key.size(), object.data() + object.size(), value);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

void violate(Verdict& verdict, std::optional<std::uint64_t> step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

std::string list(const NodeSet& nodes) {
  constexpr std::size_t most_named = 7;
  std::string who;
  std::size_t named = 0;
  for (NodeId node : nodes) {
    if (++named <= most_named) who += fmt::format("{}p{}", who.empty() ? "" : ", ", node.value);
  }
  if (named > most_named) who += fmt::format(" and {} more", named - most_named);
  return who;
}

}  // namespace

void ConsensusMonitor::see(const Step& step) {
  if (step.kind == Kind::round)
    std::from_chars(step.input.type.data(), step.input.type.data() + step.input.type.size(), round_);
  if (step.kind == Kind::crash) down_.insert(*step.node);
  if (step.kind == Kind::recover) down_.erase(*step.node);
  if (step.kind == Kind::command && step.input.type == "Propose") {
    if (const auto value = value_in(step.input.content)) summary_.proposals[*step.node] = *value;
  }
  if (step.kind != Kind::tell) {
    for (const Sent& sent : step.sends) {
      ++summary_.sent[sent.what.type];
      ++summary_.messages;
    }
  }
  for (const Item& event : step.events) {
    if (event.type != "Decided") continue;
    if (const auto value = value_in(event.content)) decide(step, *value);
  }
}

void ConsensusMonitor::decide(const Step& step, std::int64_t value) {
  const NodeId node = *step.node;
  const auto [first, fresh] = summary_.decisions.try_emplace(node, Decision{value, step.at, step.number});
  if (fresh && round_ > 0) {
    first->second.round = round_ - 1;  // what is decided when a round begins is decided in the one before
    if (!traitors_.contains(node)) summary_.rounds = round_ - 1;
  }
  if (fresh || first->second.value == value || traitors_.contains(node)) return;
  const std::string why = fmt::format("p{} decided {}, then {}", node.value, first->second.value, value);
  violate(agreement_, step.number, why);
  violate(uniform_, step.number, why);
}

void ConsensusMonitor::judge_agreement(Verdict& verdict, bool with_crashed) const {
  const std::pair<const NodeId, Decision>* reference = nullptr;
  for (const auto& decision : summary_.decisions) {
    const NodeId node = decision.first;
    if (traitors_.contains(node) || (down_.contains(node) && !with_crashed)) continue;
    if (!reference) reference = &decision;
    if (decision.second.value == reference->second.value) continue;
    violate(verdict, std::max(decision.second.step, reference->second.step),
            fmt::format("p{} decided {} and p{} decided {}", reference->first.value, reference->second.value,
                        node.value, decision.second.value));
  }
}

void ConsensusMonitor::judge_integrity() {
  std::set<std::int64_t> proposed;
  for (const auto& [node, value] : summary_.proposals) {
    if (correct(node)) proposed.insert(value);
  }
  if (proposed.size() != 1) return;
  for (const auto& [node, decision] : summary_.decisions) {
    if (correct(node) && decision.value != *proposed.begin())
      violate(integrity_, decision.step,
              fmt::format("every correct process proposed {}, and p{} decided {}", *proposed.begin(),
                          node.value, decision.value));
  }
}

void ConsensusMonitor::judge_validity() {
  std::set<std::int64_t> proposed;
  for (const auto& [node, value] : summary_.proposals) proposed.insert(value);
  for (const auto& [node, decision] : summary_.decisions) {
    if (correct(node) && !proposed.contains(decision.value))
      violate(validity_, decision.step,
              fmt::format("p{} decided {}, which nobody proposed", node.value, decision.value));
  }
}

void ConsensusMonitor::end(const End&) {
  for (NodeId node : members_) {
    if (correct(node) && !summary_.decisions.contains(node)) summary_.undecided.insert(node);
  }
  if (!summary_.undecided.empty())
    violate(termination_, std::nullopt, fmt::format("{} never decided", list(summary_.undecided)));
  judge_agreement(agreement_, false);
  judge_agreement(uniform_, true);
  judge_integrity();
  judge_validity();
}

std::vector<Fact> ConsensusMonitor::facts() const {
  std::map<std::int64_t, NodeSet> by_value;
  for (const auto& [node, decision] : summary_.decisions) {
    if (!traitors_.contains(node)) by_value[decision.value].insert(node);
  }
  std::string text;
  std::string json = "{";
  for (const auto& [value, nodes] : by_value) {
    text += fmt::format("{}{} by {}", text.empty() ? "" : "; ", value, nodes.size());
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", value, nodes.size());
  }
  if (!summary_.undecided.empty())
    text += fmt::format("{}undecided {}", text.empty() ? "" : "; ", list(summary_.undecided));
  std::vector<Fact> facts = {{"decided", text.empty() ? "nothing" : text, json + "}"}};
  if (summary_.rounds > 0)
    facts.push_back({"rounds", std::to_string(summary_.rounds), std::to_string(summary_.rounds)});
  return facts;
}

}  // namespace conclave::trace
