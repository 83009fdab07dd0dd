// A correct group within one process, for tests of desks: locks first come first served with growing fences,
// elections that the test decides, notes in order. The same calls give the same events.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "core/ensure.hpp"
#include "live/group.hpp"

namespace conclave::desk {

class Hall {
 public:
  class Seat;
  explicit Hall(boost::asio::io_context& loop) : loop_(loop) {}

  live::Group::Kind kind = live::Group::Kind::locks;
  std::string engine = "hall";
  bool at_once = false;        // grants come from inside `acquire` and `release`
  bool hold_grants = false;    // they wait for `let_grants_go`
  bool hold_promises = false;  // as do promises

  Seat& seat(std::uint32_t id);
  // Members that a lock has, and that wait for it.
  std::optional<NodeId> holder(const std::string& name) const { return place(name).holder; }
  std::size_t waiting(const std::string& name) const { return place(name).queue.size(); }
  void let_grants_go();
  void let_promises_go();
  // The group takes a lock away from whom it granted it to.
  void lose(const std::string& name);
  void elect(const std::string& name, std::optional<NodeId> leader);
  void cut(NodeId a, NodeId b);
  void join(NodeId a, NodeId b);
  void evict(NodeId member);

 private:
  struct Place {
    std::deque<NodeId> queue = {};
    std::optional<NodeId> holder = {};
    bool on_its_way = false;  // granted, and the holder does not know it yet
    std::uint64_t fence = 0;
  };
  const Place& place(const std::string& name) const {
    static const Place none;
    const auto at = places_.find(name);
    return at == places_.end() ? none : at->second;
  }
  void acquire(NodeId who, const std::string& name);
  void release(NodeId who, const std::string& name);
  void advance(const std::string& name);
  void deliver(const std::string& name);
  static std::pair<NodeId, NodeId> pair(NodeId a, NodeId b) { return {std::min(a, b), std::max(a, b)}; }

  boost::asio::io_context& loop_;
  std::map<std::string, Place> places_ = {};
  std::map<std::string, NodeId> leaders_ = {};
  std::map<NodeId, std::unique_ptr<Seat>> seats_ = {};
  std::set<std::pair<NodeId, NodeId>> cut_ = {};
  std::set<NodeId> evicted_ = {};
  std::vector<std::string> held_back_ = {};  // grants
  std::vector<std::move_only_function<void()>> promises_ = {};
  std::uint64_t epoch_ = 1;
};

class Hall::Seat final : public live::Group {
 public:
  Seat(Hall& hall, NodeId self) : hall_(hall), self_(self) {}

  Kind kind() const override { return hall_.kind; }
  void listen(live::GroupEvents wanted) override { events = std::move(wanted); }
  void acquire(const std::string& name) override { hall_.acquire(self_, name); }
  void release(const std::string& name) override { hall_.release(self_, name); }
  void take_part(const std::string& name) override { taking_part.insert(name); }
  std::optional<NodeId> leader(const std::string& name) const override {
    const auto at = hall_.leaders_.find(name);
    return at == hall_.leaders_.end() ? std::nullopt : std::optional(at->second);
  }
  void note(NodeId to, live::ByteView note) override {
    std::vector<std::byte> bytes(note.begin(), note.end());
    boost::asio::post(hall_.loop_, [this, to, bytes = std::move(bytes)] {
      const live::GroupEvents& theirs = hall_.seat(to.value).events;
      if (theirs.noted) theirs.noted(self_, bytes);
    });
  }
  live::GroupStatus status() const override {
    live::GroupStatus status = {
        .self = self_, .engine = hall_.engine, .group = "test", .epoch = hall_.epoch_};
    for (const auto& [id, seat] : hall_.seats_)
      status.members.push_back({.id = id,
                                .address = "hall:" + std::to_string(id.value),
                                .self = id == self_,
                                .up = !hall_.cut_.contains(pair(id, self_)) && !hall_.evicted_.contains(id),
                                .evicted = hall_.evicted_.contains(id),
                                .incarnation = seat->incarnation,
                                .since = std::chrono::seconds(5)});
    for (const auto& [name, place] : hall_.places_) {
      const bool holds = place.holder == self_;
      const bool waits = std::ranges::count(place.queue, self_) > 0;
      live::NameStatus told = {.name = name,
                               .epoch = 1,
                               .phase = holds   ? "holding"
                                        : waits ? "waiting"
                                                : "idle"};
      if (holds) told.fence = place.fence;
      if (waits && place.holder) {
        told.waits_for = {*place.holder};
        told.waiting_since = std::chrono::seconds(12);
        told.words = "waits for the reply of member " + std::to_string(place.holder->value);
      }
      status.names.push_back(told);
    }
    return status;
  }
  std::expected<std::uint64_t, std::string> evict(NodeId member, std::uint64_t) override {
    if (!hall_.seats_.contains(member))
      return std::unexpected("there is no member " + std::to_string(member.value));
    hall_.evict(member);
    return hall_.epoch_;
  }
  void promise_longest_lease(std::chrono::nanoseconds lease, std::move_only_function<void()> then) override {
    promised.push_back(lease);
    if (!hall_.hold_promises) return then();
    hall_.promises_.push_back(std::move(then));
  }

