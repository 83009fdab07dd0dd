#include "live/frames.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conclave::live {
namespace {

constexpr std::string_view magic = "conclave";
constexpr std::size_t version_bytes = 4;
constexpr std::size_t most_refusal_text = 200;

bool known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(FrameKind::hello) &&
         kind <= static_cast<std::uint8_t>(FrameKind::sealed);
}

void append(Bytes& out, ByteView more) {
  const auto numbers = numbers_of(more);
  out.insert(out.end(), numbers.begin(), numbers.end());
}

template <std::unsigned_integral T>
void append_number(Bytes& out, T value) {
  std::array<std::byte, sizeof(T)> bytes;
  store(bytes.data(), value);
  append(out, bytes);
}

// Leaves room for the head; the length is known only at the end.
std::size_t begin_frame(Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + frame_head_bytes);
  return start;
}

void end_frame(Bytes& out, std::size_t start, FrameKind kind) {
  auto* const head = reinterpret_cast<std::byte*>(out.data()) + start;
  store(head, static_cast<std::uint32_t>(out.size() - start - sizeof(std::uint32_t)));
  head[4] = static_cast<std::byte>(kind);
}

bool well_formed(const Card& card) {
  return card.members.size() == digest_bytes && card.incarnation != 0 && card.first_stream != 0 &&
         card.stream >= card.first_stream;
}

}  // namespace

std::string_view describe(FrameError error) {
  switch (error) {
    case FrameError::too_long: return "the frame is too long";
    case FrameError::unknown_kind: return "no such kind of frame";
    case FrameError::malformed: return "the frame's body is malformed";
  }
  return "unknown error";
}

Refusal refusal_for(FrameError error) {
  return {error == FrameError::too_long ? RefusalCode::too_long : RefusalCode::garbage,
          std::string(describe(error))};
}

std::expected<std::optional<Frame>, FrameError> next_frame(ByteView bytes, std::size_t most) {
  if (bytes.size() < sizeof(std::uint32_t)) return std::nullopt;
  const std::size_t length = load<std::uint32_t>(bytes.data());
  if (length > most + 1) return std::unexpected(FrameError::too_long);
  if (length == 0) return std::unexpected(FrameError::malformed);
  if (bytes.size() < frame_head_bytes) return std::nullopt;
  const auto kind = std::to_integer<std::uint8_t>(bytes[4]);
  if (!known(kind)) return std::unexpected(FrameError::unknown_kind);
  const std::size_t size = sizeof(std::uint32_t) + length;
  if (bytes.size() < size) return std::nullopt;
  return Frame{static_cast<FrameKind>(kind), bytes.subspan(frame_head_bytes, length - 1), size};
}

std::expected<Data, FrameError> decode_data(ByteView body) {
  if (body.size() < 16) return std::unexpected(FrameError::malformed);
  return Data{load<std::uint64_t>(body.data()), load<std::uint64_t>(body.data() + 8), body.subspan(16)};
}

std::array<std::byte, data_head_bytes> data_head(std::uint64_t sequence, std::uint64_t received,
                                                 std::size_t payload_bytes) {
  std::array<std::byte, data_head_bytes> head;
  store(head.data(), static_cast<std::uint32_t>(1 + 16 + payload_bytes));
  head[4] = static_cast<std::byte>(FrameKind::data);
  store(head.data() + 5, sequence);
  store(head.data() + data_received_offset, received);
  return head;
}

std::expected<std::uint64_t, FrameError> decode_alive(ByteView body) {
  if (body.size() != 8) return std::unexpected(FrameError::malformed);
  return load<std::uint64_t>(body.data());
}

std::array<std::byte, alive_bytes> alive_frame(std::uint64_t received) {
  std::array<std::byte, alive_bytes> frame;
  store(frame.data(), std::uint32_t{1 + 8});
  frame[4] = static_cast<std::byte>(FrameKind::alive);
  store(frame.data() + 5, received);
  return frame;
}

void encode_refused(const Refusal& refusal, Bytes& out) {
  const std::size_t start = begin_frame(out);
  encode(Refusal{refusal.code, refusal.text.substr(0, most_refusal_text)}, out);
  end_frame(out, start, FrameKind::refused);
}

std::expected<Refusal, FrameError> decode_refused(ByteView body) {
  auto refusal = decode<Refusal>(numbers_of(body));
  if (!refusal || refusal->text.size() > most_refusal_text) return std::unexpected(FrameError::malformed);
  return std::move(*refusal);
}

void encode_hello(const Hello& hello, Bytes& out) {
  const std::size_t start = begin_frame(out);
  append(out, bytes_of(magic));
  append_number(out, hello.versions.least);
  append_number(out, hello.versions.most);
  append(out, bytes_of(hello.nonce));
  end_frame(out, start, FrameKind::hello);
}

std::expected<Hello, FrameError> decode_hello(ByteView body, VersionRange ours) {
  const std::size_t fixed = magic.size() + version_bytes;
  if (body.size() < fixed || !std::ranges::equal(body.first(magic.size()), bytes_of(magic)))
    return std::unexpected(FrameError::malformed);
  Hello hello;
  hello.versions = {load<std::uint16_t>(body.data() + magic.size()),
                    load<std::uint16_t>(body.data() + magic.size() + 2)};
  if (!overlap(hello.versions, ours)) return hello;
  if (body.size() != fixed + digest_bytes) return std::unexpected(FrameError::malformed);
  const ByteView nonce = body.subspan(fixed);
  hello.nonce.assign(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  return hello;
}

void encode_card(const Card& card, Bytes& out) {
  const std::size_t start = begin_frame(out);
  encode(card, out);
  end_frame(out, start, FrameKind::card);
}

std::expected<Card, FrameError> decode_card(ByteView body) {
  auto card = decode<Card>(numbers_of(body));
  if (!card || !well_formed(*card)) return std::unexpected(FrameError::malformed);
  return std::move(*card);
}

}  // namespace conclave::live
