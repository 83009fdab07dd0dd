// The least event loop one would write by hand, around a binary heap or around a wheel of ticks. It knows
// no effects, no clients, no faults and no observers: what it does per message is what anybody must do.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/ensure.hpp"
#include "tiny_nodes.hpp"
#include "workload.hpp"

namespace conclave::bench {

// The heap of the standard library, with two choices that make it much faster on a ring: entries are built
// in place, since one put together elsewhere and then copied stalls; and std::pop_heap, unlike its namesake
// in std::ranges, moves nothing when there is but one entry.
template <class Event>
class HeapQueue {
 public:
  void push(std::uint64_t at, const Event& event) {
    heap_.emplace_back(at, next_number_++, event);
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  bool pop(std::uint64_t& at, Event& event) {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    at = heap_.back().at;
    event = heap_.back().event;
    heap_.pop_back();
    return true;
  }

 private:
  struct Entry {
    std::uint64_t at;
    std::uint64_t number;  // equal times in order of insertion
    Event event;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  std::vector<Entry> heap_;
  std::uint64_t next_number_ = 0;
};

// One slot per tick; no event lies further ahead than the wheel is long.
template <class Event>
class WheelQueue {
 public:
  explicit WheelQueue(std::uint64_t most_ahead)
      : slots_(std::bit_ceil(most_ahead + 1)), mask_(slots_.size() - 1) {}

  void push(std::uint64_t at, const Event& event) {
    slots_[at & mask_].push_back(event);
    ++pending_;
  }
  bool pop(std::uint64_t& at, Event& event) {
    if (pending_ == 0) return false;
    while (taken_ == slots_[now_ & mask_].size()) {
      slots_[now_ & mask_].clear();
      taken_ = 0;
      ++now_;
    }
    at = now_;
    event = slots_[now_ & mask_][taken_++];
    --pending_;
    return true;
  }

 private:
  std::vector<std::vector<Event>> slots_;
  std::uint64_t mask_;
  std::uint64_t now_ = 0;
  std::size_t taken_ = 0;  // from the slot of now
  std::size_t pending_ = 0;
};

struct TokenArrives {
  std::uint32_t node;
};
struct LetterArrives {
  std::uint32_t node;
  std::uint32_t from;
  Letter letter;
};

template <class Queue>
Outcome run_minimal_ring(const Workload& workload, Queue queue) {
  TinyRing ring(workload.nodes);
  const Stopwatch watch;
  std::uint64_t now = 0;
  const auto post = [&](std::uint32_t to) { queue.push(now + fixed_delay, TokenArrives{to}); };
  ring.start(post);
  std::uint64_t delivered = 0;
  TokenArrives event;
  while (delivered < workload.messages && queue.pop(now, event)) {
    ++delivered;
    ring.on_token(event.node, post);
  }
  return {delivered, watch.seconds()};
}

template <class Queue, class Delays>
Outcome run_minimal_burst(const Workload& workload, Queue queue, Delays delays) {
  TinyBurst burst(workload.nodes);
  const Stopwatch watch;
  std::uint64_t now = 0;
  const auto post = [&](std::uint32_t from, std::uint32_t to, Letter letter) {
    queue.push(now + delays.next(from), LetterArrives{to, from, letter});
  };
  burst.start(post);
  std::uint64_t delivered = 0;
  LetterArrives event;
  while (queue.pop(now, event)) {
    ++delivered;
    burst.on_letter(event.node, event.from, event.letter, post);
  }
  const double seconds = watch.seconds();
  ensure(burst.entries == workload.nodes, "everybody enters once");
  return {delivered, seconds};
}

inline Outcome run_minimal_on_heap(const Workload& workload) {
  if (workload.kind == Workload::Kind::ring) return run_minimal_ring(workload, HeapQueue<TokenArrives>{});
  if (workload.spread) return run_minimal_burst(workload, HeapQueue<LetterArrives>{}, SpreadDelays(workload));
  return run_minimal_burst(workload, HeapQueue<LetterArrives>{}, FixedDelays(workload));
}

inline Outcome run_minimal_on_wheel(const Workload& workload) {
  if (workload.kind == Workload::Kind::ring)
    return run_minimal_ring(workload, WheelQueue<TokenArrives>(fixed_delay));
  if (workload.spread)
    return run_minimal_burst(workload, WheelQueue<LetterArrives>(most_delay), SpreadDelays(workload));
  return run_minimal_burst(workload, WheelQueue<LetterArrives>(fixed_delay), FixedDelays(workload));
}

}  // namespace conclave::bench
