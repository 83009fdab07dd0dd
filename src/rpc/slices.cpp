#include "rpc/slices.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace conclave::rpc {

Slices::Slices(boost::asio::io_context& loop, std::chrono::microseconds slice, Now now)
    : loop_(loop), slice_(slice), now_(std::move(now)) {}

Slices::~Slices() { *alive_ = false; }

void Slices::run(ConnectionId whose, Step step) {
  schedule();
  if (!working_ && !queues_.contains(whose)) {
    while (spent_ < slice_)
      if (go(step) != Went::on) return;
  }
  auto& queue = queues_[whose];
  if (queue.empty()) turns_.push_back(whose);
  queue.push_back(std::move(step));
  ++waiting_;
}

Slices::Went Slices::go(Step& step) {
  const auto alive = alive_;
  const auto before = now_();
  working_ = true;
  const bool more = step();
  if (!*alive) return Went::away;
  working_ = false;
  spent_ += now_() - before;
  return more ? Went::on : Went::done;
}

void Slices::take_turns() {
  spent_ = {};
  while (!turns_.empty() && spent_ < slice_) {
    const auto next = queues_.find(turns_.front());
    turns_.pop_front();
    std::deque<Step>& queue = next->second;  // it may grow meanwhile, at its end
    Step step = std::move(queue.front());
    const Went went = go(step);
    if (went == Went::away) return;
    if (went == Went::on) {
      queue.front() = std::move(step);
    } else {
      queue.pop_front();
      --waiting_;
    }
    if (queue.empty())
      queues_.erase(next);
    else
      turns_.push_back(next->first);
  }
  if (!turns_.empty()) schedule();
}

// When everything that is ready now has had its turn.
void Slices::schedule() {
  if (std::exchange(turn_is_due_, true)) return;
  boost::asio::post(loop_, [this, alive = alive_] {
    if (!*alive) return;
    turn_is_due_ = false;
    take_turns();
  });
}

}  // namespace conclave::rpc
