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

TEST(Arena, MakesValuesToBeChanged) {
  Arena arena;
  for (std::size_t count = 1; count < 100'000; count *= 3) {
    std::uint32_t* made = arena.make<std::uint32_t>(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made) % 64, 0u);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(made[i], 0u);
    std::fill_n(made, count, 7u);
  }
}

}  // namespace
}  // namespace conclave::check
