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
#include "live/log.hpp"

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

// What one who knows the key said, record by record. It says the same to everybody.
using Records = std::array<Bytes, 4>;
Seal::Keys keys_of_the_one() {
  Seal::Keys keys;
  keys.sending.fill(std::byte{1});
  keys.receiving.fill(std::byte{2});
  return keys;
}
Records say() {
  Seal one(keys_of_the_one());
  Records said;
  for (Bytes& record : said) {
    const ByteView words = bytes_of(std::string_view("what it said"));
    one.close({&words, 1}, record);
  }
  return said;
}

// After the handshake, somebody on the way between two who know the key: of what the one said, the first so
// many records arrive as they were, then comes whatever the input says.
void stand_between(ByteView bytes) {
  static const Records said = say();
  Seal::Keys keys = keys_of_the_one();
  std::swap(keys.sending, keys.receiving);
  Seal other(keys);
  if (bytes.empty()) return;
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

constexpr std::size_t most_message = 256;

// Our side of a link after the handshake: what comes is taken as Links takes it, and answered with as much.
struct Ours {
  ChunkPool pool{64};
  LinkState state{pool, 1, {.queue_bytes = 4096, .message_bytes = most_message}};

  // False if that ends the connection.
  bool hear(const Frame& frame) {
    const std::uint64_t before = state.received();
    const bool fine = take(frame);
    require(state.received() - before <= 1, "one frame brings one message at most");
    return fine;
  }
  // What waits to be sent goes to `write`, piece by piece.
  template <class Write>
  void answer(ByteView payload, Write write) {
    state.send(payload.first(std::min(payload.size(), most_message)));
    std::array<ByteView, 4> pieces;
    for (std::size_t i = 0, count = state.window().next_pieces(pieces); i < count; ++i) {
      write(pieces[i]);
      state.window().take(pieces[i].size());
    }
  }

 private:
  bool take(const Frame& frame) {
    switch (frame.kind) {
      case FrameKind::data:
        if (const auto data = decode_data(frame.body)) return state.on_data(*data).has_value();
        return false;
      case FrameKind::alive:
        if (const auto received = decode_alive(frame.body)) return state.on_received(*received).has_value();
        return false;
      case FrameKind::refused:
        if (const auto refusal = decode_refused(frame.body)) (void)in_quotes(refusal->text);
        return false;
      default: return false;
    }
  }
};

// After the handshake: a peer that may say anything.
void run_link(ByteView bytes) {
  Ours ours;
  const Card our_card = {.incarnation = 1, .stream = 1, .first_stream = 1};
  const Card theirs = {.incarnation = 2, .stream = 1, .first_stream = 1};
  require(ours.state.meet(our_card, theirs, {.greeted = 1, .now = 2}).has_value(),
          "two that never met can meet");
  for_each_frame(bytes, most_message + 16, [&](const Frame& frame) {
    ours.answer(frame.body, [](ByteView) {});
    return ours.hear(frame);
  });
}

// The same with a key: the peer knows it, shows a card whose numbers the input has, and then seals what the
// input says, in records that each have their length (2 bytes) in front.
class WithTheKey {
 public:
  void run(ByteView bytes) {
    if (bytes.size() < 6 || !shake_hands(bytes.first(6))) return;
    bytes = bytes.subspan(6);
    while (bytes.size() > 2) {
      const std::size_t length =
          std::clamp<std::size_t>(load<std::uint16_t>(bytes.data()), 1, bytes.size() - 2);
      if (!say(bytes.subspan(2, std::min(length, most_sealed_bytes)))) return;
      bytes = bytes.subspan(2 + length);
    }
  }

 private:
  static Frame only_frame(const Bytes& bytes) {
    const auto frame = next_frame(bytes_of(bytes), most_sealed_bytes + seal_tag_bytes);
    require(frame && *frame && (*frame)->size == bytes.size(), "what is said is whole frames");
    return **frame;
  }

  bool shake_hands(ByteView numbers) {
    const auto number = [&](std::size_t i) { return std::to_integer<std::uint64_t>(numbers[i]); };
    const auto standing = [&](NodeId) {
      return Standing{number(0), number(1), number(2), {number(3), number(4), number(5)}};
    };
    const auto our_standing = [&](NodeId) {
      return Standing{1, ours_.state.stream(), ours_.state.first_stream(), ours_.state.knows()};
    };
    Bytes hello, our_hello, card, our_card;
    Handshake they = Handshake::dial(terms, {1}, {2}, standing, nonce, {}, hello);
    Handshake we = Handshake::accept(terms, {2}, our_standing, nonce, {});
    require(we.on_frame(only_frame(hello), our_hello) == false, "a hello is answered");
    require(they.on_frame(only_frame(our_hello), card) == false, "a hello is answered with a card");
    const auto in = we.on_frame(only_frame(card), our_card);
    if (!in) {
      require(!in.error().text.empty(), "a refusal has a reason");
      return false;
    }
    require(*in, "who knows the key gets in");
    require(they.on_frame(only_frame(our_card), card) == true, "who knows the key learns who we are");
    our_seal_ = we.take_seal();
    their_seal_ = they.take_seal();
    require(our_seal_ && their_seal_, "with a key there is a seal");
    const auto met = ours_.state.meet(we.ours(), *we.theirs(), {.greeted = 1, .now = 2});
    if (!met) require(!met.error().text.empty(), "a refusal has a reason");
    return met.has_value();
  }

  // One record of the peer's. A frame may be in several, and several may be in one.
  bool say(ByteView words) {
    Bytes record;
    their_seal_->close({&words, 1}, record);
    require(our_seal_->open(only_frame(record).body, opened_), "what the peer sealed opens");
    ByteView rest = opened_;
    while (true) {
      const auto frame = next_frame(rest, most_message + 16);
      if (!frame) return false;
      if (!*frame) break;
      rest = rest.subspan((*frame)->size);
      ours_.answer((*frame)->body, [&](ByteView piece) { hear_ours(piece); });
      if (!ours_.hear(**frame)) return false;
    }
    opened_.erase(opened_.begin(), opened_.end() - static_cast<std::ptrdiff_t>(rest.size()));
    return true;
  }
  void hear_ours(ByteView piece) {
    Bytes record;
    our_seal_->close({&piece, 1}, record);
    std::vector<std::byte> heard;
    require(their_seal_->open(only_frame(record).body, heard) && std::ranges::equal(heard, piece),
            "the peer hears what was sealed");
  }

  Ours ours_;
  std::optional<Seal> our_seal_;
  std::optional<Seal> their_seal_;
  std::vector<std::byte> opened_;
};

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
    case 'K': WithTheKey().run(bytes); break;
    default: for_each_frame(bytes, std::size_t{data[0]} * 16, decode_one);
  }
  return 0;
}