  live::GroupEvents events = {};
  std::set<std::string> taking_part = {};
  std::vector<std::chrono::nanoseconds> promised = {};
  std::uint64_t incarnation = 1;

 private:
  Hall& hall_;
  NodeId self_;
};

inline Hall::Seat& Hall::seat(std::uint32_t id) {
  auto& seat = seats_[NodeId{id}];
  if (!seat) seat = std::make_unique<Seat>(*this, NodeId{id});
  return *seat;
}

inline void Hall::acquire(NodeId who, const std::string& name) {
  Place& place = places_[name];
  if (place.holder == who && place.on_its_way)
    return;  // taken back, and asked again: that grant is the answer
  ensure(place.holder != who && std::ranges::count(place.queue, who) == 0, "a member asks once at a time");
  place.queue.push_back(who);
  advance(name);
}

inline void Hall::release(NodeId who, const std::string& name) {
  Place& place = places_[name];
  if (place.holder == who) {
    if (place.on_its_way) return;  // the grant still comes, and with it another release
    place.holder.reset();
  } else {
    ensure(std::ranges::count(place.queue, who) == 1, "only who asks or holds releases");
    std::erase(place.queue, who);
  }
  advance(name);
}

inline void Hall::advance(const std::string& name) {
  Place& place = places_[name];
  if (place.holder || place.queue.empty()) return;
  place.holder = place.queue.front();
  place.queue.pop_front();
  ++place.fence;
  place.on_its_way = true;
  if (hold_grants)
    held_back_.push_back(name);
  else if (at_once)
    deliver(name);
  else
    boost::asio::post(loop_, [this, name] { deliver(name); });
}

inline void Hall::deliver(const std::string& name) {
  Place& place = places_[name];
  place.on_its_way = false;
  seat(place.holder->value).events.granted(name, place.fence);
}

inline void Hall::let_grants_go() {
  hold_grants = false;
  for (const std::string& name : std::exchange(held_back_, {})) deliver(name);
}

inline void Hall::let_promises_go() {
  hold_promises = false;
  for (auto& then : std::exchange(promises_, {})) then();
}

inline void Hall::lose(const std::string& name) {
  Place& place = places_[name];
  const NodeId loser = place.holder.value();
  place.holder.reset();
  seat(loser.value).events.lost(name, "the test says so");
  advance(name);
}

inline void Hall::elect(const std::string& name, std::optional<NodeId> leader) {
  if (leader)
    leaders_[name] = *leader;
  else
    leaders_.erase(name);
  for (const auto& [id, seat] : seats_)
    if (seat->taking_part.contains(name)) seat->events.elected(name, leader);
}

inline void Hall::cut(NodeId a, NodeId b) {
  cut_.insert(pair(a, b));
  seat(a.value).events.peer_down(b);
  seat(b.value).events.peer_down(a);
}

inline void Hall::join(NodeId a, NodeId b) {
  cut_.erase(pair(a, b));
  seat(a.value).events.peer_up(b);
  seat(b.value).events.peer_up(a);
}

inline void Hall::evict(NodeId member) {
  evicted_.insert(member);
  ++epoch_;
  for (const auto& [id, seat] : seats_)
    if (id != member) seat->events.peer_evicted(member);
}

}  // namespace conclave::desk
