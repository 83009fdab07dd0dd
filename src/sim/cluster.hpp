// The nodes of one run, and how one of them takes a step. Who decides which step comes next builds on
// this: the World by virtual time, the Stage by hand.
#pragma once
#include <optional>
#include <vector>

#include "core/describe.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "sim/ghost.hpp"

namespace conclave::sim {

// Clients have the ids 1 … n; a server has 0.
template <Protocol P>
NodeSet members_for(std::uint32_t clients) {
  return HasServer<P> ? NodeSet::range({0}, clients + 1) : NodeSet::range({1}, clients);
}

template <class Variant>
std::string_view alternative_name(const Variant& value) {
  return std::visit([]<class A>(const A&) { return type_name<A>; }, value);
}

// The fields of whichever alternative it is, as JSON.
template <class Variant>
std::string alternative_content(const Variant& value) {
  return std::visit([](const auto& alternative) { return describe_json(alternative); }, value);
}

// A hardware clock: it runs at its own rate and knows nothing of the true time.
struct LocalClock {
  std::int64_t shown = 0;  // at `since`
  std::uint64_t since = 0;
  std::int64_t ppb = 0;  // gained per 10^9 ticks

  Ticks reading(Ticks now) const {
    __extension__ using Wide = __int128;
    const std::uint64_t passed = now.count - since;
    const auto gained = static_cast<std::int64_t>(static_cast<Wide>(passed) * ppb / 1'000'000'000);
    const std::int64_t shows = shown + static_cast<std::int64_t>(passed) + gained;
    return {static_cast<std::uint64_t>(std::max<std::int64_t>(0, shows))};
  }
  void set_rate(Ticks now, std::int64_t new_ppb) {
    shown = static_cast<std::int64_t>(reading(now).count);
    since = now.count;
    ppb = new_ppb;
  }
};

// What a trace says of a crash that took writes with it which had not got to the disk.
inline std::string writes_lost(std::uint64_t writes) {
  return writes == 0 ? "" : std::to_string(writes) + (writes == 1 ? " write lost" : " writes lost");
}

// A client that reacts to crashes of others.
template <class Client>
concept HearsOfCrashes = requires(Client& client, NodeId node) {
  client.told_down(node);
  client.told_up(node);
};

template <Protocol P>
class Cluster {
 public:
  using Out = Effects<P>;
  using Message = typename P::Message;
  using Command = typename P::Spec::Command;
  using Client = typename P::Spec::Client;
  using Setup = typename P::Setup;
  using Durable = typename DurableOf<P>::type;

  Cluster(NodeSet all, Setup setup, trace::Observer* observer)
      : all_(std::move(all)), setup_(std::move(setup)), observer_(observer) {
    base_ = all_.min().value;
    contiguous_ = all_.runs().size() == 1;
    nodes_.resize(all_.size());
    clients_.resize(all_.size());
    if constexpr (PreparesClients<P>) {
      std::size_t i = 0;
      for (NodeId node : all_) clients_[i++] = P::client(node, setup_);
    }
    if constexpr (ReadsClock<P>) clocks_.resize(all_.size());
    if (observer_) ghost_.emplace(all_.size(), observer_->wants_vectors());
  }

  const NodeSet& all() const { return all_; }
  std::uint32_t size() const { return all_.size(); }
  NodeId id(std::size_t index) const {
    if (contiguous_) return {base_ + static_cast<std::uint32_t>(index)};
    return *std::next(all_.begin(), static_cast<std::ptrdiff_t>(index));
  }
  std::uint32_t index(NodeId node) const {
    if (contiguous_) return node.value - base_;
    return static_cast<std::uint32_t>(std::distance(all_.begin(), std::ranges::find(all_, node)));
  }
  bool is_server(std::size_t index) const { return HasServer<P> && index == 0; }
  P& node(std::size_t index) { return nodes_[index]; }
  const P& node(std::size_t index) const { return nodes_[index]; }
  Client& client(std::size_t index) { return clients_[index]; }
  const Client& client(std::size_t index) const { return clients_[index]; }
  // Of protocols that read it.
  LocalClock& clock(std::size_t index) { return clocks_[index]; }
  trace::Observer* observer() { return observer_; }
  std::optional<Ghost>& ghost() { return ghost_; }

  struct Input {
    trace::Kind kind;
    std::optional<NodeId> from = {};
    std::optional<std::uint64_t> message = {};
    std::optional<std::uint64_t> cause = {};
  };

