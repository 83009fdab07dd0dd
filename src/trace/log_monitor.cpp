#include "trace/log_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conclave::trace {
namespace {

void violate(Verdict& verdict, std::uint64_t step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

}  // namespace

void LogMonitor::see(const Step& step) {
  if (step.kind == Kind::command && step.input.type == "Propose") propose(step);
  if (step.kind == Kind::crash) pending_.erase(*step.node);  // nobody waits for it any more
  if (step.kind == Kind::recover) readers_[*step.node].came_back = true;
  if (step.kind != Kind::tell) {
    for (const Sent& sent : step.sends) {
      ++summary_.sent[sent.what.type];
      ++summary_.messages;
    }
  }
  for (const Item& event : step.events) {
    if (event.type == "Committed") commit(step, event);
    if (event.type == "Leading") summary_.leaders.push_back(*step.node);
  }
}

void LogMonitor::propose(const Step& step) {
  const Command command = {step.node->value, number_field(step.input.content, "serial").value_or(0),
                           number_field(step.input.content, "value").value_or(0)};
  ++summary_.proposals;
  proposed_.try_emplace(command, 0);
  pending_[*step.node] = {command, step.at, step.number};
}

void LogMonitor::commit(const Step& step, const Item& committed) {
  const std::uint64_t index = number_field(committed.content, "index").value_or(0);
  std::optional<Command> command;
  if (const auto client = number_field(committed.content, "client"))
    command = Command{*client, number_field(committed.content, "serial").value_or(0),
                      number_field(committed.content, "value").value_or(0)};
  keep_order(step, index);
  place(step, index, command);
  const auto waiting = pending_.find(*step.node);
  if (waiting == pending_.end() || command != waiting->second.command) return;
  const std::uint64_t delay = (step.at - waiting->second.at).count;
  summary_.delay.add(delay);
  summary_.delay_of[*step.node].add(delay);
  pending_.erase(waiting);
}

void LogMonitor::keep_order(const Step& step, std::uint64_t index) {
  Reader& reader = readers_[*step.node];
  const bool again = std::exchange(reader.came_back, false) && index >= 1 && index <= reader.last;
  if (index != reader.last + 1 && !again)
    violate(order_, step.number,
            fmt::format("p{} announced place {} after place {}", step.node->value, index, reader.last));
  reader.last = index;
}

void LogMonitor::place(const Step& step, std::uint64_t index, const std::optional<Command>& command) {
  const auto say = [](const std::optional<Command>& what) {
    return what ? fmt::format("command {} of p{}", what->serial, what->client) : std::string("nothing");
  };
  const auto [there, fresh] = log_.try_emplace(index, Place{command, *step.node});
  if (!fresh) {
    if (there->second.command != command)
      violate(agreement_, step.number,
              fmt::format("at place {} p{} has {} and p{} has {}", index, there->second.by.value,
                          say(there->second.command), step.node->value, say(command)));
    return;
  }
  summary_.length = std::max(summary_.length, index);
  if (!command) return;
  const auto proposal = proposed_.find(*command);
  if (proposal == proposed_.end())
    return violate(integrity_, step.number,
                   fmt::format("{} is at place {}, and nobody proposed it", say(command), index));
  if (proposal->second != 0)
    return violate(integrity_, step.number,
                   fmt::format("{} is at place {} and at place {}", say(command), proposal->second, index));
  proposal->second = index;
  ++summary_.commands;
}

void LogMonitor::end(const End&) {
  if (pending_.empty()) return;
  const auto& [node, first] = *pending_.begin();
  violate(termination_, first.step,
          fmt::format("p{} proposed its command {}, and never saw it in the log{}", node.value,
                      first.command.serial,
                      pending_.size() > 1 ? fmt::format("; {} others wait too", pending_.size() - 1) : ""));
}

std::vector<Fact> LogMonitor::facts() const {
  const double each = summary_.commands == 0
                          ? 0.0
                          : static_cast<double>(summary_.messages) / static_cast<double>(summary_.commands);
  std::string json;
  for (NodeId leader : summary_.leaders) json += fmt::format("{}{}", json.empty() ? "" : ",", leader.value);
  std::string text;
  for (NodeId leader : summary_.leaders) {
    if (text.size() < 40) text += fmt::format("{}p{}", text.empty() ? "" : ", ", leader.value);
  }
  if (summary_.leaders.size() > 10) text = fmt::format("{} times, first {}", summary_.leaders.size(), text);
  return {
      {"commands",
       fmt::format("{} of {} proposed, at {} places", summary_.commands, summary_.proposals, summary_.length),
       std::to_string(summary_.commands)},
      {"messages_per_command", fmt::format("{:.1f}", each), fmt::format("{:.4f}", each)},
      {"delay", fmt::format("{:.1f} ticks from proposal to commit", summary_.delay.mean()),
       fmt::format("{:.4f}", summary_.delay.mean())},
      {"leaders", text.empty() ? "nobody" : text, fmt::format("[{}]", json)}};
}

}  // namespace conclave::trace
