// Logical time that follows a run without touching it: a Lamport clock and a vector clock per node, and a
// stamp per message under way. Exists only while somebody observes.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "trace/tell.hpp"

namespace conclave::sim {

class Ghost {
 public:
  Ghost(std::size_t nodes, bool with_vectors) : nodes_(nodes), with_vectors_(with_vectors) {}

  // Fills in number, time stamps and cause of a step that is about to be taken. `message` is the id of the
  // message that arrives with it, if one does.
  void begin(trace::Step& step, std::size_t node_index, std::optional<std::uint64_t> message);

  void begin_linkwise(trace::Step& step) { step.number = ++steps_; }

  std::uint64_t last_message() const { return last_message_; }

  // Numbers a message that leaves with the step.
  std::uint64_t send(const trace::Step& step);

  void copy(std::uint64_t message);
  void drop(std::uint64_t message);

 private:
  struct Stamp {
    std::uint64_t step = 0;
    std::uint64_t lamport = 0;
    std::shared_ptr<const VectorClock> vector = {};
    std::uint32_t copies = 1;
  };
  std::vector<trace::LogicalClock> nodes_;
  bool with_vectors_;
  std::unordered_map<std::uint64_t, Stamp> under_way_;
  std::uint64_t steps_ = 0;
  std::uint64_t last_message_ = 0;
  std::uint64_t stamped_step_ = 0;
  Stamp stamp_;
};

}  // namespace conclave::sim
