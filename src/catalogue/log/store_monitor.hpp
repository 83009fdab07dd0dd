// Watches a run of a replicated log as the users of a store on top of it would: the monitor of the log, and
//
//   linearizable  what clients asked of the store and were told could have come from one store that does one
//                 thing at a time
//
// The simulator's commands are numbers; here each stands for an operation on one of a few keys: two puts,
// then a swap that succeeds if the client's last put is still there. A read is a get. Every node has a store
// of its own, made of what it announces; an answer comes from there, with what was there before.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "linear/linear.hpp"
#include "trace/log_monitor.hpp"

namespace conclave::catalogue {

class StoreMonitor : public trace::Monitor {
 public:
  explicit StoreMonitor(trace::LogMonitor::SecondAct second_act, const trace::PromptReads::Bounds& reads = {},
                        const trace::PromptNews::Bounds& news = {})
      : log_(second_act, reads, news) {}

  void begin(const trace::Header& header) override { log_.begin(header); }
  void see(const trace::Step& step) override;
  void end(const trace::End& end) override;
  bool wants_vectors() const override { return log_.wants_vectors(); }

  const trace::LogMonitor& log() const { return log_; }
  const linear::History& history() const { return history_; }
  std::vector<trace::Verdict> verdicts() const override;
  std::vector<trace::Fact> facts() const override { return log_.facts(); }

 private:
  static constexpr std::size_t keys = 2;

  struct Command {
    std::uint64_t client = 0;
    std::uint64_t serial = 0;
    std::uint64_t value = 0;

    std::size_t key() const { return (client + (serial - 1) / 3) % keys; }
    bool swaps() const { return serial % 3 == 0; }
    std::uint64_t wanted() const { return value - 1; }  // what this client put before
  };
  struct Answer {
    std::optional<std::uint64_t> found;
    bool swapped = false;
  };
  struct Store {
    std::array<std::optional<std::uint64_t>, keys> values = {};
    Answer apply(const Command& command);
  };
  struct Node {
    std::optional<Store> store = Store{};               // none: nobody has announced what led to it
    std::map<std::uint64_t, std::size_t> waiting = {};  // by serial number: which operation
    std::map<std::uint64_t, std::size_t> reading = {};
  };

  void propose(const trace::Step& step, Node& node);
  void ask(const trace::Step& step, Node& node);
  void commit(const trace::Step& step, Node& node, const trace::Item& committed);
  void take(const trace::Step& step, Node& node, std::uint64_t serial);
  void read(const trace::Step& step, Node& node, std::uint64_t serial);
  std::optional<Store> store_at(std::uint64_t index) const;

  trace::LogMonitor log_;
  linear::History history_;
  std::map<NodeId, Node> nodes_;
  std::map<std::uint64_t, std::optional<Command>> places_;  // as first announced
  std::uint64_t reads_ = 0;
  trace::Verdict linearizable_{"linearizable"};
};

}  // namespace conclave::catalogue
