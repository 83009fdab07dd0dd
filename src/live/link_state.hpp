// One direction pair of a link as a value without sockets or clocks: what was sent, what was received, whom
// we believe to be at the other end. links.hpp gives it a connection.
//
// The promise is about two incarnations, that is, starts of processes: what one of them sends arrives at the
// other in order and exactly once, over however many connections. Messages are numbered from 1; the receiver
// says up to which number it has them, and after a reconnect the sender goes on from there. A restarted peer
// is another incarnation: what was meant for the former is dropped, and numbering begins anew.
//
// A queue that reaches its bound breaks the promise. Then everything queued is dropped, both owners are told,
// and a new stream begins, numbered from 1 as well.
//
// A handshake that was overtaken on its way speaks of the past. It is known by our own moments alone: the
// card of the peer was written after it heard our hello, so a hello that left before we met last proves
// nothing any more.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <expected>

#include "live/frames.hpp"
#include "live/send_window.hpp"

namespace conclave::live {

struct LinkLimits {
  std::size_t queue_bytes = 64u << 20;     // unacknowledged and unsent, for each peer
  std::size_t message_bytes = 1u << 20;    // the longest payload
  std::uint64_t messages_per_ack = 256;    // without one, an acknowledgement waits for a message to carry it
  std::size_t bytes_per_ack = 128u << 10;  // … or for the time `ack_delay`
};

class LinkState {
 public:
  LinkState(ChunkPool& pool, std::uint64_t incarnation, const LinkLimits& limits)
      : window_(pool), incarnation_(incarnation), limits_(limits) {}

  // False if the queue was full: then the promise is broken and a new stream has begun, without this message.
  bool send(ByteView payload);
  // More than half of the bound is used.
  bool congested() const { return window_.bytes() > limits_.queue_bytes / 2; }

  // What our card says about this link.
  std::uint64_t stream() const { return stream_; }
  std::uint64_t first_stream() const { return first_stream_; }
  const Knowledge& knows() const { return peer_; }

  // What a finished handshake brought to light.
  struct Meeting {
    bool new_incarnation = false;
    std::uint64_t former = 0;      // the incarnation that it replaces; 0 if none was known
    std::uint64_t dropped = 0;     // messages that the former one never acknowledged
    bool peer_gave_up = false;     // the peer's queue was full: it dropped messages to us
    bool peer_forgot = false;      // the peer lost what it had acknowledged: we had to give up
    std::uint64_t sent_again = 0;  // messages that go out a second time
  };
  // What the two of a handshake take for granted beside their cards.
  struct Encounter {
    bool connected = false;  // the incarnation we know still has a connection
    bool proven = true;      // the peer proved to be a member; else somebody may have been here in its name
    std::uint64_t greeted = 0;  // when our hello left, and when their card came: moments of our own,
    std::uint64_t now = 0;      // of which each is greater than those before
  };
  // After both cards.
  std::expected<Meeting, Refusal> meet(const Card& ours, const Card& theirs, const Encounter& encounter);

  enum class Arrival { fresh, duplicate };
  // Of a message; a fresh one is now received.
  std::expected<Arrival, Refusal> on_data(const Data& data);
  std::expected<void, Refusal> on_received(std::uint64_t received);

  // Whether the peer waits for an acknowledgement; and whether it should not wait any longer.
  bool owes_ack() const { return owed_messages_ > 0; }
  bool ack_is_due() const {
    return owed_messages_ >= limits_.messages_per_ack || owed_bytes_ >= limits_.bytes_per_ack;
  }
  std::array<std::byte, alive_bytes> alive();

  SendWindow& window() { return window_; }
  const SendWindow& window() const { return window_; }
  std::uint64_t received() const { return peer_.received; }
  std::uint64_t duplicates() const { return duplicates_; }

 private:
  static constexpr std::size_t remembered = 16;

  std::expected<void, Refusal> admit(const Card& ours, const Card& theirs, const Encounter& encounter) const;
  bool retired(std::uint64_t incarnation) const;
  void retire(std::uint64_t incarnation);
  void give_up();
  void settle_ack() { owed_messages_ = owed_bytes_ = 0; }
  std::expected<void, Refusal> resume(const Card& theirs, bool proven, Meeting& meeting);

  SendWindow window_;
  std::uint64_t incarnation_;
  LinkLimits limits_;
  std::uint64_t stream_ = 1;
  std::uint64_t first_stream_ = 1;  // with the incarnation that we know, or before any was met
  Knowledge peer_ = {};
  std::uint64_t met_ = 0;  // when we met last
  std::uint64_t owed_messages_ = 0;
  std::uint64_t owed_bytes_ = 0;
  std::uint64_t duplicates_ = 0;
  std::array<std::uint64_t, remembered> retired_ = {};  // incarnations that must not come back
  std::size_t oldest_retired_ = 0;
};

// When a peer counts as down: after a silence that we listened to. A process that was stopped or starved
// wakes up and finds that nobody spoke for long, but it was not listening; so one look at the clock adds at
// most two intervals to the silence, however late it comes.
class Silence {
 public:
  using Duration = std::chrono::nanoseconds;
  Silence(Duration interval, Duration down_after) : most_at_once_(2 * interval), down_after_(down_after) {}

  void heard() { silent_ = {}; }
  // So long since the last look; true when this makes it too long.
  bool passes(Duration time) {
    const bool before = too_long();
    silent_ += std::min(time, most_at_once_);
    return !before && too_long();
  }
  bool too_long() const { return silent_ >= down_after_; }
  Duration so_far() const { return silent_; }

 private:
  Duration most_at_once_;
  Duration down_after_;
  Duration silent_ = {};
};

// How long to wait before dialling again: twice as long each time, up to a bound, and never in step with
// others.
class Redial {
 public:
  using Duration = std::chrono::nanoseconds;
  Redial(Duration least, Duration most, std::uint64_t seed) : least_(least), most_(most), seed_(seed) {}

  Duration next();
  void succeeded() { failures_ = 0; }

 private:
  Duration least_;
  Duration most_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  unsigned failures_ = 0;
};

}  // namespace conclave::live
