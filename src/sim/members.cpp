#include "sim/members.hpp"

namespace conclave::sim {

Members::Members(NodeSet all, trace::Observer* observer) : all_(std::move(all)), observer_(observer) {
  base_ = all_.min().value;
  contiguous_ = all_.runs().size() == 1;
  if (observer_) ghost_.emplace(all_.size(), observer_->wants_vectors());
}

Members::~Members() = default;

void Members::befall(trace::Kind kind, std::uint32_t index, Ticks now, std::string what) {
  if (!observer_) return;
  trace::Step step = {.at = now, .kind = kind, .node = id(index)};
  ghost_->begin(step, index, {});
  step.input.type = std::move(what);
  observer_->see(step);
}

void Members::befall_links(trace::Kind kind, Ticks now, trace::Item what,
                           std::optional<std::uint64_t> message) {
  if (!observer_) return;
  trace::Step step = {.at = now, .kind = kind, .message = message};
  ghost_->begin_linkwise(step);
  step.input = std::move(what);
  observer_->see(step);
}

void Members::begin_step(std::uint32_t index, Ticks now, const Input& input) {
  step_ = {.at = now, .kind = input.kind, .node = id(index), .from = input.from};
  ghost_->begin(step_, index, input.message);
  if (input.cause) step_.cause = input.cause;
}

void Members::show_step() {
  last_step_ = step_.number;
  observer_->see(step_);
}

std::uint64_t Members::show_tell(std::uint32_t index, NodeId to, Ticks now) {
  if (!observer_) return 0;
  trace::Step step = {.at = now, .kind = trace::Kind::tell, .node = id(index)};
  ghost_->begin(step, index, {});
  step.sends.push_back({to, ghost_->send(step), {"application", {}}});
  observer_->see(step);
  return step.sends.back().id;
}

void Members::show_hear(std::uint32_t index, NodeId from, Ticks now, std::uint64_t message) {
  if (!observer_) return;
  trace::Step step = {.at = now, .kind = trace::Kind::hear, .node = id(index), .from = from};
  ghost_->begin(step, index, message);
  step.input.type = "application";
  observer_->see(step);
}

std::string writes_lost(std::uint64_t writes) {
  return writes == 0 ? "" : std::to_string(writes) + (writes == 1 ? " write lost" : " writes lost");
}

}  // namespace conclave::sim
