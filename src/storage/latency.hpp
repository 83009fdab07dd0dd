// How long something took, counted in buckets: written by one thread, read by any.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

namespace conclave::storage {

class Latencies {
 public:
  using Duration = std::chrono::nanoseconds;

  void add(Duration took) {
    const std::uint64_t value = took.count() < 0 ? 0 : static_cast<std::uint64_t>(took.count());
    bump(buckets_[bucket_of(value)]);
    bump(count_);
    if (value > most_.load(std::memory_order_relaxed)) most_.store(value, std::memory_order_relaxed);
  }

  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  Duration most() const { return Duration(most_.load(std::memory_order_relaxed)); }

  // So many of a thousand took no longer, to within a quarter; 0 if nothing was counted.
  Duration at(unsigned per_mille) const {
    std::uint64_t all = 0;
    for (const auto& bucket : buckets_) all += bucket.load(std::memory_order_relaxed);
    std::uint64_t left = (all * per_mille + 999) / 1000;
    for (std::size_t i = 0; i < buckets_.size() && left > 0; ++i) {
      const std::uint64_t here = buckets_[i].load(std::memory_order_relaxed);
      if (here >= left) return Duration(static_cast<Duration::rep>(greatest_of(i)));
      left -= here;
    }
    return {};
  }

  // Four buckets for every doubling.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < 4) return static_cast<std::size_t>(value);
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return 4 * (width - 2) + ((value >> (width - 3)) & 3);
  }
  static constexpr std::uint64_t greatest_of(std::size_t bucket) {
    if (bucket < 4) return bucket;
    const std::size_t shift = bucket / 4 - 1;
    return ((4 + bucket % 4 + 1) << shift) - 1;
  }

 private:
  static void bump(std::atomic<std::uint64_t>& counter) {  // one writer: no locked instruction
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, 4 * 63> buckets_ = {};
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
};

}  // namespace conclave::storage
