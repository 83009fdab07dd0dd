// Timers of protocol instances on the member's loop. A protocol asks to be woken after a range of ticks; here
// a tick is a fixed piece of monotonic time, and the moment is drawn by a seeded generator.
//
//   live::Timers<std::pair<Instance, P::Timer>> timers(loop, seed, [&](const auto& key) { … });
//   timers.arm(key, {{150}, {300}});   // starts anew if it runs already
//   timers.disarm(key);
//
// Time that passes while the process is stopped counts: what fell due meanwhile fires when it wakes, in the
// order of its due times. Two that are due at once fire in the order of arming.
#pragma once
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/ensure.hpp"
#include "core/random.hpp"
#include "core/ticks.hpp"

namespace conclave::live {

inline constexpr std::chrono::nanoseconds usual_tick = std::chrono::milliseconds(1);

template <class Key>
class Timers {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  // May arm and disarm, itself too.
  using Fire = std::function<void(const Key&)>;

  Timers(boost::asio::io_context& loop, std::uint64_t seed, Fire fire,
         std::chrono::nanoseconds tick = usual_tick)
      : seed_(seed), fire_(std::move(fire)), tick_(tick), alarm_(std::make_shared<Alarm>(loop)) {
    ensure(tick_ > tick_.zero(), "time passes from tick to tick");
  }

  void arm(const Key& key, TickRange after) {
    ensure(after.min <= after.max, "a range has its lesser end first");
    ensure(after.max.count <= most_ticks, "a timer waits no longer than time lasts");
    const ScrambledBits draw(scramble(seed_ + scramble(++armed_so_far_)));
    const std::uint64_t ticks = draw.between(after.min.count, after.max.count);
    const auto [place, fresh] = timers_.try_emplace(key);
    Timer& timer = place->second;
    if (!fresh && !timer.runs) --resting_;
    timer.due = Clock::now() + static_cast<std::int64_t>(ticks) * tick_;
    timer.order = armed_so_far_;
    timer.runs = true;
    // Where an earlier entry stands in the queue already, it will find out when it comes up: protocols put
    // their timers off with every message.
    if (fresh || timer.due < timer.queued) enqueue(key, timer);
    wake();
  }

  void disarm(const Key& key) {
    const auto place = timers_.find(key);
    if (place != timers_.end()) rest(place->second);
    sweep_if_worth_it();
  }
  // All keys from the first on and before the end: those of an instance that is gone.
  void disarm(const Key& first, const Key& end) {
    for (auto place = timers_.lower_bound(first); place != timers_.end() && place->first < end; ++place)
      rest(place->second);
    sweep_if_worth_it();
  }

  bool armed(const Key& key) const {
    const auto place = timers_.find(key);
    return place != timers_.end() && place->second.runs;
  }
  // When it will fire; only for one that is armed.
  Time due(const Key& key) const { return timers_.at(key).due; }
  // What is kept, with what was disarmed and is not yet due.
  std::size_t kept() const { return std::max(timers_.size(), queue_.size()); }

 private:
  static constexpr std::uint64_t most_ticks = 1'000'000'000;
  static constexpr std::size_t most_resting = 1000;

  struct Timer {
    Time due = {};
    Time queued = {};  // the earliest entry of the queue that stands for it
    std::uint64_t order = 0;
    bool runs = false;
  };
  struct Entry {
    Time time;
    std::uint64_t order;
    Key key;
    bool operator<(const Entry& other) const {  // the earliest is the greatest
      return std::pair(other.time, other.order) < std::pair(time, order);
    }
  };
  struct Alarm {
    explicit Alarm(boost::asio::io_context& loop) : timer(loop) {}
    boost::asio::steady_timer timer;
    Time time = Time::max();
  };

  void enqueue(const Key& key, Timer& timer) {
    timer.queued = timer.due;
    queue_.push_back({timer.due, timer.order, key});
    std::push_heap(queue_.begin(), queue_.end());
  }

  void rest(Timer& timer) {
    resting_ += timer.runs;
    timer.runs = false;
  }

  // Who arms and disarms under ever new keys shall not fill the memory with what will never fire.
  void sweep_if_worth_it() {
    if (resting_ <= most_resting || 2 * resting_ <= timers_.size()) return;
    std::erase_if(timers_, [](const auto& entry) { return !entry.second.runs; });
    std::erase_if(queue_, [&](const Entry& entry) {
      const auto place = timers_.find(entry.key);
      return place == timers_.end() || place->second.queued != entry.time;
    });
    std::make_heap(queue_.begin(), queue_.end());
    resting_ = 0;
  }

  void wake() {
    if (queue_.empty() || queue_.front().time >= alarm_->time) return;
    alarm_->time = queue_.front().time;
    alarm_->timer.expires_at(alarm_->time);
    alarm_->timer.async_wait([this, weak = std::weak_ptr(alarm_)](const boost::system::error_code& error) {
      if (error || weak.expired()) return;
      on_alarm();
    });
  }

  void on_alarm() {
    alarm_->time = Time::max();
    const Time now = Clock::now();
    while (!queue_.empty() && queue_.front().time <= now) {
      std::pop_heap(queue_.begin(), queue_.end());
      const Entry entry = std::move(queue_.back());
      queue_.pop_back();
      come_up(entry, now);
    }
    wake();
  }

  void come_up(const Entry& entry, Time now) {
    const auto place = timers_.find(entry.key);
    if (place == timers_.end() || place->second.queued != entry.time)
      return;  // an earlier entry stood for it
    Timer& timer = place->second;
    if (timer.runs && (timer.due > now || timer.due > entry.time)) return enqueue(entry.key, timer);
    const bool fires = timer.runs;
    resting_ -= !fires;
    timers_.erase(place);
    if (fires) fire_(entry.key);
  }

  std::uint64_t seed_;
  Fire fire_;
  std::chrono::nanoseconds tick_;
  std::uint64_t armed_so_far_ = 0;
  std::map<Key, Timer> timers_;
  std::vector<Entry> queue_;  // a heap
  std::size_t resting_ = 0;   // of the timers, those that were disarmed
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace conclave::live
