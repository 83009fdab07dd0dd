// Watches whether those who ask to read may do so in time.
//
//   prompt reads  while a leader has a majority, every question is answered within a bound
//
// A leader has a majority once it has announced a place in its term, and as long as it stands and more than
// half of all nodes do. Time counts for a question from when all of this is so, and begins anew whenever it
// is not:
//
//   - nothing is in the way: nobody stands still, no link is cut, no disk is stuck; and after each of these,
//   after
//     a message was lost, a clock jumped, or a node other than the leader went down or came back, the time
//     has passed in which everybody asks again
//   - the node has announced what the leader had when the question was asked, or when the leader began; how
//     fast it gets there is not what is judged here
//
// Nobody announces that it leads no longer. So who waited too long is judged when it is answered, or at the
// end, unless somebody took the lead in between.
//
// Once a change of the members was asked for, no node may be down, for those that are may be the majority;
// and only members count.
#pragma once
#include <map>
#include <optional>

#include "trace/monitor.hpp"

namespace conclave::trace {

class PromptReads {
 public:
  struct Bounds {
    Ticks leader = {};  // for questions of the leader's own; 0: nothing is demanded
    Ticks others = {};
    Ticks again = {};  // in which somebody who has no answer asks again
  };

  PromptReads() = default;
  explicit PromptReads(const Bounds& bounds) : bounds_(bounds) {}

  void begin(const Header& header);
  void see(const Step& step);
  void end(Ticks now);

  const Verdict& verdict() const { return verdict_; }
  std::uint64_t judged() const {
    return judged_;
  }                                           // questions for which the time counted when they were answered
  Ticks longest() const { return longest_; }  // that one of them took
  bool demands_something() const { return bounds_.others.count > 0; }

 private:
  struct Question {
    std::uint64_t step = 0;
    std::optional<std::uint64_t> place = {};  // of the leader, to which the node has to get
    std::optional<Ticks> since = {};          // for so long the time has counted
    std::optional<Ticks> waited = {};         // too long, and then the time stopped counting
  };

  void note_trouble(const Step& step);
  void note_events(const Step& step);
  void count(Ticks now);
  void count(Ticks now, NodeId node, Question& question) const;
  void begin_anew();
  void answer(const Step& step, std::uint64_t serial);
  void judge(Ticks now, NodeId node, const Question& question, std::uint64_t step);
  bool nothing_in_the_way(Ticks now) const;
  Ticks bound(NodeId node) const { return node == leader_ ? bounds_.leader : bounds_.others; }

  Bounds bounds_ = {};
  NodeSet nodes_ = {};
  NodeSet members_ = {};
  NodeSet down_ = {};
  NodeSet paused_ = {};
  NodeSet stuck_ = {};  // their disks
  bool is_cut_ = false;
  bool members_change_ = false;
  Ticks calm_from_ = {};               // if nothing happens until then
  std::optional<NodeId> leader_ = {};  // who took the lead last, if it stands,
  std::uint64_t term_ = 0;
  bool has_majority_ = false;                       // and whether it has announced a place since
  std::map<NodeId, std::uint64_t> announced_ = {};  // the last place of each
  std::uint64_t latest_members_ = 0;                // the place as of which they are known
  std::map<NodeId, std::map<std::uint64_t, Question>> asked_ = {};  // by serial number
  std::uint64_t judged_ = 0;
  Ticks longest_ = {};
  Verdict verdict_{"prompt reads"};
};

}  // namespace conclave::trace
