// Many timers that seldom fire, on one clock of the loop: deadlines of calls, silences of connections.
//
// Arming and disarming cost a few instructions and allocate nothing. A timer never fires early, and at most
// one tick late; that is enough for deadlines.
#pragma once
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <memory>

namespace conclave::rpc {

using Clock = std::chrono::steady_clock;

class TimerWheel;

// Something that expires; armed at most once at a time. Destroying it disarms it.
class Timed
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  Timed() = default;
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  virtual ~Timed() { disarm(); }

  virtual void expired() = 0;
  bool armed() const { return wheel_ != nullptr; }
  Clock::time_point due() const { return due_; }
  inline void disarm();

 private:
  friend class TimerWheel;
  TimerWheel* wheel_ = nullptr;
  Clock::time_point due_ = {};
};

// A timer that is a member: calls a method of its owner.
template <class Owner, void (Owner::*method)()>
class TimedMember final : public Timed {
 public:
  explicit TimedMember(Owner& owner) : owner_(owner) {}
  void expired() override { (owner_.*method)(); }

 private:
  Owner& owner_;
};

class TimerWheel {
 public:
  static constexpr std::chrono::milliseconds tick{4};

  explicit TimerWheel(boost::asio::io_context& loop);
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Arms anew if it was armed.
  void arm(Timed& timed, Clock::time_point due);
  void arm(Timed& timed, Clock::duration after) { arm(timed, Clock::now() + after); }
  std::size_t armed() const { return armed_; }
  // With nothing armed the clock may still be set, and keeps the loop running; this stops it.
  void rest();

 private:
  friend class Timed;
  static constexpr std::size_t slots = 1024;
  using List = boost::intrusive::list<Timed, boost::intrusive::constant_time_size<false>>;

  std::int64_t tick_of(Clock::time_point due) const;
  List& slot(std::int64_t at) { return wheel_[static_cast<std::size_t>(at) % slots]; }
  void take_out(Timed& timed);
  void fire();
  void sleep_until_next();

  boost::asio::steady_timer timer_;
  Clock::time_point begin_ = Clock::now();
  std::int64_t turned_ = 0;        // ticks that were looked at
  std::int64_t sleeping_to_ = -1;  // tick for which the clock is set; -1: it is not
  std::size_t armed_ = 0;
  std::array<List, slots> wheel_ = {};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

inline void Timed::disarm() {
  if (wheel_ != nullptr) wheel_->take_out(*this);
}

}  // namespace conclave::rpc
