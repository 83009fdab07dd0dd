// A run directed by hand: nothing moves until it is told to. Acceptance scripts and transcripts use it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_set.hpp"
#include "trace/step.hpp"

namespace conclave::sim {

struct InFlight {
  NodeId from = {};
  NodeId to = {};
  std::string type = {};
  std::string content = {};  // as JSON
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual const NodeSet& members() const = 0;
  // Each returns what is wrong if the direction cannot be followed, and an empty string if it was.
  virtual std::string command(NodeId node, std::string_view type) = 0;
  virtual std::string deliver(NodeId from, NodeId to, std::string_view type, bool in_order) = 0;
  virtual std::string tell(NodeId from, NodeId to) = 0;
  virtual std::string crash(NodeId node) = 0;
  // Fires the timer of that node that was started first.
  virtual std::string fire(NodeId node) = 0;
  // Puts a message on its way that nobody sent.
  virtual std::string inject(NodeId from, NodeId to, std::string_view type) = 0;
  // The oldest message of all; false if there is none.
  virtual bool deliver_oldest() = 0;
  // The timer that was started first; false if none runs.
  virtual bool fire_oldest() = 0;
  virtual std::vector<InFlight> in_flight() const = 0;
  virtual std::uint64_t bounced() const = 0;         // messages that came back so far
  virtual std::string state(NodeId node) const = 0;  // as JSON
  virtual bool may(NodeId node, std::string_view command) const = 0;
  virtual void end() = 0;
};

}  // namespace conclave::sim
