// What members say to each other over their links: one kind byte, a head, and of some kinds bytes of somebody
// else (a protocol's message, a note of the front desk). docs/wire.md shows every field.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/codec.hpp"
#include "live/frames.hpp"
#include "live/renewal.hpp"
#include "live/scribe.hpp"

namespace conclave::live {

enum class WordKind : std::uint8_t {
  inner = 1,    // a message of the protocol
  ready = 2,    // for an epoch
  gone = 3,     // the sender knows nothing of that epoch
  note = 4,     // from desk to desk
  roster = 5,   // who is evicted
  promise = 6,  // the longest lease of the sender
  noted = 7,    // … the receiver knows it
  mention = 8,  // of a name, to a peer that may have forgotten it
  sight = 9,    // whom the sender hears, and whom those hear
};

struct InnerHead {
  std::string name = {};
  Epoch epoch = {};  // 0 of algorithms that do without
  bool from_server = false;
  std::optional<Stamp> stamp = {};  // of who traces
};
struct ReadyHead {
  std::string name = {};
  Epoch epoch = {};
  NodeSet members = {};
  bool fresh = false;
};
struct GoneHead {
  std::string name = {};
  Epoch epoch = {};
};

// What is known of each member: whether it counts. The greatest version counts; of two equal ones the
// stricter.
struct Membership {
  std::uint64_t version = 0;
  bool evicted = false;
  std::uint64_t incarnation = 0;  // that was evicted
  auto operator<=>(const Membership&) const = default;
};
struct RosterHead {
  std::map<NodeId, Membership> members = {};
};
// Of the sender and of each member that it hears: whom that one hears.
struct SightHead {
  std::map<NodeId, NodeSet> hears = {};
  bool operator==(const SightHead&) const = default;
};
struct PromiseHead {
  std::uint64_t lease_ms = 0;
};

template <class Head>
void write_word(Bytes& out, WordKind kind, const Head& head) {
  out.clear();
  out.push_back(static_cast<std::uint8_t>(kind));
  encode(head, out);
}

// Reads the head; what follows it, or nothing if it is no head of this kind.
template <class Head>
std::optional<ByteView> read_head(ByteView bytes, Head& head) {
  Decoder decoder({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  walk(decoder, head);
  if (decoder.failed()) return std::nullopt;
  return std::as_bytes(decoder.rest());
}
// The same of a kind that has nothing after its head.
template <class Head>
bool read_whole(ByteView bytes, Head& head) {
  const auto rest = read_head(bytes, head);
  return rest && rest->empty();
}

}  // namespace conclave::live
