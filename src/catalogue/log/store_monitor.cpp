#include "catalogue/log/store_monitor.hpp"

#include <fmt/format.h>

namespace conclave::catalogue {
namespace {

// Steps are one after the other, even in the same tick: an answer comes after what its step asks.
linear::Time asked_in(const trace::Step& step) { return static_cast<linear::Time>(2 * step.number); }
linear::Time told_in(const trace::Step& step) { return static_cast<linear::Time>(2 * step.number + 1); }

std::string name_of(std::size_t key) { return fmt::format("k{}", key); }

linear::Value as_value(const std::optional<std::uint64_t>& number) {
  return number ? linear::Value(std::to_string(*number)) : std::nullopt;
}

std::uint64_t number(const trace::Item& item, std::string_view field) {
  return trace::number_field(item.content, field).value_or(0);
}

}  // namespace

StoreMonitor::Answer StoreMonitor::Store::apply(const Command& command) {
  std::optional<std::uint64_t>& there = values[command.key()];
  const Answer answer = {there, there == command.wanted()};
  if (!command.swaps() || answer.swapped) there = command.value;
  return answer;
}

void StoreMonitor::see(const trace::Step& step) {
  log_.see(step);
  if (!step.node) return;
  Node& node = nodes_[*step.node];
  if (step.kind == trace::Kind::command && step.input.type == "Propose") propose(step, node);
  if (step.kind == trace::Kind::command && step.input.type == "Read") ask(step, node);
  // Who asked never learns what came of it.
  if (step.kind == trace::Kind::crash) node = {};
  for (const trace::Item& event : step.events) {
    if (event.type == "Committed") commit(step, node, event);
    if (event.type == "Readable") read(step, node, number(event, "serial"));
    if (event.type == "Restored") node.store = store_at(number(event, "index"));
    if (event.type == "Taken") take(step, node, number(event, "serial"));
  }
}

void StoreMonitor::propose(const trace::Step& step, Node& node) {
  const Command command = {step.node->value, number(step.input, "serial"), number(step.input, "value")};
  if (command.serial == 0) return;
  linear::Operation operation = {.process = command.client,
                                 .key = name_of(command.key()),
                                 .kind = command.swaps() ? linear::Kind::swap : linear::Kind::put,
                                 .value = std::to_string(command.value),
                                 .invoked = asked_in(step)};
  if (command.swaps()) operation.wanted = std::to_string(command.wanted());
  node.waiting[command.serial] = history_.size();
  history_.push_back(std::move(operation));
}

void StoreMonitor::ask(const trace::Step& step, Node& node) {
  node.reading[number(step.input, "serial")] = history_.size();
  history_.push_back({.process = step.node->value,
                      .key = name_of(reads_++ % keys),
                      .kind = linear::Kind::get,
                      .invoked = asked_in(step)});
}

void StoreMonitor::commit(const trace::Step& step, Node& node, const trace::Item& committed) {
  std::optional<Command> command;
  if (const auto client = trace::number_field(committed.content, "client"))
    command = Command{*client, number(committed, "serial"), number(committed, "value")};
  places_.try_emplace(number(committed, "index"), command);
  if (!command || command->serial == 0) return;
  if (!node.store) {
    if (command->client == step.node->value) take(step, node, command->serial);
    return;
  }
  const Answer answer = node.store->apply(*command);
  if (command->client != step.node->value) return;
  const auto waiting = node.waiting.find(command->serial);
  if (waiting == node.waiting.end()) return;
  linear::Operation& operation = history_[waiting->second];
  operation.returned = told_in(step);
  operation.found = as_value(answer.found);
  operation.swapped = answer.swapped && command->swaps();
  node.waiting.erase(waiting);
}

// It is in the log, and what came of it nobody here knows: of a swap not even whether it wrote.
void StoreMonitor::take(const trace::Step& step, Node& node, std::uint64_t serial) {
  for (auto waiting = node.waiting.begin(); waiting != node.waiting.end() && waiting->first <= serial;) {
    linear::Operation& operation = history_[waiting->second];
    if (operation.kind == linear::Kind::put) operation.returned = told_in(step);
    waiting = node.waiting.erase(waiting);
  }
}

void StoreMonitor::read(const trace::Step& step, Node& node, std::uint64_t serial) {
  const auto reading = node.reading.find(serial);
  if (reading == node.reading.end()) return;
  linear::Operation& operation = history_[reading->second];
  node.reading.erase(reading);
  if (!node.store) return;
  operation.returned = told_in(step);
  for (std::size_t key = 0; key < keys; ++key) {
    if (operation.key == name_of(key)) operation.found = as_value(node.store->values[key]);
  }
}

// A snapshot's state is a number too: what it stands for are the places that it replaces.
std::optional<StoreMonitor::Store> StoreMonitor::store_at(std::uint64_t index) const {
  Store store;
  std::uint64_t next = 1;
  for (const auto& [place, command] : places_) {
    if (place > index) break;
    if (place != next++) return std::nullopt;
    if (command && command->serial > 0) store.apply(*command);
  }
  return next > index ? std::optional(store) : std::nullopt;
}

void StoreMonitor::end(const trace::End& end) {
  log_.end(end);
  const linear::Verdict verdict = linear::judge(history_);
  if (verdict.outcome != linear::Outcome::broken) return;
  linearizable_.holds = false;
  const std::size_t misfit = verdict.misfit.value_or(verdict.witnesses.size() - 1);
  const linear::Operation& told = verdict.witnesses[misfit];
  linearizable_.why =
      fmt::format("p{} was told {}, and no order of the {} operations that matter explains it", told.process,
                  linear::describe(told), verdict.witnesses.size());
  if (told.returned) linearizable_.step = static_cast<std::uint64_t>(*told.returned / 2);
}

std::vector<trace::Verdict> StoreMonitor::verdicts() const {
  std::vector<trace::Verdict> all = log_.verdicts();
  all.push_back(linearizable_);
  return all;
}

}  // namespace conclave::catalogue
