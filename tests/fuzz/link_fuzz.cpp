// Whatever a stranger sends, a link refuses it or waits for more; nobody without the key gets in, and after
// the handshake nobody without it is heard. The first byte chooses who is spoken to, the rest is what
// arrives.
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
      if (const auto hello = decode_hello(frame.body, wire_versions);
          hello && overlap(hello->versions, wire_versions)) {
        encode_hello(*hello, again);
        require(same(again, frame), "a hello has one encoding");
      }
      break;
    case FrameKind::card:
      if (const auto card = decode_card(frame.body)) {
        encode_card(*card, again);
        require(same(again, frame), "a card has one encoding");
      }
      break;
    case FrameKind::sealed: {
      std::vector<std::byte> opened;
      require(!Seal({}).open(frame.body, opened) && opened.empty(), "nobody seals without the key");
      break;
    }
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

// Without a key anybody gets in who says the right things: a member meets it, and others after it, or
// refuses.
void meet_anybody(ByteView bytes) {
  Terms open = terms;
  open.key.clear();
  ChunkPool pool(64);
  LinkState state(pool, 5, {.queue_bytes = 4096, .message_bytes = 256});
  const auto standing = [&](NodeId) {
    return Standing{5, state.stream(), state.first_stream(), state.knows()};
  };
  std::uint64_t moments = 0;
  while (!bytes.empty()) {
    Bytes out;
    auto handshake = Handshake::accept(open, {2}, standing, nonce, {});
    bool done = false;
    std::size_t used = 0;
    for_each_frame(bytes, most_greeting_bytes, [&](const Frame& frame) {
      used += frame.size;
      const auto step = handshake.on_frame(frame, out);
      done = step && *step;
      return step && !*step;
    });
    if (!done) return;
    bytes = bytes.subspan(used);
    const std::uint64_t greeted = ++moments;
    const auto met =
        state.meet(handshake.ours(), *handshake.theirs(),
                   {.connected = moments % 4 == 1, .proven = false, .greeted = greeted, .now = ++moments});
    if (!met) require(!met.error().text.empty(), "a refusal has a reason");
    state.send(ByteView(bytes).first(std::min<std::size_t>(bytes.size(), 256)));
    std::array<ByteView, 4> pieces;
    for (std::size_t i = 0, count = state.window().next_pieces(pieces); i < count; ++i)
      state.window().take(pieces[i].size());
  }
}

// After the handshake, somebody on the way between two who know the key: of what the one said, the first so
// many records arrive as they were, then comes whatever the input says.
void stand_between(ByteView bytes) {
  Seal::Keys keys;
  keys.sending.fill(std::byte{1});
  keys.receiving.fill(std::byte{2});
  Seal one(keys);
  std::swap(keys.sending, keys.receiving);
  Seal other(keys);
  if (bytes.empty()) return;
  std::array<Bytes, 4> said;
  for (Bytes& record : said) {
    const ByteView words = bytes_of(std::string_view("what it said"));
    one.close({&words, 1}, record);
  }
  const std::size_t intact = std::to_integer<std::size_t>(bytes[0]) % said.size();
  std::vector<std::byte> opened;
  for (std::size_t i = 0; i < intact; ++i)
    require(other.open(bytes_of(said[i]).subspan(frame_head_bytes), opened), "what was said opens");
  const std::size_t before = opened.size();
  for_each_frame(bytes.subspan(1), most_sealed_bytes + seal_tag_bytes, [&](const Frame& frame) {
    const auto next = bytes_of(said[intact]).subspan(frame_head_bytes);
    const bool true_one = std::ranges::equal(frame.body, next);
    require(other.open(frame.body, opened) == true_one, "nothing opens but what was said next");
    return !true_one;
  });
  require(opened.size() - before <= 12, "one record brings what is in one");
}

// After the handshake: a peer that knows the key and says anything.
void run_link(ByteView bytes) {
  ChunkPool pool(64);
  LinkState state(pool, 1, {.queue_bytes = 4096, .message_bytes = 256});
  const Card ours = {.incarnation = 1, .stream = 1, .first_stream = 1};
  const Card theirs = {.incarnation = 2, .stream = 1, .first_stream = 1};
  require(state.meet(ours, theirs, {.greeted = 1, .now = 2}).has_value(), "two that never met can meet");
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
    case 'D': shake_hands(Handshake::dial(terms, {1}, {2}, standing, nonce, {}, hello), bytes); break;
    case 'M': meet_anybody(bytes); break;
    case 'S': stand_between(bytes); break;
    case 'L': run_link(bytes); break;
    default: for_each_frame(bytes, std::size_t{data[0]} * 16, decode_one);
  }
  return 0;
}
