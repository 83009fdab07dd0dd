// Where a few questions about one value lead, beside the value itself: whoever has its line of the cache has
// the answers too. One thread at a time adds, any number ask.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace conclave::check {

template <std::size_t room>
class Answers {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint32_t find(std::uint32_t key) const {
    for (const auto& pair : pairs_) {
      const std::uint64_t known = pair.load(std::memory_order_acquire);
      if (known >> 32 == std::uint64_t{key} + 1) return static_cast<std::uint32_t>(known);
      if (known == 0) break;
    }
    return none;
  }
  // False if there is no room.
  bool add(std::uint32_t key, std::uint32_t answer) {
    for (auto& pair : pairs_) {
      const std::uint64_t known = pair.load(std::memory_order_relaxed);
      if (known >> 32 == std::uint64_t{key} + 1) return true;
      if (known != 0) continue;
      pair.store((std::uint64_t{key} + 1) << 32 | answer, std::memory_order_release);
      return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<std::uint64_t>, room> pairs_ = {};
};

}  // namespace conclave::check
