// Memory for many small arrays that are made once and kept to the end.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace conclave::check {

class Arena {
 public:
  template <class T>
  const T* keep(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= line);
    std::byte* room = take((values.size_bytes() + line - 1) / line * line);
    T* copy = reinterpret_cast<T*>(room);
    std::uninitialized_copy(values.begin(), values.end(), copy);
    return copy;
  }
  // So many, as they are by default, to be changed in place.
  template <class T>
  T* make(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= line);
    T* made = reinterpret_cast<T*>(take((count * sizeof(T) + line - 1) / line * line));
    std::uninitialized_value_construct_n(made, count);
    return made;
  }
  std::uint64_t bytes() const { return taken_; }

 private:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t block = std::size_t{1} << 20;
  struct alignas(line) Line {
    std::byte bytes[line];
  };

  std::byte* take(std::size_t bytes) {
    if (bytes > left_) {
      left_ = std::max(block, bytes);
      blocks_.push_back(std::make_unique_for_overwrite<Line[]>(left_ / line));
      next_ = blocks_.back()[0].bytes;
    }
    std::byte* room = next_;
    next_ += bytes;
    left_ -= bytes;
    taken_ += bytes;
    return room;
  }

  std::vector<std::unique_ptr<Line[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace conclave::check
