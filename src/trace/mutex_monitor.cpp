#include "trace/mutex_monitor.hpp"

#include <fmt/format.h>

namespace conclave::trace {

double MutexMonitor::Summary::throughput() const {
  const double time = static_cast<double>((last_entry - first_request).count);
  return time == 0.0 ? 0.0 : static_cast<double>(entries.size()) / time;
}

void MutexMonitor::violate(Verdict& verdict, const Step& step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step.number;
}

void MutexMonitor::see(const Step& step) {
  // In the order in which things happen within a step: the client speaks, then it is answered.
  if (step.kind == Kind::command && step.input.type == "Acquire") request(step);
  if (step.kind == Kind::command && step.input.type == "Release") leave(step);
  if (step.kind == Kind::crash) {
    pending_.erase(*step.node);  // a crashed process waits for nothing and is nowhere
    inside_.erase(*step.node);
  }
  if (step.kind == Kind::tell) {
    ++summary_.application_messages;
  } else {
    for (const Sent& sent : step.sends) {
      ++summary_.sent[sent.what.type];
      ++summary_.messages;
      if (summary_.entries.empty()) ++summary_.messages_before_first_entry;
    }
  }
  for (const Item& event : step.events) {
    if (event.type == "Granted") enter(step, event);
    if (event.type == "Queued") {
      if (const auto found = pending_.find(*step.node); found != pending_.end())
        found->second.queued_step = step.number;
    }
  }
}

void MutexMonitor::request(const Step& step) {
  if (!any_request_) summary_.first_request = step.at;
  any_request_ = true;
  pending_[*step.node] = {.step = step.number,
                          .at = step.at,
                          .own_count = step.vector[*step.node],
                          .vector = step.vector,
                          .section_free = inside_.empty() && pending_.empty()};
}

void MutexMonitor::enter(const Step& step, const Item& granted) {
  const NodeId node = *step.node;
  inside_.insert(node);
  summary_.entries.push_back(node);
  summary_.last_entry = step.at;
  summary_.most_inside = std::max<std::uint64_t>(summary_.most_inside, inside_.size());
  if (inside_.size() > 1) {
    std::string who;
    for (NodeId other : inside_) who += fmt::format("{}p{}", who.empty() ? "" : " and ", other.value);
    violate(em1_, step, fmt::format("{} are inside together", who));
  }
  if (causal_ && last_left_ && step.vector[last_left_->first] < last_left_->second)
    violate(em1_, step,
            fmt::format("p{} entered and cannot have known that p{} had left", node.value,
                        last_left_->first.value));

  const auto fence = number_field(granted.content, "fence");
  if (!fence || *fence <= last_fence_) {
    violate(
        fence_, step,
        fmt::format("p{} entered with fence {} after fence {}", node.value, fence.value_or(0), last_fence_));
  } else {
    last_fence_ = *fence;
  }

  const auto found = pending_.find(node);
  if (found == pending_.end()) return violate(em1_, step, fmt::format("p{} entered unasked", node.value));
  const Request mine = found->second;
  pending_.erase(found);
  for (const auto& [other, theirs] : pending_) {
    if (with_vectors_ && mine.vector[other] >= theirs.own_count)
      violate(em3_, step,
              fmt::format("p{} entered before p{}, whose request happened before", node.value, other.value));
    if (theirs.queued_step && *theirs.queued_step < mine.step)
      violate(
          fcfs_, step,
          fmt::format("p{} entered before p{}, who was through the doorway first", node.value, other.value));
  }
  summary_.response.add((step.at - mine.at).count);
  if (mine.section_free) summary_.client_delay.add((step.at - mine.at).count);
  if (last_exit_ && mine.at <= *last_exit_) summary_.synchronisation_delay.add((step.at - *last_exit_).count);
}

void MutexMonitor::leave(const Step& step) {
  inside_.erase(*step.node);
  last_exit_ = step.at;
  last_left_.emplace(*step.node, step.vector[*step.node]);
}

void MutexMonitor::end(const End& end) {
  if (pending_.empty()) return;
  constexpr std::size_t most_named = 7;
  std::string who;
  std::size_t named = 0;
  for (const auto& [node, request] : pending_) {
    if (++named <= most_named) who += fmt::format("{}p{}", who.empty() ? "" : ", ", node.value);
  }
  if (named > most_named) who += fmt::format(" and {} more", named - most_named);
  em2_.holds = false;
  em2_.why = fmt::format("{} asked and never got in", who);
  em2_.step = pending_.begin()->second.step;
  if (end.quiet && inside_.empty()) {
    nd_.holds = false;
    nd_.why =
        fmt::format("nothing is under way, and {} {} waiting", who, pending_.size() == 1 ? "is" : "are");
    nd_.step = em2_.step;
  }
}

}  // namespace conclave::trace
