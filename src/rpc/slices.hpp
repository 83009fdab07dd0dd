// Long work, done a little at a time: between two slices the loop serves everybody else, and those whose work
// waits take turns, one for each connection.
//
//   slices.run(connection, [this, at = begin]() mutable { …some hundred microseconds…; return at != end; });
//
// What is short is done before `run` returns. All that is done at once in one turn of the loop, whoever asked
// for it, shares one slice of time. A step may ask for more work; that waits. Work whose client is gone
// should say so and end.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "rpc/peer.hpp"

namespace conclave::rpc {

class Slices {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  using Step = std::move_only_function<bool()>;  // does a little; false: that was all

  // As long as nobody notices, and long against what it takes to look for others.
  static constexpr std::chrono::microseconds usual{1000};

  explicit Slices(boost::asio::io_context& loop, std::chrono::microseconds slice = usual,
                  Now now = Clock::now);
  ~Slices();  // what is not done is forgotten
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;

  // What one connection asks for is done in that order.
  void run(ConnectionId whose, Step step);
  std::size_t waiting() const { return waiting_; }

 private:
  enum class Went : std::uint8_t { on, done, away };  // away: and so are we

  Went go(Step& step);
  void take_turns();
  void schedule();

  boost::asio::io_context& loop_;
  const std::chrono::microseconds slice_;
  const Now now_;
  Clock::duration spent_ = {};  // in this turn of the loop
  bool working_ = false;
  bool turn_is_due_ = false;
  std::map<ConnectionId, std::deque<Step>> queues_ = {};
  std::deque<ConnectionId> turns_ = {};  // whose it is next
  std::size_t waiting_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::rpc
