// How long operations took, counted in buckets that are narrow enough to be divided by one another.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace conclave::load {

// Written by one thread; those of several are added up when they are done.
class Latencies {
 public:
  using Duration = std::chrono::nanoseconds;

  void add(Duration took) {
    const std::uint64_t value = took.count() < 0 ? 0 : static_cast<std::uint64_t>(took.count());
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
    most_ = std::max(most_, value);
  }
  void add(const Latencies& others) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += others.buckets_[i];
    count_ += others.count_;
    sum_ += others.sum_;
    most_ = std::max(most_, others.most_);
  }

  std::uint64_t count() const { return count_; }
  double most() const { return in_microseconds(most_); }
  double mean() const { return count_ == 0 ? 0 : in_microseconds(sum_) / static_cast<double>(count_); }
  // Microseconds, to within a sixty-fourth: such a part of them took no longer. 0 if there is none.
  double at(double quantile) const {
    const auto wanted = static_cast<std::uint64_t>(quantile * static_cast<double>(count_)) + 1;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= std::min(wanted, count_) && seen > 0)
        return in_microseconds(std::min(greatest_of(i), most_));
    }
    return 0;
  }

  // 64 buckets for every doubling.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < 64) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 7;
    return 64 * (shift + 1) + ((value >> shift) & 63);
  }
  static constexpr std::uint64_t greatest_of(std::size_t bucket) {
    if (bucket < 64) return bucket;
    const std::size_t shift = bucket / 64 - 1;
    return ((64 + bucket % 64 + 1) << shift) - 1;
  }

 private:
  static double in_microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

  std::array<std::uint64_t, 64 * 58> buckets_ = {};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace conclave::load
