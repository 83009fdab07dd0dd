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

std::string_view state_in(std::string_view content) {
  constexpr std::string_view key = "\"state\":\"";
  const std::size_t begin = content.find(key);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = content.substr(begin + key.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

// Between real processes ticks are microseconds of somebody's clock, disks take what they take, and a run is
// over when its processes are stopped: nothing is demanded of time, and who waits in the end waits for
// nothing.
void LogMonitor::begin(const Header& header) {
  prompt_reads_.begin(header);
  prompt_news_.begin(header);
  if (header.world != "live") return;
  second_act_.progress_within = {};
  is_cut_off_ = true;
}

void LogMonitor::see(const Step& step) {
  prompt_reads_.see(step);
  prompt_news_.see(step);
  await_progress(step.at);
  if (step.kind == Kind::command && step.input.type == "Propose") propose(step);
  if (step.kind == Kind::command && step.input.type == "Read")
    asked_[*step.node][number_field(step.input.content, "serial").value_or(0)] = {summary_.length,
                                                                                  step.number};
  if (step.kind == Kind::command && step.input.type == "Capture")
    captured_[*step.node] = readers_[*step.node].last;
  if (step.kind == Kind::command && step.input.type == "Compact")
    keep_state(step, captured_[*step.node], state_in(step.input.content));
  if (step.kind == Kind::crash) {  // nobody waits for it any more
    pending_.erase(*step.node);
    asked_.erase(*step.node);
  }
  if (step.kind == Kind::recover) readers_[*step.node].came_back = true;
  if (step.kind != Kind::tell) {
    for (const Sent& sent : step.sends) {
      ++summary_.sent[sent.what.type];
      ++summary_.messages;
    }
  }
  for (const Item& event : step.events) {
    if (event.type == "Committed") commit(step, event);
    if (event.type == "Leading") lead(step, number_field(event.content, "term").value_or(0));
    if (event.type == "Readable") read(step, event);
    if (event.type == "Restored") restore(step, event);
    if (event.type == "Taken") take(*step.node, number_field(event.content, "serial").value_or(0));
  }
}

void LogMonitor::lead(const Step& step, std::uint64_t term) {
  summary_.leaders.push_back(*step.node);
  const auto [known, fresh] = leaders_.try_emplace(term, *step.node);
  if (known->second != *step.node)
    violate(election_safety_, step.number,
            fmt::format("p{} and p{} both lead in term {}", known->second.value, step.node->value, term));
}

// Somebody waits, and nothing is in the way any more.
void LogMonitor::await_progress(Ticks now) {
  if (waiting_since_ || now <= second_act_.begins) return;
  const bool anybody =
      std::ranges::any_of(pending_, [](const auto& of_node) { return !of_node.second.empty(); });
  if (anybody) waiting_since_ = now;
}

void LogMonitor::note_progress(Ticks now, std::uint64_t step) {
  if (!waiting_since_ || summary_.idle) return;
  summary_.idle = now - *waiting_since_;
  const Ticks within = second_act_.progress_within;
  if (within.count > 0 && *summary_.idle > within)
    violate(termination_, step,
            fmt::format("once the faults were over, the log did not grow for {} ticks; {} are allowed",
                        summary_.idle->count, within.count));
}

void LogMonitor::propose(const Step& step) {
  const Command command = {step.node->value, number_field(step.input.content, "serial").value_or(0),
                           number_field(step.input.content, "value").value_or(0)};
  ++summary_.proposals;
  proposed_.try_emplace(command, 0);
  pending_[*step.node][command.serial] = {command, step.at, step.number};
}

void LogMonitor::commit(const Step& step, const Item& committed) {
  const std::uint64_t index = number_field(committed.content, "index").value_or(0);
  std::optional<Command> command;
  if (const auto client = number_field(committed.content, "client"))
    command = Command{*client, number_field(committed.content, "serial").value_or(0),
                      number_field(committed.content, "value").value_or(0)};
  keep_order(step, index);
  place(step, index, command);
  if (!command || command->client != step.node->value) return;
  auto& waiting = pending_[*step.node];
  const auto found = waiting.find(command->serial);
  if (found == waiting.end() || command != found->second.command) return;
  const std::uint64_t delay = (step.at - found->second.at).count;
  summary_.delay.add(delay);
  summary_.delay_of[*step.node].add(delay);
  waiting.erase(found);
}

void LogMonitor::read(const Step& step, const Item& readable) {
  ++summary_.reads;
  auto& asked = asked_[*step.node];
  const auto found = asked.find(number_field(readable.content, "serial").value_or(0));
  if (found == asked.end()) return;
  const std::uint64_t index =
      std::min(number_field(readable.content, "index").value_or(0), readers_[*step.node].last);
  if (index < found->second.length)
    violate(fresh_reads_, step.number,
            fmt::format("p{} reads at place {}, and somebody had place {} before it asked", step.node->value,
                        index, found->second.length));
  asked.erase(found);
}

// Commands of its own that a snapshot holds are answered with it.
void LogMonitor::take(NodeId node, std::uint64_t serial) {
  std::erase_if(pending_[node], [&](const auto& waiting) { return waiting.first <= serial; });
}

void LogMonitor::restore(const Step& step, const Item& restored) {
  ++summary_.snapshots;
  const std::uint64_t index = number_field(restored.content, "index").value_or(0);
  readers_[*step.node] = {.last = index};
  summary_.length = std::max(summary_.length, index);
  keep_state(step, index, state_in(restored.content));
}

// Whatever place a state is said to belong to, it is always the same.
void LogMonitor::keep_state(const Step& step, std::uint64_t index, std::string_view state) {
  const auto [known, fresh] = states_.try_emplace(index, state);
  if (known->second != state)
    violate(agreement_, step.number,
            fmt::format("p{} has another state at place {} than somebody else", step.node->value, index));
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
  note_progress(step.at, step.number);
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

void LogMonitor::end(const End& end) {
  if (!is_cut_off_) prompt_reads_.end(end.at);
  if (!is_cut_off_) prompt_news_.end(end.at);
  std::erase_if(pending_, [](const auto& of_node) { return of_node.second.empty(); });
  std::erase_if(asked_, [](const auto& of_node) { return of_node.second.empty(); });
  if (is_cut_off_) return;
  if (!asked_.empty())
    violate(termination_, asked_.begin()->second.begin()->second.step,
            fmt::format("p{} asked to read, and was never told that it may", asked_.begin()->first.value));
  if (pending_.empty()) return;
  const auto& [node, waiting] = *pending_.begin();
  const Pending& first = waiting.begin()->second;
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
