// Whether anything is in the way of a run of a log, whoever waits for something there. Only as long as
// nothing is may anybody demand that it takes no longer than messages and disks do.
//
//   - a leader has a majority: it has announced a place in its term, it stands, and so do more than half of
//     all nodes
//   - nobody stands still, no link is cut, no disk is stuck; and after each of these, after a message was
//     lost, a clock jumped, or a node other than the leader went down or came back, the time has passed in
//     which everybody asks again
//
// Nobody announces that it leads no longer: until somebody else does, this does not know.
//
// Once a change of the members was asked for, no node may be down, for those that are may be the majority.
#pragma once
#include <map>
#include <optional>

#include "trace/monitor.hpp"

namespace conclave::trace {

class Calm {
 public:
  Calm() = default;
  explicit Calm(Ticks again) : again_(again) {}

  void begin(const Header& header) { nodes_ = members_ = header.nodes; }
  // True if everybody's time begins anew: somebody took the lead, or the members are others.
  bool see(const Step& step);

  bool lasts(Ticks now) const;
  std::optional<NodeId> leader() const { return leader_; }  // who took the lead last, if it stands
  const NodeSet& members() const { return members_; }
  std::uint64_t place_of(NodeId node) const;  // the last that it has announced

 private:
  void note_trouble(const Step& step);
  bool note_events(const Step& step);

  Ticks again_ = {};
  NodeSet nodes_ = {};
  NodeSet members_ = {};
  NodeSet down_ = {};
  NodeSet paused_ = {};
  NodeSet stuck_ = {};  // their disks
  bool is_cut_ = false;
  bool members_change_ = false;
  Ticks calm_from_ = {};  // if nothing happens until then
  std::optional<NodeId> leader_ = {};
  std::uint64_t term_ = 0;
  bool has_majority_ = false;  // it has announced a place since
  std::map<NodeId, std::uint64_t> announced_ = {};
  std::uint64_t latest_members_ = 0;  // the place as of which they are known
};

}  // namespace conclave::trace
