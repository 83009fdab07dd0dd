// Work that takes long and cannot be cut: one at a time is under way, and connections take turns.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "rpc/peer.hpp"

namespace conclave::etcd {

class Turns {
 public:
  using Job = std::move_only_function<bool()>;  // begins; false: there is nothing to do any more

  void run(rpc::ConnectionId whose, Job job) {
    auto& queue = queues_[whose];
    if (queue.empty()) turns_.push_back(whose);
    queue.push_back(std::move(job));
    ++waiting_;
    next();
  }
  // What was begun is over.
  void done() {
    busy_ = false;
    next();
  }
  std::size_t waiting() const { return waiting_; }

 private:
  void next() {
    while (!busy_ && !turns_.empty()) {
      const auto queue = queues_.find(turns_.front());
      turns_.pop_front();
      Job job = std::move(queue->second.front());
      queue->second.pop_front();
      --waiting_;
      if (queue->second.empty())
        queues_.erase(queue);
      else
        turns_.push_back(queue->first);
      busy_ = true;  // a job may add others
      busy_ = job();
    }
  }

  std::map<rpc::ConnectionId, std::deque<Job>> queues_ = {};
  std::deque<rpc::ConnectionId> turns_ = {};
  std::size_t waiting_ = 0;
  bool busy_ = false;
};

}  // namespace conclave::etcd
