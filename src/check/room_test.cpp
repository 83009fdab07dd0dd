#include "check/room.hpp"

#include <gtest/gtest.h>

namespace conclave::check {
namespace {

TEST(Room, GrowsInPlaceAndIsEmpty) {
  Room room(std::size_t{64} << 20);
  std::byte* const first = room.begin();
  EXPECT_EQ(room.bytes(), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % Room::page, 0u);
  std::size_t filled = 0;
  for (std::size_t bytes = 100; bytes < std::size_t{20} << 20; bytes = bytes * 3 / 2) {
    room.grow(bytes);
    ASSERT_EQ(room.begin(), first);
    ASSERT_GE(room.bytes(), bytes);
    ASSERT_LT(room.bytes(), bytes + Room::step_at(bytes));
    ASSERT_TRUE(
        std::all_of(first + filled, first + room.bytes(), [](std::byte b) { return b == std::byte{}; }));
    std::fill(first + filled, first + room.bytes(), std::byte{0xff});
    filled = room.bytes();
  }
}

TEST(Room, EndsWhereItsAddressesEnd) {
  Room room(std::size_t{8} << 20);
  room.grow(std::size_t{8} << 20);
  EXPECT_THROW(room.grow(std::size_t{80} << 20), std::bad_alloc);
  Room moved = std::move(room);
  moved.begin()[0] = std::byte{1};
}

}  // namespace
}  // namespace conclave::check