  // Runs one handler. `describe(item)` says what came in, and is called only if somebody observes. Returns
  // the id of the first message that leaves, 0 if nobody observes; the effects are in `out`.
  template <class Describe, class Handler>
  std::uint64_t step(Out& out, std::uint32_t index, Ticks now, const Input& input, Describe&& describe,
                     Handler&& handler) {
    out.clear();
    if (!observer_) [[likely]] {
      tell_time(index, now);
      handler(nodes_[index], out);
      return 0;
    }
    return observed_step(out, index, now, input, describe, handler);
  }

  // Out of line: the simulator inlines the step that nobody observes.
  template <class Describe, class Handler>
  [[gnu::noinline]] std::uint64_t observed_step(Out& out, std::uint32_t index, Ticks now, const Input& input,
                                                Describe&& describe, Handler&& handler) {
    out.clear();
    trace::Step step = {.at = now, .kind = input.kind, .node = id(index), .from = input.from};
    ghost_->begin(step, index, input.message);
    if (input.cause) step.cause = input.cause;
    describe(step.input);
    const bool contents = observer_->wants_contents();
    const std::optional<P> before = contents ? std::optional<P>(nodes_[index]) : std::nullopt;
    tell_time(index, now);
    try {
      handler(nodes_[index], out);
    } catch (const InvariantViolation&) {
      observer_->see(step);  // the trace shows the step that broke the rule
      throw;
    }
    const std::uint64_t first = ghost_->last_message() + 1;
    for (const auto& send : out.sends) {
      const std::uint64_t message = ghost_->send(step);
      step.sends.push_back({send.to, message, {std::string(alternative_name(send.message)), {}}});
      if (contents) step.sends.back().what.content = alternative_content(send.message);
    }
    for (const auto& event : out.events)
      step.events.push_back({std::string(alternative_name(event)), alternative_content(event)});
    for (const std::string_view note : out.notes) step.notes.emplace_back(note);
    if (contents) {
      step.changed = input.kind == trace::Kind::start || input.kind == trace::Kind::recover
                         ? describe_json(nodes_[index])
                         : describe_change(*before, nodes_[index]);
    }
    last_step_ = step.number;
    observer_->see(step);
    return first;
  }

  std::uint64_t start(Out& out, std::uint32_t index, Ticks now) {
    return step(
        out, index, now, {.kind = trace::Kind::start}, [](trace::Item&) {},
        [&](P& node, Out& effects) { node = P::start(id(index), all_, setup_, effects); });
  }

  std::uint64_t recover(Out& out, std::uint32_t index, Ticks now, const std::optional<Durable>& durable) {
    return step(
        out, index, now, {.kind = trace::Kind::recover},
        [&](trace::Item& item) { item.type = durable ? "durable" : "fresh"; },
        [&](P& node, Out& effects) {
          if constexpr (Recovers<P>) {
            if (durable) {
              node = P::recover(id(index), all_, setup_, *durable, effects);
              return;
            }
          }
          if constexpr (Restarts<P>) {
            node = P::restart(id(index), all_, setup_, effects);
          } else {
            node = P::start(id(index), all_, setup_, effects);
          }
        });
  }

  std::uint64_t begin_round(Out& out, std::uint32_t index, Ticks now, std::uint32_t round) {
    return step(
        out, index, now, {.kind = trace::Kind::round},
        [&](trace::Item& item) { item.type = std::to_string(round); },
        [&](P& node, Out& effects) {
          if constexpr (InRounds<P>) node.on_round(effects, round);
        });
  }

  // A message of this node comes back.
  std::uint64_t bounce(Out& out, std::uint32_t index, Ticks now, NodeId to, const Message& message) {
    return step(
        out, index, now, {.kind = trace::Kind::bounce, .from = to},
        [&](trace::Item& item) {
          item.type = alternative_name(message);
          if (observer_->wants_contents()) item.content = alternative_content(message);
        },
        [&](P& node, Out& effects) {
          if constexpr (HearsBounces<P>) node.on_bounce(effects, to, message);
        });
  }

  std::uint64_t command(Out& out, std::uint32_t index, Ticks now, const Command& command) {
    clients_[index].issue(command);
    return step(
        out, index, now, {.kind = trace::Kind::command},
        [&](trace::Item& item) {
          item.type = alternative_name(command);
          item.content = alternative_content(command);
        },
        [&](P& node, Out& effects) {
          std::visit([&](const auto& which) { node.on_command(effects, which); }, command);
        });
  }

