// The nodes of one run, and how one of them takes a step. Who decides which step comes next builds on
// this: the World by virtual time, the Stage by hand.
#pragma once
#include <optional>
#include <vector>

#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "sim/members.hpp"
#include "trace/tell.hpp"

namespace conclave::sim {

// Clients have the ids 1 … n; a server has 0.
template <Protocol P>
NodeSet members_for(std::uint32_t clients) {
  return HasServer<P> ? NodeSet::range({0}, clients + 1) : NodeSet::range({1}, clients);
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

template <Protocol P>
class Cluster : public Members {
 public:
  using Out = Effects<P>;
  using Message = typename P::Message;
  using Command = typename P::Spec::Command;
  using Client = typename P::Spec::Client;
  using Setup = typename P::Setup;
  using Durable = typename DurableOf<P>::type;

  Cluster(NodeSet all, Setup setup, trace::Observer* observer)
      : Members(std::move(all), observer), setup_(std::move(setup)) {
    nodes_.resize(all_.size());
    clients_.resize(all_.size());
    if constexpr (PreparesClients<P>) {
      std::size_t i = 0;
      for (NodeId node : all_) clients_[i++] = P::client(node, setup_);
    }
    if constexpr (ReadsClock<P>) clocks_.resize(all_.size());
  }

  bool is_server(std::size_t index) const { return HasServer<P> && index == 0; }
  P& node(std::size_t index) { return nodes_[index]; }
  const P& node(std::size_t index) const { return nodes_[index]; }
  Client& client(std::size_t index) { return clients_[index]; }
  const Client& client(std::size_t index) const { return clients_[index]; }
  // Whether the disk takes no time: then a node hears of it in the step that writes.
  void set_instant_disk(bool instant) { instant_disk_ = instant; }
  // Of protocols that read it.
  LocalClock& clock(std::size_t index) { return clocks_[index]; }

  // Runs one handler. `describe(item)` says what came in, and is called only if somebody observes. Returns
  // the id of the first message that leaves, 0 if nobody observes; the effects are in `out`.
  template <class Describe, class Handler>
  std::uint64_t step(Out& out, std::uint32_t index, Ticks now, const Input& input, Describe&& describe,
                     Handler&& handler) {
    out.clear();
    if (!observer_) [[likely]] {
      tell_time(index, now);
      call(handler, nodes_[index], out);
      return 0;
    }
    return observed_step(out, index, now, input, describe, handler);
  }

  // Out of line: the simulator inlines the step that nobody observes.
  template <class Describe, class Handler>
  [[gnu::noinline]] std::uint64_t observed_step(Out& out, std::uint32_t index, Ticks now, const Input& input,
                                                Describe&& describe, Handler&& handler) {
    begin_observed(out, index, now, input);
    describe(step_.input);
    tell_time(index, now);
    try {
      call(handler, nodes_[index], out);
    } catch (const InvariantViolation&) {
      observer_->see(step_);  // the trace shows the step that broke the rule
      throw;
    }
    return end_observed(out, index);
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
          if (durable) {
            node = returned(index, *durable, effects);
            return;
          }
          if constexpr (Restarts<P>) {
            node = P::restart(id(index), all_, setup_, effects);
          } else {
            node = P::start(id(index), all_, setup_, effects);
          }
        });
  }

