#include "rpc/timer_wheel.hpp"

namespace conclave::rpc {

TimerWheel::TimerWheel(boost::asio::io_context& loop) : timer_(loop) {}

TimerWheel::~TimerWheel() {
  *alive_ = false;
  for (List& list : wheel_)
    while (!list.empty()) take_out(list.front());
}

// Rounded up: the tick is over before a timer in it fires.
std::int64_t TimerWheel::tick_of(Clock::time_point due) const {
  return std::max<std::int64_t>((due - begin_ + tick - Clock::duration(1)) / tick, turned_ + 1);
}

void TimerWheel::arm(Timed& timed, Clock::time_point due) {
  timed.disarm();
  timed.due_ = due;
  timed.wheel_ = this;
  const std::int64_t at = tick_of(due);
  slot(at).push_back(timed);
  ++armed_;
  if (sleeping_to_ < 0 || at < sleeping_to_) sleep_until_next();
}

void TimerWheel::take_out(Timed& timed) {
  timed.unlink();
  timed.wheel_ = nullptr;
  --armed_;
}

void TimerWheel::rest() {
  if (armed_ > 0) return;
  timer_.cancel();
  sleeping_to_ = -1;
}

void TimerWheel::sleep_until_next() {
  sleeping_to_ = -1;
  if (armed_ == 0) return;
  std::int64_t next = turned_ + 1;
  while (slot(next).empty()) ++next;
  sleeping_to_ = next;
  timer_.expires_at(begin_ + next * tick);
  timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (*alive && !error) fire();
  });
}

void TimerWheel::fire() {
  const Clock::time_point now = Clock::now();
  const std::int64_t reached = (now - begin_) / tick;
  List expired;
  // One turn visits every slot; more would only meet the same timers again.
  const std::int64_t last = std::min<std::int64_t>(reached, turned_ + static_cast<std::int64_t>(slots));
  for (std::int64_t at = turned_ + 1; at <= last; ++at) {
    List& list = slot(at);
    for (auto i = list.begin(); i != list.end();) {
      Timed& timed = *i++;
      if (timed.due_ > now) continue;  // on a later turn of the wheel
      timed.unlink();
      expired.push_back(timed);
    }
  }
  turned_ = std::max(turned_, reached);
  // Whoever expires may disarm or destroy others that expired with it: they leave this list then.
  while (!expired.empty()) {
    Timed& timed = expired.front();
    take_out(timed);
    timed.expired();
  }
  sleep_until_next();
}

}  // namespace conclave::rpc
