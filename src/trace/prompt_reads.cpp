#include "trace/prompt_reads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conclave::trace {
namespace {

std::uint64_t serial_of(const Item& item) { return number_field(item.content, "serial").value_or(0); }

}  // namespace

// Only there messages and disks take what the run was told, and nobody directs it by hand.
void PromptReads::begin(const Header& header) {
  calm_.begin(header);
  if (header.world != "sim") bounds_ = {};
}

void PromptReads::see(const Step& step) {
  if (!demands_something()) return;
  count(step.at);
  if (calm_.see(step)) begin_anew();
  if (step.kind == Kind::crash) asked_.erase(*step.node);  // nobody waits for it any more
  if (step.kind == Kind::command && step.input.type == "Read")
    asked_[*step.node][serial_of(step.input)] = {.step = step.number};
  for (const Item& event : step.events) {
    if (event.type == "Readable") answer(step, serial_of(event));
  }
  count(step.at);
}

void PromptReads::begin_anew() {
  for (auto& [node, questions] : asked_) {
    for (auto& [serial, question] : questions) question = {.step = question.step};
  }
}

void PromptReads::count(Ticks now) {
  for (auto& [node, questions] : asked_) {
    for (auto& [serial, question] : questions) count(now, node, question);
  }
}

void PromptReads::count(Ticks now, NodeId node, Question& question) const {
  bool counts = calm_.lasts(now) && calm_.members().contains(node);
  if (counts) {
    if (!question.place) question.place = calm_.place_of(*calm_.leader());
    counts = calm_.place_of(node) >= *question.place;
  }
  if (!counts) return question.since.reset();
  if (!question.since) question.since = now;
  const Ticks waited = now - *question.since;
  if (waited > bound(node)) question.waited = std::max(question.waited.value_or(Ticks{}), waited);
}

void PromptReads::answer(const Step& step, std::uint64_t serial) {
  auto& questions = asked_[*step.node];
  const auto found = questions.find(serial);
  if (found == questions.end()) return;
  judge(step.at, *step.node, found->second, step.number);
  questions.erase(found);
}

void PromptReads::judge(Ticks now, NodeId node, const Question& question, std::uint64_t step) {
  if (question.since) {
    ++judged_;
    longest_ = std::max(longest_, now - *question.since);
  }
  if (!question.waited || !verdict_.holds) return;
  verdict_.holds = false;
  verdict_.step = step;
  verdict_.why = fmt::format(
      "p{} asked to read, and waited {} ticks for it while a leader had a majority; {} are allowed",
      node.value, question.waited->count, bound(node).count);
}

void PromptReads::end(Ticks now) {
  if (!demands_something()) return;
  count(now);
  for (const auto& [node, questions] : asked_) {
    for (const auto& [serial, question] : questions) judge(now, node, question, question.step);
  }
}

}  // namespace conclave::trace