  // What a node begins with that comes back, if its disk has this.
  P returned(std::uint32_t index, const Durable& durable, Out& effects) const {
    if constexpr (Recovers<P>) return P::recover(id(index), all_, setup_, durable, effects);
    ensure(false, "only who recovers has a disk");
    return {};
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
        [&](trace::Item& item) { item = trace::item_of(message, observer_->wants_contents()); },
        [&](P& node, Out& effects) {
          if constexpr (HearsBounces<P>) node.on_bounce(effects, to, message);
        });
  }

  std::uint64_t command(Out& out, std::uint32_t index, Ticks now, const Command& command) {
    clients_[index].issue(command);
    return obey(out, index, now, command);
  }
  // A command of somebody who is not the client of the simulator.
  std::uint64_t obey(Out& out, std::uint32_t index, Ticks now, const Command& command) {
    return step(
        out, index, now, {.kind = trace::Kind::command},
        [&](trace::Item& item) { item = trace::item_of(command); },
        [&](P& node, Out& effects) {
          visit_in_place(command, [&](const auto& which) { node.on_command(effects, which); });
        });
  }

  // What most of a simulation is: even preparing what an observer might ask would cost a tenth of it.
  std::uint64_t deliver(Out& out, std::uint32_t index, Ticks now, NodeId from, const Message& message,
                        std::uint64_t message_id) {
    if (observer_) [[unlikely]]
      return deliver_observed(out, index, now, from, message, message_id);
    out.clear();
    tell_time(index, now);
    const auto handler = [&](P& node, Out& effects) {
      visit_in_place(message, [&](const auto& which) { node.on_message(effects, from, which); });
    };
    call(handler, nodes_[index], out);
    return 0;
  }

  template <class Timer>
  std::uint64_t fire(Out& out, std::uint32_t index, Ticks now, Timer timer, std::uint64_t cause) {
    return step(
        out, index, now, {.kind = trace::Kind::timer, .cause = cause},
        [&](trace::Item& item) { item.type = enumerator_name(timer); },
        [&](P& node, Out& effects) { node.on_timer(effects, timer); });
  }

  // The disk has what this write and those before it said, which so many steps made.
  std::uint64_t synced(Out& out, std::uint32_t index, Ticks now, const typename WriteOf<P>::type& write,
                       std::uint64_t steps = 1) {
    return step(
        out, index, now, {.kind = trace::Kind::synced},
        [&](trace::Item& item) { item.type = trace::steps_on_disk(steps); },
        [&](P& node, Out& effects) {
          if constexpr (HearsOfDisk<P>) node.on_synced(effects, P::mark(write));
        });
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
    return show_tell(index, to, now);
  }

  template <class Stamp>
  void hear(std::uint32_t index, NodeId from, Ticks now, const Stamp& stamp, std::uint64_t message) {
    if constexpr (StampsApplication<P>) nodes_[index].on_hear(stamp);
    show_hear(index, from, now, message);
  }

 private:
  void tell_time(std::uint32_t index, Ticks now) {
    if constexpr (ReadsClock<P>) nodes_[index].on_clock(clocks_[index].reading(now));
  }

  template <class Handler>
  void call(Handler& handler, P& node, Out& out) const {
    if constexpr (IsLarge<P>) {
      call_out_of_line(handler, node, out);
    } else {
      handler(node, out);
    }
    if constexpr (HearsOfDisk<P>) {
      if (instant_disk_) sync_at_once(node, out);
    }
  }
  template <class Handler>
  [[gnu::noinline]] static void call_out_of_line(Handler& handler, P& node, Out& out) {
    handler(node, out);
  }
  [[gnu::noinline]] static void sync_at_once(P& node, Out& out) { hear_of_writes(node, out); }

  // Before and after the handler of an observed step: these are the same for all handlers, and compiled once.
  [[gnu::noinline]] void begin_observed(Out& out, std::uint32_t index, Ticks now, const Input& input) {
    out.clear();
    begin_step(index, now, input);
    before_.reset();
    if (observer_->wants_contents()) before_.emplace(nodes_[index]);
  }
  [[gnu::noinline]] std::uint64_t end_observed(const Out& out, std::uint32_t index) {
    const std::uint64_t first = ghost_->last_message() + 1;
    trace::tell_effects(step_, out, before_.has_value(), [&] { return ghost_->send(step_); });
    if (before_) step_.changed = trace::told_change(step_, *before_, nodes_[index]);
    show_step();
    return first;
  }

  [[gnu::noinline]] std::uint64_t deliver_observed(Out& out, std::uint32_t index, Ticks now, NodeId from,
                                                   const Message& message, std::uint64_t message_id) {
    return observed_step(
        out, index, now, {.kind = trace::Kind::deliver, .from = from, .message = message_id},
        [&](trace::Item& item) { item = trace::item_of(message, observer_->wants_contents()); },
        [&](P& node, Out& effects) {
          visit_in_place(message, [&](const auto& which) { node.on_message(effects, from, which); });
        });
  }

  Setup setup_;
  std::vector<P> nodes_;
  std::vector<Client> clients_;
  std::vector<LocalClock> clocks_;
  bool instant_disk_ = true;
  std::optional<P> before_;  // what the node was before the step, if the observer wants to know
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
