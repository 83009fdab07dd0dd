// The stage of one protocol.
#pragma once
#include <deque>

#include "sim/cluster.hpp"
#include "sim/stage.hpp"

namespace conclave::sim {

template <Protocol P>
class StageOf : public Stage {
 public:
  StageOf(NodeSet members, typename P::Setup setup, trace::Observer* observer)
      : cluster_(std::move(members), std::move(setup), observer), crashed_(cluster_.size()) {
    if (observer) observer->begin({.world = "stage", .nodes = cluster_.all()});
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) settle(i, cluster_.start(out_, i, now()));
  }

  const NodeSet& members() const override { return cluster_.all(); }

  std::string command(NodeId node, std::string_view type) override {
    if (!is_member(node)) return no_member(node);
    const std::uint32_t i = cluster_.index(node);
    const auto command = command_of(i, type);
    if (!command) return "there is no command " + std::string(type);
    if (crashed_[i]) return "the node has crashed";
    if (!cluster_.client(i).may(*command)) return "the client is not in a position to " + std::string(type);
    settle(i, cluster_.command(out_, i, now(), *command));
    return {};
  }

  std::string deliver(NodeId from, NodeId to, std::string_view type, bool in_order) override {
    const auto next = std::ranges::find_if(flights_, [&](const Flight& flight) {
      return flight.from == from && flight.to == to && (in_order || alternative_name(flight.message) == type);
    });
    if (next == flights_.end()) return "no such message is under way";
    if (const auto found = alternative_name(next->message); found != type)
      return "the oldest message of that link is " + std::string(found);
    deliver(next);
    return {};
  }

  std::string tell(NodeId from, NodeId to) override {
    for (NodeId node : {from, to}) {
      if (!is_member(node)) return no_member(node);
    }
    typename AppStampOf<P>::type stamp{};
    const std::uint64_t id = cluster_.tell(cluster_.index(from), to, now(), stamp);
    cluster_.hear(cluster_.index(to), from, now(), stamp, id);
    return {};
  }

  std::string crash(NodeId node) override {
    if (!is_member(node)) return no_member(node);
    const std::uint32_t i = cluster_.index(node);
    crashed_[i] = true;
    cluster_.client(i).crash();
    std::erase_if(timers_, [&](const Running& timer) { return timer.node == i; });
    cluster_.befall(trace::Kind::crash, i, now());
    return {};
  }

  std::string fire(NodeId node) override {
    if (!is_member(node)) return no_member(node);
    const auto found = std::ranges::find(timers_, cluster_.index(node), &Running::node);
    if (found == timers_.end()) return "no timer runs there";
    fire(found);
    return {};
  }

  std::string inject(NodeId from, NodeId to, std::string_view type) override {
    for (NodeId node : {from, to}) {
      if (!is_member(node)) return no_member(node);
    }
    auto message = named<Message>(type);
    if (!message) return "there is no message " + std::string(type);
    flights_.push_back({from, to, std::move(*message), 0});
    return {};
  }

  bool deliver_oldest() override {
    if (flights_.empty()) return false;
    deliver(flights_.begin());
    return true;
  }

  bool fire_oldest() override {
    if (timers_.empty()) return false;
    fire(timers_.begin());
    return true;
  }

  std::vector<InFlight> in_flight() const override {
    std::vector<InFlight> list;
    for (const Flight& flight : flights_)
      list.push_back({flight.from, flight.to, std::string(alternative_name(flight.message)),
                      alternative_content(flight.message)});
    return list;
  }

  std::uint64_t bounced() const override { return bounced_; }

  std::string state(NodeId node) const override {
    ensure(is_member(node), "only members have a state");
    return describe_json(cluster_.node(cluster_.index(node)));
  }

  bool may(NodeId node, std::string_view type) const override {
    if (!is_member(node)) return false;
    const auto command = named<Command>(type);
    const std::uint32_t i = cluster_.index(node);
    return command && !crashed_[i] && !cluster_.is_server(i) && cluster_.client(i).may(*command);
  }

