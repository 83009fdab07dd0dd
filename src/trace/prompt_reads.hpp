// Watches whether those who ask to read may do so in time.
//
//   prompt reads  while a leader has a majority, every question is answered within a bound
//
// Time counts for a question while nothing is in the way (trace/calm.hpp), for members only, and begins anew
// whenever something is; and not before the node has announced what the leader had when the question was
// asked, or when the leader began: how fast it gets there is not what is judged here.
//
// Nobody announces that it leads no longer. So who waited too long is judged when it is answered, or at the
// end, unless somebody took the lead in between.
#pragma once
#include <map>
#include <optional>

#include "trace/calm.hpp"

namespace conclave::trace {

class PromptReads {
 public:
  struct Bounds {
    Ticks leader = {};  // for questions of the leader's own; 0: nothing is demanded
    Ticks others = {};
    Ticks again = {};  // in which somebody who has no answer asks again
  };

  PromptReads() = default;
  explicit PromptReads(const Bounds& bounds) : bounds_(bounds), calm_(bounds.again) {}

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

  void count(Ticks now);
  void count(Ticks now, NodeId node, Question& question) const;
  void begin_anew();
  void answer(const Step& step, std::uint64_t serial);
  void judge(Ticks now, NodeId node, const Question& question, std::uint64_t step);
  Ticks bound(NodeId node) const { return node == calm_.leader() ? bounds_.leader : bounds_.others; }

  Bounds bounds_ = {};
  Calm calm_ = {};
  std::map<NodeId, std::map<std::uint64_t, Question>> asked_ = {};  // by serial number
  std::uint64_t judged_ = 0;
  Ticks longest_ = {};
  Verdict verdict_{"prompt reads"};
};

}  // namespace conclave::trace
