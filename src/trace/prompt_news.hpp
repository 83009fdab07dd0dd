// Watches whether everybody hears in time of what is committed.
//
//   prompt news  what the leader has announced, every member announces within a bound
//
// That is demanded of who has announced all that the leader had, and as long as nothing is in the way
// (trace/calm.hpp): how fast somebody catches up who was behind is another matter. So it is if the leader
// gives up a part of its log that a member has not announced, for that one may get a snapshot; and once a
// change of the members was asked for, since who leaves is told nothing any more.
//
// Nobody announces that it leads no longer. So who hears of something too late is judged when it does, or at
// the end, unless somebody took the lead in between.
#pragma once
#include <map>
#include <optional>

#include "trace/calm.hpp"

namespace conclave::trace {

class PromptNews {
 public:
  struct Bounds {
    Ticks news = {};   // 0: nothing is demanded
    Ticks again = {};  // in which a message that was lost is made up for
  };

  PromptNews() = default;
  explicit PromptNews(const Bounds& bounds) : bounds_(bounds), calm_(bounds.again) {}

  void begin(const Header& header);
  void see(const Step& step);
  void end(Ticks now);

  const Verdict& verdict() const { return verdict_; }
  std::uint64_t judged() const { return judged_; }  // places that a member announced after the leader
  Ticks longest() const { return longest_; }        // after it, of all these
  bool demands_something() const { return bounds_.news.count > 0; }

 private:
  struct News {
    Ticks at = {};
    std::uint64_t step = 0;
  };
  struct Late {
    std::uint64_t place = 0;
    News news = {};
    Ticks waited = {};
  };

  void count(Ticks now);
  void look_who_keeps_up(const Step& step);
  void note_news(const Step& step, std::uint64_t before);
  void forget_old_news();
  void judge(NodeId node, std::uint64_t step);

  Bounds bounds_ = {};
  Calm calm_ = {};
  NodeSet keep_up_ = {};                     // of them it is demanded
  std::map<std::uint64_t, News> news_ = {};  // when the leader announced each place
  std::map<NodeId, Late> late_ = {};         // the first that each heard of too late, or not yet
  std::uint64_t judged_ = 0;
  Ticks longest_ = {};
  Verdict verdict_{"prompt news"};
};

}  // namespace conclave::trace
