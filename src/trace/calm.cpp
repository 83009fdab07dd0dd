#include "trace/calm.hpp"

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

bool Calm::see(const Step& step) {
  note_trouble(step);
  if (step.kind == Kind::command && step.input.type == "Reconfigure") members_change_ = true;
  return note_events(step);
}

void Calm::note_trouble(const Step& step) {
  const auto until = [&](Ticks calm) { calm_from_ = std::max(calm_from_, calm); };
  switch (step.kind) {
    case Kind::crash:
      down_.insert(*step.node);
      paused_.erase(*step.node);
      stuck_.erase(*step.node);
      announced_.erase(*step.node);
      // Who takes the lead then begins its rounds afterwards. One that leads already may have lost an answer.
      if (leader_ != step.node) return until(step.at + again_);
      return leader_.reset();
    case Kind::recover: down_.erase(*step.node); return until(step.at + again_);
    case Kind::pause: paused_.insert(*step.node); return;
    case Kind::resume: paused_.erase(*step.node); return until(step.at + again_);
    case Kind::partition: is_cut_ = true; return;
    case Kind::heal: is_cut_ = false; return until(step.at + again_);
    case Kind::clock: return until(step.at + again_ + size_of_jump(step));
    case Kind::disk:
      if (step.input.type == "stands still") {
        stuck_.insert(*step.node);
      } else {
        stuck_.erase(*step.node);
      }
      return until(step.at + again_);
    // To a node that is down, nothing is ever sent that somebody waits for.
    case Kind::lose:
      if (step.input.type != "receiver is down") until(step.at + again_);
      return;
    default: return;
  }
}

bool Calm::note_events(const Step& step) {
  bool anew = false;
  for (const Item& event : step.events) {
    if (event.type == "Committed" || event.type == "Restored") {
      announced_[*step.node] = number(event, "index");
      if (leader_ == step.node) has_majority_ = true;
    } else if (event.type == "Leading") {
      if (number(event, "term") < term_) continue;
      term_ = number(event, "term");
      leader_ = step.node;
      has_majority_ = false;
      anew = true;
    } else if (event.type == "Members") {
      if (announced_[*step.node] < latest_members_) continue;
      latest_members_ = announced_[*step.node];
      const NodeSet now = nodes_in(event.content);
      if (now != members_) members_change_ = true;
      members_ = now;
      anew = true;
    }
  }
  return anew;
}

bool Calm::lasts(Ticks now) const {
  const bool stand = members_change_ ? down_.empty() : 2 * down_.size() < nodes_.size();
  return leader_ && has_majority_ && stand && paused_.empty() && stuck_.empty() && !is_cut_ &&
         now >= calm_from_;
}

std::uint64_t Calm::place_of(NodeId node) const {
  const auto found = announced_.find(node);
  return found == announced_.end() ? 0 : found->second;
}

}  // namespace conclave::trace
