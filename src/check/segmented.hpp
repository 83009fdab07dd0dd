// An array that only grows and whose elements never move: one thread at a time appends, any number read
// what they know the number of.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/ensure.hpp"

namespace conclave::check {

template <class T>
class Segmented {
 public:
  Segmented() = default;
  Segmented(const Segmented&) = delete;
  Segmented& operator=(const Segmented&) = delete;
  ~Segmented() {
    for (auto& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
  }

  std::uint32_t size() const { return size_; }
  const T& operator[](std::uint32_t index) const {
    const unsigned segment = segment_of(index);
    return segments_[segment].load(std::memory_order_acquire)[index - first_of(segment)];
  }
  std::uint32_t push_back(T value) {
    ensure(size_ < UINT32_MAX - first_size, "there are numbers left for one more value");
    const unsigned segment = segment_of(size_);
    T* elements = segments_[segment].load(std::memory_order_relaxed);
    if (!elements) {
      elements = new T[size_of(segment)];
      segments_[segment].store(elements, std::memory_order_release);
    }
    elements[size_ - first_of(segment)] = std::move(value);
    return size_++;
  }
  std::uint64_t bytes() const {
    if (size_ == 0) return 0;
    const unsigned last = segment_of(size_ - 1);
    return (first_of(last) + std::uint64_t{size_of(last)}) * sizeof(T);
  }

 private:
  // Segments of 64, 64, 128, 256, … elements.
  static constexpr unsigned first_bits = 6;
  static constexpr std::uint32_t first_size = 1u << first_bits;
  static unsigned segment_of(std::uint32_t index) {
    return index < first_size ? 0 : static_cast<unsigned>(std::bit_width(index)) - first_bits;
  }
  static std::uint32_t first_of(unsigned segment) {
    return segment == 0 ? 0 : 1u << (segment + first_bits - 1);
  }
  static std::uint32_t size_of(unsigned segment) {
    return segment == 0 ? first_size : 1u << (segment + first_bits - 1);
  }

  std::array<std::atomic<T*>, 32 - first_bits + 1> segments_{};
  std::uint32_t size_ = 0;
};

}  // namespace conclave::check
