// A timer of the loop by the clock that leases are counted with: asio's own ones stand still while the
// machine sleeps.
#pragma once
#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <conclave/client.hpp>

#include "core/ensure.hpp"

namespace conclave {

class BootTimer {
 public:
  explicit BootTimer(boost::asio::io_context& loop)
      : file_(loop, timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {}

  void set(BootClock::time_point at) {
    const auto since = std::max<BootClock::duration>(std::chrono::nanoseconds(1), at.time_since_epoch());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    itimerspec when{};
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since - seconds).count();
    ensure(timerfd_settime(file_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr) == 0,
           "a timer takes every time");
  }
  // Told once, when the time that was last set has come.
  template <class Then>
  void wait(Then then) {
    file_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [then = std::move(then)](const boost::system::error_code& error) mutable {
                       if (!error) then();
                     });
  }
  void cancel() {
    boost::system::error_code ignored;
    file_.cancel(ignored);
  }

 private:
  boost::asio::posix::stream_descriptor file_;
};

}  // namespace conclave
