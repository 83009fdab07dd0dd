// Whatever a stranger sends, a link refuses it or waits for more; and nobody without the key gets in. The
// first byte chooses who is spoken to, the rest is what arrives.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "live/frames.hpp"
#include "live/handshake.hpp"
#include "live/link_state.hpp"

namespace {

using namespace conclave;
using namespace conclave::live;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

// Calls `each` for every frame until one is refused.
template <class Each>
void for_each_frame(ByteView bytes, std::size_t most, Each each) {
  while (!bytes.empty()) {
    const auto frame = next_frame(bytes, most);
    if (!frame) return require(!describe(frame.error()).empty(), "a frame is refused with a sentence");
    if (!*frame) return;
    require((*frame)->size <= bytes.size(), "a frame ends where its bytes do");
    require((*frame)->body.size() <= most, "a frame keeps to its bound");
    if (!each(**frame)) return;
    bytes = bytes.subspan((*frame)->size);
  }
}

bool same(const Bytes& encoded, const Frame& frame) {
  return std::ranges::equal(bytes_of(encoded).subspan(frame_head_bytes), frame.body);
}

// What a decoder accepts is the one encoding of what it says.
bool decode_one(const Frame& frame) {
  Bytes again;
  switch (frame.kind) {
    case FrameKind::hello:
      if (const auto greeting = decode_hello(frame.body, wire_versions); greeting && greeting->hello) {
        encode_hello(greeting->versions, *greeting->hello, again);
        require(same(again, frame), "a hello has one encoding");
      }
      break;
    case FrameKind::proof:
      if (const auto proof = decode_proof(frame.body))
        encode_proof(*proof, again), require(same(again, frame), "proof");
      break;
    case FrameKind::refused:
      if (const auto refusal = decode_refused(frame.body)) {
        encode_refused(*refusal, again);
        require(same(again, frame), "a refusal has one encoding");
      }
      break;
    case FrameKind::data:
      if (const auto data = decode_data(frame.body))
        require(data->payload.size() + 16 == frame.body.size(), "a message is the rest of its frame");
      break;
    case FrameKind::alive:
      if (const auto received = decode_alive(frame.body))
        require(std::ranges::equal(ByteView(alive_frame(*received)).subspan(frame_head_bytes), frame.body),
                "alive");
      break;
  }
  return true;
}

const Terms terms = {.group = "g",
                     .algorithm = "a",
                     .members = std::string(32, 'm'),
                     .key = "nobody knows",
                     .ids = {{1}, {2}}};
const std::string nonce(32, 'n');

void shake_hands(Handshake handshake, ByteView bytes) {
  Bytes out;
  for_each_frame(bytes, most_greeting_bytes, [&](const Frame& frame) {
    const auto done = handshake.on_frame(frame, out);
    require(!done || !*done, "nobody gets in without the key");
    if (!done) require(!done.error().text.empty(), "a refusal has a reason");
    return done.has_value();
  });
  require(out.size() <= 4 * most_greeting_bytes, "a handshake does not say more than it hears");
}

// After the handshake: a peer that knows the key and says anything.
void run_link(ByteView bytes) {
  ChunkPool pool(64);
  LinkState state(pool, 1, {.queue_bytes = 4096, .message_bytes = 256});
  const Hello ours = {.incarnation = 1, .stream = 1, .first_stream = 1, .attempt = 1};
  const Hello theirs = {.incarnation = 2, .stream = 1, .first_stream = 1, .attempt = 1};
  require(state.meet(ours, theirs, false).has_value(), "two that never met can meet");
  for_each_frame(bytes, 256 + 16, [&](const Frame& frame) {
    const std::uint64_t before = state.received();
    state.send(frame.body.first(std::min<std::size_t>(frame.body.size(), 256)));
    std::array<ByteView, 4> pieces;
    for (std::size_t i = 0, count = state.window().next_pieces(pieces); i < count; ++i)
      state.window().take(pieces[i].size());
    bool fine = true;
    if (const auto data = decode_data(frame.body); data && frame.kind == FrameKind::data)
      fine = state.on_data(*data).has_value();
    if (const auto received = decode_alive(frame.body); received && frame.kind == FrameKind::alive)
      fine = state.on_received(*received).has_value();
    require(state.received() - before <= 1, "one frame brings one message at most");
    return fine;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes hello;
  const auto standing = [](NodeId) { return Standing{.incarnation = 5, .stream = 1, .first_stream = 1}; };
  switch (data[0]) {
    case 'A': shake_hands(Handshake::accept(terms, {2}, standing, nonce, {}), bytes); break;
    case 'D': shake_hands(Handshake::dial(terms, {1}, {2}, standing({2}), 1, nonce, {}, hello), bytes); break;
    case 'L': run_link(bytes); break;
    default: for_each_frame(bytes, std::size_t{data[0]} * 16, decode_one);
  }
  return 0;
}