  void end() override {
    if (cluster_.observer())
      cluster_.observer()->end({.at = now(), .quiet = flights_.empty() && timers_.empty()});
  }

 private:
  using Command = typename P::Spec::Command;
  using Message = typename P::Message;
  struct Flight {
    NodeId from;
    NodeId to;
    Message message;
    std::uint64_t id;
  };
  struct Running {
    std::uint32_t node;
    typename P::Timer timer;
    std::uint64_t cause;
  };

  bool is_member(NodeId node) const { return cluster_.all().contains(node); }
  static std::string no_member(NodeId node) { return "there is no process " + std::to_string(node.value); }

  // As the client would put it, if it wanted to; else with nothing filled in.
  std::optional<Command> command_of(std::uint32_t i, std::string_view type) const {
    auto hopeful = cluster_.client(i);
    hopeful.wish();
    if (const auto next = hopeful.next(); next && alternative_name(*next) == type) return next;
    return named<Command>(type);
  }

  Ticks now() { return {moment_++}; }  // by hand, time only orders

  template <class Variant>
  static std::optional<Variant> named(std::string_view type) {
    std::optional<Variant> found;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((type_name<std::variant_alternative_t<I, Variant>> == type
            ? (void)found.emplace(std::in_place_index<I>)
            : (void)0),
       ...);
    }
    (std::make_index_sequence<std::variant_size_v<Variant>>{});
    return found;
  }

  void settle(std::uint32_t i, std::uint64_t first_id) {
    ensure(out_.choices.empty(), "no coins on a stage: who directs it decides everything");
    std::vector<Flight> bounced;
    for (auto& send : out_.sends) {
      Flight flight = {cluster_.id(i), send.to, std::move(send.message), first_id == 0 ? 0 : first_id++};
      const bool bounces = HearsBounces<P> && crashed_[cluster_.index(send.to)];
      (bounces ? bounced.push_back(std::move(flight)) : flights_.push_back(std::move(flight)));
    }
    for (const auto& event : out_.events) cluster_.client(i).see(event);
    if constexpr (HasTimers<P>) {
      for (const auto timer : out_.disarmed) stop(i, timer);
      for (const auto& arm : out_.armed) {
        stop(i, arm.timer);
        timers_.push_back({i, arm.timer, cluster_.last_step()});
      }
    }
    for (const Flight& flight : bounced) bounce(flight);
  }

  // By hand, a node that is down is noticed at once.
  void bounce(const Flight& flight) {
    ++bounced_;
    const std::uint32_t sender = cluster_.index(flight.from);
    if (!crashed_[sender]) settle(sender, cluster_.bounce(out_, sender, now(), flight.to, flight.message));
  }

  void stop(std::uint32_t i, typename P::Timer timer) {
    std::erase_if(timers_, [&](const Running& r) { return r.node == i && r.timer == timer; });
  }

  void deliver(typename std::deque<Flight>::iterator next) {
    const Flight flight = std::move(*next);
    flights_.erase(next);
    const std::uint32_t to = cluster_.index(flight.to);
    if (crashed_[to]) {
      if constexpr (HearsBounces<P>) bounce(flight);
      return;
    }
    settle(to, cluster_.deliver(out_, to, now(), flight.from, flight.message, flight.id));
  }

  void fire(typename std::vector<Running>::iterator next) {
    if constexpr (HasTimers<P>) {
      const Running timer = *next;
      timers_.erase(next);
      settle(timer.node, cluster_.fire(out_, timer.node, now(), timer.timer, timer.cause));
    }
  }

  Cluster<P> cluster_;
  std::vector<bool> crashed_;
  std::deque<Flight> flights_;   // in the order of sending
  std::vector<Running> timers_;  // in the order of starting
  Effects<P> out_;
  std::uint64_t moment_ = 0;
  std::uint64_t bounced_ = 0;
};

}  // namespace conclave::sim
