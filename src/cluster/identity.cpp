#include "cluster/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "live/frames.hpp"

namespace conclave::cluster {
namespace {

// These bytes, the book's length, the book. A state without them is the machine's alone.
constexpr std::string_view book_mark = "cnclvbk2";
constexpr std::size_t preface_head = book_mark.size() + sizeof(std::uint64_t);
// A thousand members with names and addresses take less.
constexpr std::uint64_t most_book_bytes = 16 << 20;

// Of the book that a state begins with, if it does.
std::optional<std::uint64_t> book_length(std::span<const std::uint8_t> head) {
  const auto same = [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); };
  if (head.size() < preface_head || !std::ranges::equal(head.first(book_mark.size()), book_mark, same))
    return std::nullopt;
  return live::load<std::uint64_t>(std::as_bytes(head.subspan(book_mark.size())).data());
}

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

std::optional<SplitState> split_state(const Bulk& state) {
  const Payload head = state.part(0, preface_head);
  const auto length = book_length(head.bytes());
  if (!length) return SplitState{.machine = state};
  if (*length > most_book_bytes || *length > state.size() - preface_head) return std::nullopt;
  const Payload bytes = state.part(preface_head, *length);
  auto book = decode<Book>(bytes.bytes());
  if (!book) return std::nullopt;
  return SplitState{.book = std::move(*book), .machine = state.from(preface_head + *length)};
}

StateParts::Taken StateParts::take(std::span<const std::uint8_t> part) {
  if (is_over_) return {Next::machine, part};
  head_.insert(head_.end(), part.begin(), part.end());
  if (head_.size() < preface_head) return {};
  std::size_t preface = 0;
  if (const auto length = book_length(head_)) {
    if (*length > most_book_bytes) return {Next::wrong, {}};
    preface = preface_head + *length;
    if (head_.size() < preface) return {};
    if (!decode<Book>(std::span(head_).subspan(preface_head, *length))) return {Next::wrong, {}};
  }
  is_over_ = true;
  return {Next::machine, std::span(head_).subspan(preface)};
}

}  // namespace conclave::cluster
