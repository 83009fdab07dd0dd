#include "cluster/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "live/frames.hpp"

namespace conclave::cluster {
namespace {

// These bytes, the book's length, the book. A state without them is the machine's alone.
constexpr std::string_view book_mark = "cnclvbk2";

}  // namespace

std::string stamp_of(const std::string& group, NodeId self) {
  return fmt::format("group {} member {}", group, self.value);
}

std::string group_of(const std::string& group, std::uint64_t lineage) {
  if (lineage == 0) return group;
  const std::string suffix = fmt::format("+{:016x}", lineage);
  return group.ends_with(suffix) ? group : group + suffix;
}

Bytes preface_of(const Book& book) {
  const Bytes inner = encode(book);
  Bytes bytes(book_mark.begin(), book_mark.end());
  std::array<std::byte, sizeof(std::uint64_t)> length;
  live::store(length.data(), static_cast<std::uint64_t>(inner.size()));
  for (const std::byte one : length) bytes.push_back(std::to_integer<std::uint8_t>(one));
  bytes.insert(bytes.end(), inner.begin(), inner.end());
  return bytes;
}

std::optional<SplitState> split_state(std::span<const std::uint8_t> state) {
  constexpr std::size_t head = book_mark.size() + sizeof(std::uint64_t);
  if (state.size() < head || !std::ranges::equal(state.first(book_mark.size()), book_mark,
                                                 [](std::uint8_t a, char b) { return a == std::uint8_t(b); }))
    return SplitState{.machine = state};
  const auto length = live::load<std::uint64_t>(std::as_bytes(state.subspan(book_mark.size())).data());
  if (length > state.size() - head) return std::nullopt;
  auto book = decode<Book>(state.subspan(head, length));
  if (!book) return std::nullopt;
  return SplitState{.book = std::move(*book), .machine = state.subspan(head + length)};
}

}  // namespace conclave::cluster
