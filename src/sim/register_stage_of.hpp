// The stage of one program over shared registers: who directs it says whose turn it is, and what a read
// returns that overlaps a write.
#pragma once
#include <vector>

#include "sim/register_stage.hpp"
#include "sim/stage.hpp"

namespace conclave::sim {

template <Program P>
class RegisterStageOf : public Stage {
 public:
  // The seed decides when the writes to buffered registers become visible, as it does in a simulated run.
  RegisterStageOf(const NodeSet& all, const typename P::Setup& setup, Registers kind, std::uint64_t seed,
                  trace::Observer* observer)
      : stage_(all, setup, kind, seed, observer), clients_(all.size()) {
    ensure(all == NodeSet::range({1}, all.size()), "processes over shared registers are 1 … N");
    if (observer) observer->begin({.world = "stage", .nodes = all});
    stage_.start(now());
  }

  const NodeSet& members() const override { return stage_.all(); }

  std::string command(NodeId node, std::string_view type) override { return command_exactly(node, type, {}); }

  std::string command_exactly(NodeId node, std::string_view type, std::string_view) override {
    if (!is_up(node)) return no_process(node);
    const std::optional<Command> command = command_of(type);
    if (!command) return "there is no command " + std::string(type);
    const std::size_t i = index(node);
    if (!may(node, type)) return "the client is not in a position to " + std::string(type);
    clients_[i].issue(*command);
    stage_.command(i, now(), *command);
    return {};
  }

  std::string access(NodeId node, std::string_view kind, std::optional<std::uint64_t> value) override {
    if (!is_up(node)) return no_process(node);
    const std::size_t i = index(node);
    if (stage_.machine().idle(i)) return "the process has no instruction: it is its client's turn";
    if (kind == "begin" && !stage_.will_begin(i)) return "the next step does not begin a write";
    const bool overlaps = stage_.will_overlap(i);
    if (overlaps && value) {
      const Register& read = stage_.next_register(i);
      if (*value < read.least || *value > read.most)
        return read.name + " never holds " + std::to_string(*value);
    }
    const auto event = stage_.step(i, now(), overlaps ? value : std::nullopt);
    if (event) clients_[i].see(*event);
    return {};
  }

  std::string remark(trace::Kind kind, NodeId node, std::string_view) override {
    if (!is_up(node)) return no_process(node);
    stage_.befall(kind, index(node), now());
    return {};
  }

  bool may(NodeId node, std::string_view type) const override {
    const auto command = command_of(type);
    if (!is_up(node) || !command) return false;
    return stage_.machine().idle(index(node)) && clients_[index(node)].may(*command);
  }
  void set_time(Ticks now) override { time_ = now; }
  bool is_up(NodeId node) const override { return stage_.all().contains(node); }
  std::string state(NodeId node) const override {
    ensure(is_up(node), "only processes have a state");
    return describe_json(stage_.machine().of(node));
  }

  // Quiet is when every program waits for its client, and no client wants anything.
  void end() override {
    bool quiet = true;
    for (std::size_t i = 0; i < stage_.size(); ++i)
      quiet = quiet && stage_.machine().idle(i) && clients_[i].content();
    if (stage_.observer()) stage_.observer()->end({.at = now(), .quiet = quiet});
  }

  // There is nothing here that is sent or can crash.
  std::string deliver(NodeId, NodeId, std::string_view, bool) override { return no_messages; }
  std::string tell(NodeId, NodeId) override { return no_messages; }
  std::string inject(NodeId, NodeId, std::string_view) override { return no_messages; }
  std::string crash(NodeId) override { return "processes over shared registers do not crash"; }
  std::string fire(NodeId) override { return "there are no timers here"; }
  bool deliver_oldest() override { return false; }
  bool fire_oldest() override { return false; }
  std::vector<InFlight> in_flight() const override { return {}; }
  std::uint64_t bounced() const override { return 0; }

 private:
  using Command = typename P::Spec::Command;

  static std::size_t index(NodeId node) { return node.value - 1; }
  static std::string no_process(NodeId node) { return "there is no process " + std::to_string(node.value); }
  static std::optional<Command> command_of(std::string_view type) {
    if (type == type_name<typename P::Spec::Acquire>) return typename P::Spec::Acquire{};
    if (type == type_name<typename P::Spec::Release>) return typename P::Spec::Release{};
    return std::nullopt;
  }
  Ticks now() { return time_ ? *time_ : Ticks{moment_++}; }

  RegisterStage<P> stage_;
  std::vector<typename P::Spec::Client> clients_;
  std::optional<Ticks> time_;
  std::uint64_t moment_ = 0;
};

}  // namespace conclave::sim
