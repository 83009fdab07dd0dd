// One mutual exclusion algorithm on a stage, directed in the words of a vector: want, leave, deliver, …
#pragma once
#include <memory>
#include <string>

#include "accept/vectors.hpp"
#include "catalogue/entry.hpp"
#include "trace/mutex_monitor.hpp"
#include "trace/tee.hpp"

namespace conclave::accept {

class Play {
 public:
  Play(const catalogue::Entry& entry, const catalogue::Setting& setting, bool in_order);
  Play(const Play&) = delete;  // the stage reports to its members

  void want(NodeId node);
  void leave(NodeId node);
  void deliver(NodeId from, NodeId to, const std::string& type);
  void tell(NodeId from, NodeId to);
  void crash(NodeId node);
  void fire(NodeId node);
  void inject(NodeId from, NodeId to, const std::string& type);
  // One message, or else one timer; false if nothing is under way.
  bool advance();
  // Everything in the order of sending, until nothing is under way.
  void drain();
  // Everything, until somebody has entered once more.
  void run_until_entry();
  // Whoever is inside leaves, everything is delivered, and again, until nobody is inside.
  void let_everybody_leave();
  void end() { stage_->end(); }

  std::string phase(NodeId node) const;  // RELEASED, WANTED or HELD
  Json state(NodeId node) const { return Json::parse(stage_->state(node)); }
  const trace::MutexMonitor& monitor() const { return monitor_; }
  const std::vector<trace::Step>& steps() const { return keeper_.steps(); }
  const NodeSet& members() const { return stage_->members(); }
  std::size_t in_flight() const { return stage_->in_flight().size(); }
  std::size_t entries() const { return monitor_.summary().entries.size(); }
  std::uint64_t delivered() const { return delivered_; }
  Json sent() const;  // messages by type, as vectors name them

 private:
  static void follow(const std::string& problem, const std::string& direction);

  bool in_order_;
  std::uint64_t delivered_ = 0;
  trace::MutexMonitor monitor_;
  trace::Keeper keeper_;
  trace::Tee tee_;
  std::unique_ptr<sim::Stage> stage_;
};

// TOKEN_RETURN for TokenReturn, and back.
std::string vector_name(std::string_view type);
std::string type_of(std::string_view vector_name);

}  // namespace conclave::accept
