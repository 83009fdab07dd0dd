// Watches a run of a protocol that replicates a log: are the properties kept, and what did a command cost?
//
//   agreement    no two announcements of the same place differ, whoever makes them, and whoever gets a
//                snapshot instead gets the state that somebody had at that place
//   integrity    every command in the log was proposed before, and none has two places
//   order        every node announces the places 1, 2, 3, … without a gap; one that comes back after a
//                crash may begin again anywhere up to where it was
//   termination  whoever proposed a command and did not crash since has announced it by the end of the run,
//                and whoever asked to read may read; and once the faults are over, the log grows within a
//                stated time if somebody waits for that
//   fresh reads  whoever may read has announced all that anybody had announced before it asked
//   prompt reads while a leader has a majority, whoever asks to read may do so within a stated time
//                (trace/prompt_reads.hpp)
//   prompt news  what the leader has announced, every member announces within a stated time
//                (trace/prompt_news.hpp)
//
// and one for algorithms whose terms have one leader each:
//
//   election safety  no two nodes take the lead in the same term
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "trace/monitor.hpp"
#include "trace/prompt_news.hpp"
#include "trace/prompt_reads.hpp"
#include "trace/spread.hpp"

namespace conclave::trace {

class LogMonitor : public Monitor {
 public:
  struct Summary {
    std::uint64_t proposals = 0;
    std::uint64_t commands = 0;                 // different ones in the log
    std::uint64_t length = 0;                   // the last place that anybody announced
    std::uint64_t reads = 0;                    // answered
    std::uint64_t snapshots = 0;                // got instead of places
    std::map<std::string, std::uint64_t> sent;  // messages by type
    std::uint64_t messages = 0;                 // their sum
    std::vector<NodeId> leaders;                // in the order in which they took the lead
    Spread delay;                               // from a proposal until its proposer announces it
    std::map<NodeId, Spread> delay_of;          // … by proposer
    std::optional<Ticks> idle;                  // in the second act, until the log grew for who waited
  };

  // The second act of a run: what is demanded once nothing goes wrong any more.
  struct SecondAct {
    Ticks begins = {};
    Ticks progress_within = {};  // 0: some day
  };

  LogMonitor() = default;
  explicit LogMonitor(SecondAct second_act, const PromptReads::Bounds& reads = {},
                      const PromptNews::Bounds& news = {})
      : second_act_(second_act), prompt_reads_(reads), prompt_news_(news) {}

  void begin(const Header& header) override;
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_vectors() const override { return false; }

  const Summary& summary() const { return summary_; }
  const PromptReads& prompt_reads() const { return prompt_reads_; }
  const PromptNews& prompt_news() const { return prompt_news_; }
  // In the order of the list above.
  std::vector<Verdict> verdicts() const override {
    return {agreement_,
            integrity_,
            order_,
            termination_,
            fresh_reads_,
            prompt_reads_.verdict(),
            prompt_news_.verdict(),
            election_safety_};
  }
  std::vector<Fact> facts() const override;

 private:
  struct Command {
    std::uint64_t client = 0;
    std::uint64_t serial = 0;
    std::uint64_t value = 0;
    auto operator<=>(const Command&) const = default;
  };
  struct Pending {
    Command command;
    Ticks at = {};
    std::uint64_t step = 0;
  };
  struct Place {
    std::optional<Command> command;
    NodeId by = {};  // who announced it first
  };
  struct Question {
    std::uint64_t length = 0;  // of the log when it was asked
    std::uint64_t step = 0;
  };
  // How far a node has announced the log.
  struct Reader {
    std::uint64_t last = 0;
    bool came_back = false;
  };

  void propose(const Step& step);
  void lead(const Step& step, std::uint64_t term);
  void await_progress(Ticks now);
  void note_progress(Ticks now, std::uint64_t step);
  void commit(const Step& step, const Item& committed);
  void keep_order(const Step& step, std::uint64_t index);
  void place(const Step& step, std::uint64_t index, const std::optional<Command>& command);
  void read(const Step& step, const Item& readable);
  void take(NodeId node, std::uint64_t serial);
  void restore(const Step& step, const Item& restored);
  void keep_state(const Step& step, std::uint64_t index, std::string_view state);

  std::map<Command, std::uint64_t> proposed_;                   // with the place that it has, 0 before
  std::map<NodeId, std::map<std::uint64_t, Pending>> pending_;  // by serial number
  std::map<NodeId, std::map<std::uint64_t, Question>> asked_;   // who wants to read, likewise
  std::map<NodeId, Reader> readers_;
  std::map<std::uint64_t, Place> log_;
  std::map<NodeId, std::uint64_t> captured_;     // the place at which each saves its state
  std::map<std::uint64_t, std::string> states_;  // by place, as they were saved or got
  std::map<std::uint64_t, NodeId> leaders_;      // by term
  SecondAct second_act_;
  PromptReads prompt_reads_;
  PromptNews prompt_news_;
  bool is_cut_off_ = false;             // the run has an end because somebody stopped it
  std::optional<Ticks> waiting_since_;  // in the second act
  Summary summary_;
  Verdict agreement_{"agreement"}, integrity_{"integrity"}, order_{"order"}, termination_{"termination"},
      fresh_reads_{"fresh reads"}, election_safety_{"election safety"};
};

}  // namespace conclave::trace
