#include "sim/ghost.hpp"

namespace conclave::sim {

void Ghost::begin(trace::Step& step, std::size_t node_index, std::optional<std::uint64_t> message) {
  trace::LogicalClock& node = nodes_[node_index];
  if (message) {
    const auto found = under_way_.find(*message);
    if (found != under_way_.end()) {
      const Stamp& stamp = found->second;
      node.hear(stamp.lamport, *stamp.vector);
      step.cause = stamp.step;
      step.message = message;
      if (--found->second.copies == 0) under_way_.erase(found);
    }
  }
  node.tick(step, with_vectors_);
  step.number = ++steps_;
}

std::uint64_t Ghost::send(const trace::Step& step) {
  if (stamped_step_ != step.number) {
    stamped_step_ = step.number;
    stamp_ = {step.number, step.lamport, std::make_shared<const VectorClock>(step.vector), 1};
  }
  under_way_.emplace(++last_message_, stamp_);
  return last_message_;
}

void Ghost::copy(std::uint64_t message) {
  if (const auto found = under_way_.find(message); found != under_way_.end()) ++found->second.copies;
}

void Ghost::drop(std::uint64_t message) {
  if (const auto found = under_way_.find(message); found != under_way_.end() && --found->second.copies == 0)
    under_way_.erase(found);
}

}  // namespace conclave::sim
