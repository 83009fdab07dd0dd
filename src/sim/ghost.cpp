#include "sim/ghost.hpp"

#include <algorithm>

namespace conclave::sim {

void Ghost::begin(trace::Step& step, std::size_t node_index, std::optional<std::uint64_t> message) {
  Node& node = nodes_[node_index];
  if (message) {
    const auto found = under_way_.find(*message);
    if (found != under_way_.end()) {
      const Stamp& stamp = found->second;
      node.lamport = std::max(node.lamport, stamp.lamport);
      if (with_vectors_) node.vector.merge(*stamp.vector);
      step.cause = stamp.step;
      step.message = message;
      if (--found->second.copies == 0) under_way_.erase(found);
    }
  }
  ++node.lamport;
  if (with_vectors_) node.vector.tick(*step.node);
  step.number = ++steps_;
  step.lamport = node.lamport;
  step.vector = node.vector;
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
