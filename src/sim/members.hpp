// The members of a run and who observes them: what a cluster is, whatever algorithm it runs.
#pragma once
#include <optional>
#include <string>

#include "core/node_set.hpp"
#include "sim/ghost.hpp"

namespace conclave::sim {

class Members {
 public:
  Members(NodeSet all, trace::Observer* observer);
  ~Members();

  const NodeSet& all() const { return all_; }
  std::uint32_t size() const { return all_.size(); }
  NodeId id(std::size_t index) const {
    if (contiguous_) return {base_ + static_cast<std::uint32_t>(index)};
    return *std::next(all_.begin(), static_cast<std::ptrdiff_t>(index));
  }
  std::uint32_t index(NodeId node) const {
    if (contiguous_) return node.value - base_;
    return static_cast<std::uint32_t>(std::distance(all_.begin(), std::ranges::find(all_, node)));
  }
  trace::Observer* observer() { return observer_; }
  std::optional<Ghost>& ghost() { return ghost_; }
  std::uint64_t last_step() const { return last_step_; }

  // What befalls a node from outside, without a handler.
  void befall(trace::Kind kind, std::uint32_t index, Ticks now, std::string what = {});
  // What befalls links or messages.
  void befall_links(trace::Kind kind, Ticks now, trace::Item what, std::optional<std::uint64_t> message = {});

 protected:
  struct Input {
    trace::Kind kind;
    std::optional<NodeId> from = {};
    std::optional<std::uint64_t> message = {};
    std::optional<std::uint64_t> cause = {};
  };

  // A step that is observed: it begins, its effects are told, and it is shown.
  void begin_step(std::uint32_t index, Ticks now, const Input& input);
  void show_step();

  // An application message as the observer sees it. Returns its id, 0 if nobody observes.
  std::uint64_t show_tell(std::uint32_t index, NodeId to, Ticks now);
  void show_hear(std::uint32_t index, NodeId from, Ticks now, std::uint64_t message);

  NodeSet all_;
  trace::Observer* observer_;
  std::uint32_t base_ = 0;
  bool contiguous_ = true;
  std::optional<Ghost> ghost_;
  trace::Step step_;  // the one that is being observed
  std::uint64_t last_step_ = 0;
};

// What a trace says of a crash that took writes with it which had not got to the disk.
std::string writes_lost(std::uint64_t writes);

}  // namespace conclave::sim
