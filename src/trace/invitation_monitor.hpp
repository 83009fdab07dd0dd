// Watches processes form groups, each with a leader of its own.
//
//   I1  a group has one leader: a number names one leader for ever, who founds the group once, and nobody is
//       in it before
//   I2  everybody who is up ends in one group, if nothing has been amiss for long enough
//   I3  the groups that a process joins have ever greater numbers, crashes or not
//
// A process belongs to a group from Joined until it says Participating or crashes.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/monitor.hpp"

namespace conclave::trace {

class InvitationMonitor : public Monitor {
 public:
  // The number of a group and its founder.
  using Group = std::pair<std::uint64_t, NodeId>;

  // I2 is judged if the last `calm` ticks of the run saw no crash, cut, loss or change of a clock.
  explicit InvitationMonitor(Ticks calm) : calm_(calm) {}

  void begin(const Header& header) override;
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  std::vector<Verdict> verdicts() const override { return {i1_, i2_, i3_}; }
  std::vector<Fact> facts() const override;
  // The groups that live processes belong to now, with their members.
  std::map<Group, NodeSet> groups() const;
  std::optional<NodeId> leader_of(NodeId node) const;

 private:
  struct Process {
    bool up = true;
    bool paused = false;
    std::optional<Group> group = {};   // now
    std::optional<Group> newest = {};  // ever
  };

  void notice_trouble(const Step& step);
  void join(const Step& step, const Item& joined);
  static void violate(Verdict& verdict, std::uint64_t step, std::string why);

  Ticks calm_;
  std::map<NodeId, Process> processes_;
  std::map<Group, NodeId> leaders_;  // of all groups that ever were
  std::size_t most_groups_ = 0;      // at a time
  bool cut_ = false;
  Ticks last_trouble_ = {};
  bool judged_ = false;  // I2
  Verdict i1_{"I1"}, i2_{"I2"}, i3_{"I3"};
};

}  // namespace conclave::trace
