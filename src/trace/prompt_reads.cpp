#include "trace/prompt_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace conclave::trace {
namespace {

constexpr std::string_view jumped = "jump ";

std::uint64_t number(const Item& item, std::string_view field) {
  return number_field(item.content, field).value_or(0);
}

// Who decides and who listens, as the event says: {"voters":[1,2],"learners":[3]}
NodeSet nodes_in(std::string_view content) {
  NodeSet nodes;
  std::uint32_t value = 0;
  bool in_number = false;
  for (const char c : content) {
    const bool digit = c >= '0' && c <= '9';
    if (digit) value = (in_number ? 10 * value : 0) + static_cast<std::uint32_t>(c - '0');
    if (in_number && !digit) nodes.insert(NodeId{value});
    in_number = digit;
  }
  return nodes;
}

// A clock that goes back holds up all that runs by it for so long.
Ticks size_of_jump(const Step& step) {
  if (!step.input.type.starts_with(jumped)) return {};
  return {static_cast<std::uint64_t>(std::llabs(std::atoll(step.input.type.c_str() + jumped.size())))};
}

}  // namespace

// Only there messages and disks take what the run was told, and nobody directs it by hand.
void PromptReads::begin(const Header& header) {
  nodes_ = members_ = header.nodes;
  if (header.world != "sim") bounds_ = {};
}

void PromptReads::see(const Step& step) {
  if (!demands_something()) return;
  count(step.at);
  note_trouble(step);
  if (step.kind == Kind::command && step.input.type == "Read")
    asked_[*step.node][number(step.input, "serial")] = {.step = step.number};
  if (step.kind == Kind::command && step.input.type == "Reconfigure") members_change_ = true;
  note_events(step);
  count(step.at);
}

void PromptReads::note_trouble(const Step& step) {
  const auto until = [&](Ticks calm) { calm_from_ = std::max(calm_from_, calm); };
  switch (step.kind) {
    case Kind::crash:
      down_.insert(*step.node);
      paused_.erase(*step.node);
      stuck_.erase(*step.node);
      asked_.erase(*step.node);  // nobody waits for it any more
      announced_.erase(*step.node);
      // Who takes the lead then begins its rounds afterwards. One that leads already may have lost an answer.
      if (leader_ != step.node) return until(step.at + bounds_.again);
      return leader_.reset();
    case Kind::recover: down_.erase(*step.node); return until(step.at + bounds_.again);
    case Kind::pause: paused_.insert(*step.node); return;
    case Kind::resume: paused_.erase(*step.node); return until(step.at + bounds_.again);
    case Kind::partition: is_cut_ = true; return;
    case Kind::heal: is_cut_ = false; return until(step.at + bounds_.again);
    case Kind::clock: return until(step.at + bounds_.again + size_of_jump(step));
    case Kind::disk:
      if (step.input.type == "stands still") {
        stuck_.insert(*step.node);
      } else {
        stuck_.erase(*step.node);
      }
      return until(step.at + bounds_.again);
    // To a node that is down, nothing is ever sent that somebody waits for.
    case Kind::lose:
      if (step.input.type != "receiver is down") until(step.at + bounds_.again);
      return;
    default: return;
  }
}

void PromptReads::note_events(const Step& step) {
  for (const Item& event : step.events) {
    if (event.type == "Committed" || event.type == "Restored") {
      announced_[*step.node] = number(event, "index");
      if (leader_ == step.node) has_majority_ = true;
    } else if (event.type == "Leading") {
      if (number(event, "term") < term_) continue;
      term_ = number(event, "term");
      leader_ = step.node;
      has_majority_ = false;
      begin_anew();
    } else if (event.type == "Members") {
      if (announced_[*step.node] < latest_members_) continue;
      latest_members_ = announced_[*step.node];
      const NodeSet now = nodes_in(event.content);
      if (now != members_) members_change_ = true;
      members_ = now;
      begin_anew();
    } else if (event.type == "Readable") {
      answer(step, number(event, "serial"));
    }
  }
}

void PromptReads::begin_anew() {
  for (auto& [node, questions] : asked_) {
    for (auto& [serial, question] : questions) question = {.step = question.step};
  }
}

bool PromptReads::nothing_in_the_way(Ticks now) const {
  const bool stand = members_change_ ? down_.empty() : 2 * down_.size() < nodes_.size();
  return leader_ && has_majority_ && stand && paused_.empty() && stuck_.empty() && !is_cut_ &&
         now >= calm_from_;
}

void PromptReads::count(Ticks now) {
  for (auto& [node, questions] : asked_) {
    for (auto& [serial, question] : questions) count(now, node, question);
  }
}

void PromptReads::count(Ticks now, NodeId node, Question& question) const {
  bool counts = nothing_in_the_way(now) && members_.contains(node);
  if (counts) {
    const auto place_of = [&](NodeId who) {
      const auto found = announced_.find(who);
      return found == announced_.end() ? 0 : found->second;
    };
    if (!question.place) question.place = place_of(*leader_);
    counts = place_of(node) >= *question.place;
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