  // What most of a simulation is: even preparing what an observer might ask would cost a tenth of it.
  std::uint64_t deliver(Out& out, std::uint32_t index, Ticks now, NodeId from, const Message& message,
                        std::uint64_t message_id) {
    if (observer_) [[unlikely]]
      return deliver_observed(out, index, now, from, message, message_id);
    out.clear();
    tell_time(index, now);
    visit_in_place(message, [&](const auto& which) { nodes_[index].on_message(out, from, which); });
    return 0;
  }

  template <class Timer>
  std::uint64_t fire(Out& out, std::uint32_t index, Ticks now, Timer timer, std::uint64_t cause) {
    return step(
        out, index, now, {.kind = trace::Kind::timer, .cause = cause},
        [&](trace::Item& item) { item.type = enumerator_name(timer); },
        [&](P& node, Out& effects) { node.on_timer(effects, timer); });
  }

  std::uint64_t toss(Out& out, std::uint32_t index, Ticks now, unsigned face) {
    return step(
        out, index, now, {.kind = trace::Kind::choice},
        [&](trace::Item& item) { item.type = std::to_string(face); },
        [&](P& node, Out& effects) {
          if constexpr (TossesCoins<P>) node.on_choice(effects, face);
        });
  }

  // An application message: the protocol only lends its clock to it. Returns the message's id.
  template <class Stamp>
  std::uint64_t tell(std::uint32_t index, NodeId to, Ticks now, Stamp& stamp) {
    if constexpr (StampsApplication<P>) stamp = nodes_[index].on_tell();
    if (!observer_) return 0;
    trace::Step step = {.at = now, .kind = trace::Kind::tell, .node = id(index)};
    ghost_->begin(step, index, {});
    step.sends.push_back({to, ghost_->send(step), {"application", {}}});
    observer_->see(step);
    return step.sends.back().id;
  }

  template <class Stamp>
  void hear(std::uint32_t index, NodeId from, Ticks now, const Stamp& stamp, std::uint64_t message) {
    if constexpr (StampsApplication<P>) nodes_[index].on_hear(stamp);
    if (!observer_) return;
    trace::Step step = {.at = now, .kind = trace::Kind::hear, .node = id(index), .from = from};
    ghost_->begin(step, index, message);
    step.input.type = "application";
    observer_->see(step);
  }

  // What befalls a node from outside, without a handler.
  void befall(trace::Kind kind, std::uint32_t index, Ticks now, std::string what = {}) {
    if (!observer_) return;
    trace::Step step = {.at = now, .kind = kind, .node = id(index)};
    ghost_->begin(step, index, {});
    step.input.type = std::move(what);
    observer_->see(step);
  }

  // What befalls links or messages.
  void befall_links(trace::Kind kind, Ticks now, trace::Item what,
                    std::optional<std::uint64_t> message = {}) {
    if (!observer_) return;
    trace::Step step = {.at = now, .kind = kind, .message = message};
    ghost_->begin_linkwise(step);
    step.input = std::move(what);
    observer_->see(step);
  }

  std::uint64_t last_step() const { return last_step_; }

 private:
  void tell_time(std::uint32_t index, Ticks now) {
    if constexpr (ReadsClock<P>) nodes_[index].on_clock(clocks_[index].reading(now));
  }

  [[gnu::noinline]] std::uint64_t deliver_observed(Out& out, std::uint32_t index, Ticks now, NodeId from,
                                                   const Message& message, std::uint64_t message_id) {
    return observed_step(
        out, index, now, {.kind = trace::Kind::deliver, .from = from, .message = message_id},
        [&](trace::Item& item) {
          item.type = alternative_name(message);
          if (observer_->wants_contents()) item.content = alternative_content(message);
        },
        [&](P& node, Out& effects) {
          std::visit([&](const auto& which) { node.on_message(effects, from, which); }, message);
        });
  }

  NodeSet all_;
  Setup setup_;
  trace::Observer* observer_;
  std::uint32_t base_ = 0;
  bool contiguous_ = true;
  std::vector<P> nodes_;
  std::vector<Client> clients_;
  std::vector<LocalClock> clocks_;
  std::optional<Ghost> ghost_;
  std::uint64_t last_step_ = 0;
};

template <class P>
struct AppStampOf {
  using type = NoSetup;  // nothing travels with an application message
};
template <StampsApplication P>
struct AppStampOf<P> {
  using type = typename P::AppStamp;
};

}  // namespace conclave::sim
