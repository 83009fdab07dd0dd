// Frames: what the links of two members say to each other. docs/wire.md shows every byte.
//
// A frame is its length, its kind and its body. Nothing is taken from a length before it was compared with a
// bound. There is no checksum: TCP has one against accidents. Against people there is TLS or, for members
// that share a key, the seal of seal.hpp, whose records are frames that carry frames.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/codec.hpp"
#include "core/node_id.hpp"

namespace conclave::live {

using ByteView = std::span<const std::byte>;

enum class FrameKind : std::uint8_t {
  hello = 1,
  card = 2,
  refused = 3,
  data = 4,
  alive = 5,
  sealed = 6,
};

enum class FrameError {
  too_long,      // longer than the receiver allows
  unknown_kind,  // no frame of ours
  malformed,     // the body is not what its kind promises
};
std::string_view describe(FrameError error);

struct Frame {
  FrameKind kind = {};
  ByteView body = {};
  std::size_t size = 0;  // with length and kind
};

inline constexpr std::size_t frame_head_bytes = 5;
inline constexpr std::size_t data_head_bytes = frame_head_bytes + 16;
inline constexpr std::size_t data_received_offset = frame_head_bytes + 8;
inline constexpr std::size_t alive_bytes = frame_head_bytes + 8;
// Of frames from somebody who has not yet proved who it is.
inline constexpr std::size_t most_greeting_bytes = 1024;

// The first frame in `bytes`, or none if it has not arrived in full; `most` bounds its body.
std::expected<std::optional<Frame>, FrameError> next_frame(ByteView bytes, std::size_t most);

// One message: the `sequence`th of its stream. `received` acknowledges all up to that number the other way.
struct Data {
  std::uint64_t sequence = 0;
  std::uint64_t received = 0;
  ByteView payload = {};
};
std::expected<Data, FrameError> decode_data(ByteView body);
std::array<std::byte, data_head_bytes> data_head(std::uint64_t sequence, std::uint64_t received,
                                                 std::size_t payload_bytes);

// Heartbeat, and acknowledgement when no message is there to carry it.
std::expected<std::uint64_t, FrameError> decode_alive(ByteView body);
std::array<std::byte, alive_bytes> alive_frame(std::uint64_t received);

enum class RefusalCode : std::uint8_t {
  garbage,          // no frame, or not the one that was due
  wrong_version,    // no wire version in common
  wrong_group,      // another group's member
  wrong_algorithm,  // the group runs another algorithm
  wrong_members,    // another list of members
  wrong_epoch,      // another configuration of the group
  unknown_member,   // an id that is not in the list, or whose turn it is not to dial
  wrong_recipient,  // it meant to reach another member
  duplicate_id,     // another process with this id is connected
  superseded,       // a later process with this id was met
  wrong_key,        // it does not know the key
  too_long,         // a frame beyond the bound
  timed_out,        // the handshake took too long
  busy,             // too many strangers at the door
  out_of_order,     // a sequence number that cannot be
  removed_member,   // it was a member and is none any more
  other_data,       // the member had other data: this process does not know what that one promised
  impossible,       // a message that nobody sends who keeps the rules of the algorithm
  wrong_frame,      // a frame that was not sealed by the peer, or not as the next one
};

struct Refusal {
  RefusalCode code = {};
  std::string text = {};
  bool operator==(const Refusal&) const = default;
};
Refusal refusal_for(FrameError error);
void encode_refused(const Refusal& refusal, Bytes& out);
std::expected<Refusal, FrameError> decode_refused(ByteView body);

// What a member remembers of a peer's stream of messages.
struct Knowledge {
  std::uint64_t incarnation = 0;  // 0: never met
  std::uint64_t stream = 0;
  std::uint64_t received = 0;
  bool operator==(const Knowledge&) const = default;
};

struct VersionRange {
  std::uint16_t least = 0;
  std::uint16_t most = 0;
  bool operator==(const VersionRange&) const = default;
};
// Version 1 told everybody who is here, and sealed nothing.
inline constexpr VersionRange wire_versions = {2, 2};

// What anybody hears of a member. The first fields are the same in every version, so that strangers of
// another version can be told; what follows is there only if there is a version in common.
struct Hello {
  VersionRange versions = {};
  std::string nonce = {};
  bool operator==(const Hello&) const = default;
};

// Who a member is, for those who may know.
struct Card {
  std::string group = {};
  std::string algorithm = {};
  std::string members = {};  // SHA-256 of the list; of nothing where it may change
  std::uint64_t epoch = 0;   // … and there, which data the sender has
  NodeId from = {};
  NodeId to = {};
  std::uint64_t incarnation = 0;   // of the sender's process
  std::uint64_t stream = 0;        // which of its streams to the receiver this is
  std::uint64_t first_stream = 0;  // between these two incarnations, as far as the sender knows
  Knowledge knows = {};            // of the receiver's stream
  bool operator==(const Card&) const = default;
};

inline constexpr std::size_t digest_bytes = 32;
void encode_hello(const Hello& hello, Bytes& out);
std::expected<Hello, FrameError> decode_hello(ByteView body, VersionRange ours);
inline bool overlap(VersionRange a, VersionRange b) { return a.least <= b.most && b.least <= a.most; }

void encode_card(const Card& card, Bytes& out);
std::expected<Card, FrameError> decode_card(ByteView body);

inline ByteView bytes_of(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }
inline ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::span<const std::uint8_t> numbers_of(ByteView bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Numbers of fixed size, least byte first.
template <std::unsigned_integral T>
void store(std::byte* at, T value) {
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) {
    for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
  } else {
    std::memcpy(at, &value, sizeof(T));
  }
}
template <std::unsigned_integral T>
T load(const std::byte* at) {
  T value = 0;
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) {
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(std::to_integer<T>(at[i]) << (8 * i));
  } else {
    std::memcpy(&value, at, sizeof(T));
  }
  return value;
}

}  // namespace conclave::live
