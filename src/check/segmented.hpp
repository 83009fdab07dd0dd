// An array that only grows and whose elements never move: one thread at a time appends, any number read
// what they know the number of.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "check/large_pages.hpp"
#include "core/ensure.hpp"

namespace conclave::check {

template <class T>
class Segmented {
 public:
  Segmented() = default;
  Segmented(const Segmented&) = delete;
  Segmented& operator=(const Segmented&) = delete;
  ~Segmented() {
    for (unsigned i = 0; i < segments_.size(); ++i) {
      if (segments_[i].load(std::memory_order_relaxed) == 0) break;
      T* elements = &(*this)[first_of(i)];
      std::destroy_n(elements, std::min(size_of(i), size_ - first_of(i)));
      LargePages<T>().deallocate(elements, size_of(i));
    }
  }

  std::uint32_t size() const { return size_; }
  const T& operator[](std::uint32_t index) const {
    const Origin origin = segments_[segment_of(index)].load(std::memory_order_acquire);
    return *reinterpret_cast<const T*>(origin + index * sizeof(T));
  }
  T& operator[](std::uint32_t index) { return const_cast<T&>(std::as_const(*this)[index]); }
  std::uint32_t push_back(T&& value) { return emplace_back(std::move(value)); }
  std::uint32_t push_back(const T& value) { return emplace_back(value); }
  template <class... Args>
  std::uint32_t emplace_back(Args&&... args) {
    ensure(size_ < UINT32_MAX - first_size, "there are numbers left for one more value");
    const unsigned segment = segment_of(size_);
    if (segments_[segment].load(std::memory_order_relaxed) == 0) {
      T* elements = LargePages<T>().allocate(size_of(segment));
      segments_[segment].store(reinterpret_cast<Origin>(elements) - first_of(segment) * sizeof(T),
                               std::memory_order_release);
    }
    std::construct_at(&(*this)[size_], std::forward<Args>(args)...);
    return size_++;
  }
  // What has been touched; the rest of the last segment costs nothing yet.
  std::uint64_t bytes() const { return std::uint64_t{size_} * sizeof(T); }

 private:
  // Segments of 64, 64, 128, 256, … elements.
  static constexpr unsigned first_bits = 6;
  static constexpr std::uint32_t first_size = 1u << first_bits;
  static unsigned segment_of(std::uint32_t index) {
    return static_cast<unsigned>(std::bit_width(index | (first_size - 1))) - first_bits;
  }
  static std::uint32_t first_of(unsigned segment) {
    return segment == 0 ? 0 : 1u << (segment + first_bits - 1);
  }
  static std::uint32_t size_of(unsigned segment) {
    return segment == 0 ? first_size : 1u << (segment + first_bits - 1);
  }

  // Where number 0 would be if the segment went back so far: one addition finds an element.
  using Origin = std::uintptr_t;
  // Who reads must not wait for who adds: no line of the cache has both, nor anything of the neighbours.
  alignas(64) std::array<std::atomic<Origin>, 32 - first_bits + 1> segments_{};
  alignas(64) std::uint32_t size_ = 0;
};

}  // namespace conclave::check
