// Who a process is. Ids are unique and totally ordered; algorithms break ties with them.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace conclave {

struct NodeId {
  using Transparent = void;  // printed and encoded as its number
  std::uint32_t value = 0;
  auto operator<=>(const NodeId&) const = default;
};

}  // namespace conclave

template <>
struct std::hash<conclave::NodeId> {
  std::size_t operator()(conclave::NodeId id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
