#include "check/arena.hpp"

#include <gtest/gtest.h>

namespace conclave::check {
namespace {

TEST(Arena, KeepsArraysOfAllSizes) {
  Arena arena;
  std::vector<std::pair<const std::uint64_t*, std::size_t>> kept;
  for (std::size_t size = 0; size < 300'000; size = size * 2 + 1) {
    const std::vector<std::uint64_t> values(size, size);
    kept.emplace_back(arena.keep(std::span<const std::uint64_t>(values)), size);
  }
  for (const auto& [values, size] : kept) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values) % 64, 0u);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(values[i], size);
  }
}

}  // namespace
}  // namespace conclave::check
