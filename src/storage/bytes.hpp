// Numbers of fixed size in bytes, least byte first.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace conclave::storage {

using ByteView = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <class T>
T read_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write_number(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
ByteView bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace conclave::storage
