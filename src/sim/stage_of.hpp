// The stage of one protocol.
#pragma once
#include <deque>
#include <vector>

#include "core/read_json.hpp"
#include "sim/cluster.hpp"
#include "sim/stage.hpp"

namespace conclave::sim {

template <Protocol P>
class StageOf : public Stage {
 public:
  StageOf(NodeSet members, typename P::Setup setup, trace::Observer* observer)
      : cluster_(std::move(members), std::move(setup), observer),
        crashed_(cluster_.size()),
        unheard_(cluster_.size()),
        written_(cluster_.size()),
        coins_(cluster_.size()) {
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

  std::string crash(NodeId node) override { return crash_losing(node, 0); }

  std::string crash_losing(NodeId node, std::uint64_t writes) override {
    if (!is_member(node)) return no_member(node);
    const std::uint32_t i = cluster_.index(node);
    if (writes > written_[i].size()) return "the node has not written so much";
    written_[i].resize(written_[i].size() - writes);
    crashed_[i] = true;
    unheard_[i].clear();
    coins_[i].clear();
    cluster_.client(i).crash();
    std::erase_if(timers_, [&](const Running& timer) { return timer.node == i; });
    cluster_.befall(trace::Kind::crash, i, now(), writes_lost(writes));
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
    if (cluster_.observer()) cluster_.observer()->end({.at = now(), .quiet = is_quiet()});
  }

  void leave_bounces_to_director() override { bounces_at_once_ = false; }
  void leave_disks_to_director() override {
    syncs_at_once_ = false;
    cluster_.set_instant_disk(false);
  }
  void set_time(Ticks now) override { time_ = now; }
  bool is_up(NodeId node) const override { return is_member(node) && !crashed_[cluster_.index(node)]; }

  std::string command_exactly(NodeId node, std::string_view type, std::string_view content) override {
    if (!is_up(node)) return not_up(node);
    const std::uint32_t i = cluster_.index(node);
    if (cluster_.is_server(i)) return "a server has no client";
    const std::optional<Command> command = command_of(i, type, content);
    if (!command) return obey(i, type, content);
    if (!cluster_.client(i).may(*command)) return "the client is not in a position to " + std::string(type);
    settle(i, cluster_.command(out_, i, now(), *command));
    return {};
  }

  std::string recover(NodeId node, bool durable, std::string_view state) override {
    if (!is_member(node)) return no_member(node);
    const std::uint32_t i = cluster_.index(node);
    if (!crashed_[i]) return "the node has not crashed";
    if (durable && written_[i].empty()) return "nothing was persisted there";
    crashed_[i] = false;
    if (durable && !state.empty()) forget_what_was_lost(i, state);
    const std::optional<Durable> found = durable ? std::optional(written_[i].back()) : std::nullopt;
    settle(i, cluster_.recover(out_, i, now(), found));
    return {};
  }

  std::string fire_timer(NodeId node, std::string_view name) override {
    if (!is_up(node)) return not_up(node);
    const std::uint32_t i = cluster_.index(node);
    const auto found = std::ranges::find_if(timers_, [&](const Running& running) {
      return running.node == i && enumerator_name(running.timer) == name;
    });
    if (found == timers_.end()) return "the timer does not run";
    fire(found);
    return {};
  }

  std::string sync(NodeId node, std::uint64_t steps) override {
    if constexpr (HearsOfDisk<P>) {
      if (!is_up(node)) return not_up(node);
      const std::uint32_t i = cluster_.index(node);
      if (steps == 0 || unheard_[i].size() < steps) return "nothing is on its way to the disk";
      const auto last = unheard_[i].begin() + static_cast<std::ptrdiff_t>(steps) - 1;
      const Write write = std::move(last->last);
      unheard_[i].erase(unheard_[i].begin(), last + 1);
      forget_what_was_kept(i);
      settle(i, cluster_.synced(out_, i, now(), write, steps));
      return {};
    }
    return "the algorithm does not wait for its disk";
  }

  std::string toss(NodeId node, unsigned face) override {
    if (!is_up(node)) return not_up(node);
    const std::uint32_t i = cluster_.index(node);
    if (coins_[i].empty()) return "the node has not asked for a coin";
    if (face >= coins_[i].front())
      return "the coin shows 0 to " + std::to_string(coins_[i].front() - 1) + " only";
    coins_[i].erase(coins_[i].begin());
    settle(i, cluster_.toss(out_, i, now(), face));
    return {};
  }

  std::string begin_round(NodeId node, std::uint32_t round) override {
    if (!InRounds<P>) return "the algorithm does not go by rounds";
    if (!is_up(node)) return not_up(node);
    const std::uint32_t i = cluster_.index(node);
    settle(i, cluster_.begin_round(out_, i, now(), round));
    return {};
  }

  std::string deliver_exactly(const Which& which) override {
    if (!is_up(which.to)) return not_up(which.to);
    const auto found = find(flights_, which);
    if (found == flights_.end()) return "no such message is under way";
    deliver(found);
    return {};
  }

  std::string lose(const Which& which, std::string_view why) override {
    if (const auto word = find_word(which); word != words_.end()) {
      drop(word->id, why);
      words_.erase(word);
      return {};
    }
    const auto found = find(flights_, which);
    if (found == flights_.end()) return "no such message is under way";
    drop(found->id, why);
    if (HearsBounces<P> && !is_up(which.to)) returning_.push_back(std::move(*found));
    flights_.erase(found);
    return {};
  }

  std::string duplicate(const Which& which) override {
    const auto found = find(flights_, which);
    if (found == flights_.end()) return "no such message is under way";
    if (cluster_.ghost()) cluster_.ghost()->copy(found->id);
    cluster_.befall_links(trace::Kind::duplicate, now(), {"duplicate", {}}, found->id);
    Flight copy = *found;
    flights_.insert(std::next(found), std::move(copy));
    return {};
  }

  // A message that was lost because its receiver was down, or is about to be.
  std::string bounce(const Which& which) override {
    if (!HearsBounces<P>) return "messages do not come back here";
    if (!is_up(which.from)) return not_up(which.from);
    auto* list = &returning_;
    auto found = find(*list, which);
    if (found == list->end() && is_member(which.to) && !is_up(which.to)) {
      list = &flights_;
      found = find(*list, which);
      if (found != list->end() && cluster_.ghost()) cluster_.ghost()->drop(found->id);
    }
    if (found == list->end()) return "no such message finds its receiver down";
    const Flight flight = std::move(*found);
    list->erase(found);
    bounce(flight);
    return {};
  }

  std::string send_word(NodeId from, NodeId to) override {
    if (!is_up(from)) return not_up(from);
    if (!is_member(to)) return no_member(to);
    Word word = {from, to, {}, 0};
    word.id = cluster_.tell(cluster_.index(from), to, now(), word.stamp);
    words_.push_back(std::move(word));
    return {};
  }

  std::string hear_word(const Which& which) override {
    if (!is_up(which.to)) return not_up(which.to);
    const auto found = find_word(which);
    if (found == words_.end()) return "nobody told it anything";
    const Word word = std::move(*found);
    words_.erase(found);
    cluster_.hear(cluster_.index(word.to), word.from, now(), word.stamp, word.id);
    return {};
  }

  std::string remark(trace::Kind kind, NodeId node, std::string_view what) override {
    if (!is_member(node)) return no_member(node);
    cluster_.befall(kind, cluster_.index(node), now(), std::string(what));
    return {};
  }
  std::string remark_on_links(trace::Kind kind, trace::Item what) override {
    cluster_.befall_links(kind, now(), std::move(what));
    return {};
  }

 private:
  using Command = typename P::Spec::Command;
  using Message = typename P::Message;
  using Durable = typename DurableOf<P>::type;
  using Write = typename WriteOf<P>::type;
  static constexpr std::string_view application = "application";  // as traces call its messages
  struct Flight {
    NodeId from;
    NodeId to;
    Message message;
    std::uint64_t id;
  };
  struct Word {  // of the application
    NodeId from;
    NodeId to;
    typename AppStampOf<P>::type stamp;
    std::uint64_t id;
  };
  struct Unheard {  // what a step wrote
    Write last;
    std::size_t writes;
  };
  struct Running {
    std::uint32_t node;
    typename P::Timer timer;
    std::uint64_t cause;
  };

  bool is_member(NodeId node) const { return cluster_.all().contains(node); }
  static std::string no_member(NodeId node) { return "there is no process " + std::to_string(node.value); }

  std::string not_up(NodeId node) const {
    return is_member(node) ? "p" + std::to_string(node.value) + " has crashed" : no_member(node);
  }

  // As the client would put it, if it wanted to; else with nothing filled in.
  std::optional<Command> command_of(std::uint32_t i, std::string_view type,
                                    std::string_view content = {}) const {
    const auto fits = [&](const std::optional<Command>& command) {
      return command && alternative_name(*command) == type &&
             (content.empty() || alternative_content(*command) == content);
    };
    auto hopeful = cluster_.client(i);
    hopeful.wish();
    if (const auto next = hopeful.next(); fits(next)) return next;
    if constexpr (HearsOfCrashes<typename P::Spec::Client>) {
      // Nobody directs the failure detector: what it must have said follows from what the client says.
      for (NodeId suspect : cluster_.all()) {
        auto warned = hopeful;
        warned.told_down(suspect);
        if (const auto next = warned.next(); fits(next)) return next;
      }
    }
    const auto bare = named<Command>(type);
    return fits(bare) ? bare : std::nullopt;
  }

  std::string obey(std::uint32_t i, std::string_view type, std::string_view content) {
    std::optional<Command> command = named<Command>(type);
    const bool readable =
        command && std::visit([&](auto& which) { return read_json(content, which); }, *command);
    if (!readable) return "its client would not say " + std::string(type) + std::string(content);
    settle(i, cluster_.obey(out_, i, now(), *command));
    return {};
  }

  // Of its writes the last may never have got to the disk; which it found there, its state shows.
  void forget_what_was_lost(std::uint32_t i, std::string_view state) {
    auto& written = written_[i];
    Effects<P> unseen;
    for (std::size_t left = written.size(); left > 0; --left) {
      if (describe_json(cluster_.returned(i, written[left - 1], unseen)) != state) continue;
      written.erase(written.begin() + static_cast<std::ptrdiff_t>(left), written.end());
      return;
    }
  }

  // What the disk has is not lost any more, so nobody comes back with less.
  void forget_what_was_kept(std::uint32_t i) {
    std::size_t kept = 1;
    for (const Unheard& unheard : unheard_[i]) kept += unheard.writes;
    auto& written = written_[i];
    if (written.size() > kept)
      written.erase(written.begin(), written.end() - static_cast<std::ptrdiff_t>(kept));
  }

  // By hand, time only orders.
  Ticks now() { return time_ ? *time_ : Ticks{moment_++}; }

  bool is_quiet() const {
    if (!timers_.empty() || !words_.empty()) return false;
    if (std::ranges::any_of(coins_, [](const auto& asked) { return !asked.empty(); })) return false;
    return std::ranges::none_of(flights_, [&](const Flight& flight) { return can_arrive(flight); });
  }
  // What a node that is down was sent stays where it is; where the sender would be told of it, that it has
  // not been told is something that is left to do.
  bool can_arrive(const Flight& flight) const {
    return bounces_at_once_ || is_up(flight.to) || (HearsBounces<P> && is_up(flight.from));
  }

  typename std::vector<Flight>::iterator find(std::vector<Flight>& list, const Which& which) const {
    const auto fits = [&](const Flight& flight) {
      return flight.from == which.from && flight.to == which.to &&
             alternative_name(flight.message) == which.type &&
             (which.content.empty() || alternative_content(flight.message) == which.content);
    };
    auto found = list.end();
    if (which.id != 0)
      found = std::ranges::find_if(
          list, [&](const Flight& flight) { return flight.id == which.id && fits(flight); });
    return found != list.end() ? found : std::ranges::find_if(list, fits);
  }

  typename std::vector<Word>::iterator find_word(const Which& which) {
    if (which.type != application) return words_.end();
    const auto fits = [&](const Word& word) { return word.from == which.from && word.to == which.to; };
    const auto found =
        std::ranges::find_if(words_, [&](const Word& word) { return word.id == which.id && fits(word); });
    return found != words_.end() ? found : std::ranges::find_if(words_, fits);
  }

  void drop(std::uint64_t id, std::string_view why) {
    if (cluster_.ghost()) cluster_.ghost()->drop(id);
    cluster_.befall_links(trace::Kind::lose, now(), {std::string(why), {}}, id);
  }

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
    // Who directs the stage decides how coins fall; what one of them leads to is tossed before the next.
    coins_[i].insert(coins_[i].begin(), out_.choices.begin(), out_.choices.end());
    if constexpr (!std::same_as<Durable, NoDurable>) {
      if (!syncs_at_once_ && !out_.writes.empty())
        unheard_[i].push_back({out_.writes.back(), out_.writes.size()});
      for (auto& written : out_.writes) write(i, std::move(written));
    }
    std::vector<Flight> bounced;
    for (auto* sends : {&out_.early, &out_.sends}) {
      for (auto& send : *sends) {
        Flight flight = {cluster_.id(i), send.to, std::move(send.message), first_id == 0 ? 0 : first_id++};
        const bool bounces = HearsBounces<P> && bounces_at_once_ && crashed_[cluster_.index(send.to)];
        (bounces ? bounced.push_back(std::move(flight)) : flights_.push_back(std::move(flight)));
      }
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

  void write(std::uint32_t i, Write change) {
    constexpr std::size_t most_unsynced = 1000;  // more writes are never on their way to a disk
    std::optional<Durable> state;
    if (!written_[i].empty()) state = written_[i].back();
    take_write<P>(state, std::move(change));
    written_[i].push_back(std::move(*state));
    if (written_[i].size() > most_unsynced) written_[i].erase(written_[i].begin());
  }

  void stop(std::uint32_t i, typename P::Timer timer) {
    std::erase_if(timers_, [&](const Running& r) { return r.node == i && r.timer == timer; });
  }

  void deliver(typename std::vector<Flight>::iterator next) {
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
  bool syncs_at_once_ = true;
  std::vector<std::deque<Unheard>> unheard_;   // per node: what its disk has not told it yet
  std::vector<std::vector<Durable>> written_;  // per node: what it persisted, the oldest first
  std::vector<std::vector<unsigned>> coins_;   // per node: the faces of the coins it asked for
  std::vector<Flight> flights_;                // in the order of sending
  std::vector<Flight> returning_;              // lost at a node that was down
  std::vector<Word> words_;                    // of the application, under way
  std::vector<Running> timers_;                // in the order of starting
  Effects<P> out_;
  bool bounces_at_once_ = true;
  std::optional<Ticks> time_;
  std::uint64_t moment_ = 0;
  std::uint64_t bounced_ = 0;
};

}  // namespace conclave::sim
