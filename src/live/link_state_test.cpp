#include "live/link_state.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace conclave::live {
namespace {

using std::chrono::milliseconds;

constexpr LinkLimits small = {
    .queue_bytes = 1000, .message_bytes = 100, .messages_per_ack = 4, .bytes_per_ack = 300};

// Two ends of one link in memory: what one has not taken yet travels when `carry` is called.
struct End {
  ChunkPool pool{64};
  std::uint64_t incarnation;
  LinkState state;
  std::vector<std::string> got = {};

  explicit End(std::uint64_t number) : incarnation(number), state(pool, number, small) {}
  Card card() const {
    return {.incarnation = incarnation,
            .stream = state.stream(),
            .first_stream = state.first_stream(),
            .knows = state.knows()};
  }
  // When it greets and meets; as in a handshake that is not overtaken.
  std::uint64_t moments = 0;
  LinkState::Encounter now(bool connected = false) {
    const std::uint64_t greeted = ++moments;
    return {.connected = connected, .greeted = greeted, .now = ++moments};
  }
  bool send(const std::string& text) { return state.send(bytes_of(text)); }

  // Everything that waits here arrives there, or is lost on the way.
  void carry_to(End& other, bool lost = false) {
    std::string wire;
    std::array<ByteView, 8> pieces;
    while (const std::size_t count = state.window().next_pieces(pieces)) {
      std::size_t taken = 0;
      for (std::size_t i = 0; i < count; ++i) {
        wire.append(reinterpret_cast<const char*>(pieces[i].data()), pieces[i].size());
        taken += pieces[i].size();
      }
      state.window().take(taken);
    }
    for (ByteView rest = bytes_of(wire); !rest.empty() && !lost;) {
      const auto frame = next_frame(rest, 1000);
      const auto data = decode_data((*frame)->body);
      const auto arrival = other.state.on_data(*data);
      ASSERT_TRUE(arrival) << arrival.error().text;
      if (*arrival == LinkState::Arrival::fresh)
        other.got.emplace_back(reinterpret_cast<const char*>(data->payload.data()), data->payload.size());
      rest = rest.subspan((*frame)->size);
    }
  }
};

LinkState::Meeting meet(End& at, const End& with) {
  const auto meeting = at.state.meet(at.card(), with.card(), at.now());
  EXPECT_TRUE(meeting) << meeting.error().text;
  return meeting.value_or(LinkState::Meeting{});
}

// Both cards are written before either side acts on them.
void shake_hands(End& a, End& b) {
  const Card from_a = a.card();
  const Card from_b = b.card();
  ASSERT_TRUE(b.state.meet(from_b, from_a, b.now()));
  ASSERT_TRUE(a.state.meet(from_a, from_b, a.now()));
}

using Texts = std::vector<std::string>;

TEST(LinkState, WhatWasLostWithAConnectionIsSentAgainAndArrivesOnce) {
  End a(10);
  End b(20);
  a.send("one");
  shake_hands(a, b);
  a.send("two");
  a.carry_to(b);
  a.send("three");
  a.carry_to(b, true);
  const Card from_a = a.card();
  const Card from_b = b.card();
  const auto meeting = a.state.meet(from_a, from_b, a.now());
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->sent_again, 1u);
  EXPECT_FALSE(meeting->new_incarnation);
  ASSERT_TRUE(b.state.meet(from_b, from_a, b.now()));
  a.send("four");
  a.carry_to(b);
  EXPECT_EQ(b.got, (Texts{"one", "two", "three", "four"}));
}

TEST(LinkState, ADuplicateIsDroppedAndAGapRefused) {
  End a(10);
  End b(20);
  shake_hands(a, b);
  const auto first = b.state.on_data({.sequence = 1});
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, LinkState::Arrival::fresh);
  EXPECT_EQ(*b.state.on_data({.sequence = 1}), LinkState::Arrival::duplicate);
  EXPECT_EQ(b.state.duplicates(), 1u);
  EXPECT_EQ(b.state.on_data({.sequence = 3}).error().code, RefusalCode::out_of_order);
  EXPECT_EQ(b.state.on_received(1).error().code, RefusalCode::out_of_order);
}

TEST(LinkState, ARestartedPeerGetsNothingThatWasMeantForTheFormerOne) {
  End a(10);
  End b(20);
  shake_hands(a, b);
  a.send("before");
  a.carry_to(b, true);
  a.send("while down");
  End again(21);
  const Card from_a = a.card();
  const Card from_b = again.card();
  ASSERT_TRUE(again.state.meet(from_b, from_a, again.now()));
  const auto meeting = a.state.meet(from_a, from_b, a.now());
  ASSERT_TRUE(meeting);
  EXPECT_TRUE(meeting->new_incarnation);
  EXPECT_EQ(meeting->former, 20u);
  EXPECT_EQ(meeting->dropped, 2u);
  a.send("after");
  a.carry_to(again);
  EXPECT_EQ(again.got, Texts{"after"});
}

TEST(LinkState, TheFormerIncarnationDoesNotComeBack) {
  End a(10);
  End b(20);
  End again(21);
  shake_hands(a, b);
  shake_hands(a, again);
  const auto refused = a.state.meet(a.card(), b.card(), a.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::superseded);
}

TEST(LinkState, ASecondProcessWithTheSameIdIsRefusedWhileTheFirstIsConnected) {
  End a(10);
  End b(20);
  End twin(21);
  shake_hands(a, b);
  const auto refused = a.state.meet(a.card(), twin.card(), a.now(true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::duplicate_id);
  EXPECT_EQ(a.state.knows().incarnation, 20u);
}

TEST(LinkState, AHandshakeThatWasOvertakenIsRefused) {
  End a(10);
  End b(20);
  const Card slow = a.card();
  const std::uint64_t greeted = ++b.moments;
  shake_hands(a, b);
  const auto refused =
      b.state.meet(b.card(), slow, {.connected = true, .greeted = greeted, .now = ++b.moments});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::superseded);
}

// The acceptor sees the handshake finished before the dialler does; the connection may die in between.
TEST(LinkState, AHandshakeThatOnlyOneSideFinishedLosesNothing) {
  End a(10);
  End b(20);
  meet(b, a);
  b.send("said too early");
  b.carry_to(a, true);
  shake_hands(a, b);
  b.carry_to(a);
  EXPECT_EQ(a.got, Texts{"said too early"});
}

TEST(LinkState, AFullQueueIsGivenUpAndBothSidesLearnOfIt) {
  End a(10);
  End b(20);
  shake_hands(a, b);
  a.send("arrives");
  a.carry_to(b);
  const std::string big(100, 'x');
  EXPECT_FALSE(a.state.congested());
  unsigned sent = 0;
  while (a.send(big)) ++sent;
  EXPECT_EQ(sent, (1000u - 7 - data_head_bytes) / (100 + data_head_bytes));
  EXPECT_EQ(a.state.window().bytes(), 0u);
  EXPECT_EQ(a.state.stream(), 2u);
  a.send("anew");
  const Card from_a = a.card();
  const Card from_b = b.card();
  const auto at_b = b.state.meet(from_b, from_a, b.now());
  ASSERT_TRUE(at_b);
  EXPECT_TRUE(at_b->peer_gave_up);
  EXPECT_FALSE(at_b->new_incarnation);
  const auto at_a = a.state.meet(from_a, from_b, a.now());
  ASSERT_TRUE(at_a);
  EXPECT_FALSE(at_a->peer_forgot);
  a.carry_to(b);
  EXPECT_EQ(b.got, (Texts{"arrives", "anew"}));
}

TEST(LinkState, AQueueThatOverflowsDuringAHandshakeMakesItVoid) {
  End a(10);
  End b(20);
  const Card said = a.card();
  while (a.send(std::string(100, 'x'))) continue;
  const auto refused = a.state.meet(said, b.card(), a.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::busy);
}

TEST(LinkState, APeerThatForgetsWhatItAcknowledgedBreaksThePromise) {
  End a(10);
  End b(20);
  shake_hands(a, b);
  a.send("one");
  a.carry_to(b);
  ASSERT_TRUE(a.state.on_received(1));
  Card forgetful = b.card();
  forgetful.knows = {};
  const auto meeting = a.state.meet(a.card(), forgetful, a.now());
  ASSERT_TRUE(meeting);
  EXPECT_TRUE(meeting->peer_forgot);
  EXPECT_EQ(a.state.stream(), 2u);
}

// Where nobody can prove who it is, whoever was here in the peer's name must not keep the peer away for ever.
TEST(LinkState, WithoutProofsWhatSomebodyElseSaidIsForgotten) {
  const auto unproven = [](End& end) {
    auto encounter = end.now();
    encounter.proven = false;
    return encounter;
  };
  const std::vector<std::function<void(Card&, End&)>> lies = {
      [](Card& card, End&) { card.stream = card.first_stream = std::uint64_t{0} - 1; },
      [](Card& card, End&) { card.incarnation = 999; },
      [](Card&, End& at) {
        for (std::uint64_t n = 1; n < 9; ++n) ASSERT_TRUE(at.state.on_data({.sequence = n}));
      },
  };
  for (const bool proven : {false, true}) {
    for (const auto& lie : lies) {
      End a(10);
      End b(20);
      shake_hands(a, b);
      Card lying = b.card();
      lie(lying, a);
      ASSERT_TRUE(a.state.meet(a.card(), lying, unproven(a)));
      // The true one again, for as long as it takes the two to begin anew.
      unsigned met = 0;
      for (int i = 0; i < 3; ++i) {
        const Card from_a = a.card();
        const Card from_b = b.card();
        auto at_a = a.now();
        auto at_b = b.now();
        at_a.proven = at_b.proven = proven;
        const bool fine =
            a.state.meet(from_a, from_b, at_a).has_value() && b.state.meet(from_b, from_a, at_b).has_value();
        met += fine ? 1 : 0;
      }
      EXPECT_EQ(met, proven ? 0u : 3u);
      if (proven) continue;
      a.send("one");
      b.send("two");
      a.carry_to(b);
      b.carry_to(a);
      EXPECT_EQ(a.got, Texts{"two"});
      EXPECT_EQ(b.got, Texts{"one"});
    }
  }
}

TEST(LinkState, AnAcknowledgementIsCarriedByAMessageOrDueAfterAFew) {
  End a(10);
  End b(20);
  shake_hands(a, b);
  EXPECT_FALSE(b.state.owes_ack());
  for (std::uint64_t n = 1; n <= 3; ++n) ASSERT_TRUE(b.state.on_data({.sequence = n}));
  EXPECT_TRUE(b.state.owes_ack());
  EXPECT_FALSE(b.state.ack_is_due());
  ASSERT_TRUE(b.state.on_data({.sequence = 4}));
  EXPECT_TRUE(b.state.ack_is_due());
  b.send("carries it");
  EXPECT_FALSE(b.state.owes_ack());
  ASSERT_TRUE(b.state.on_data({.sequence = 5}));
  EXPECT_EQ(*decode_alive(next_frame(b.state.alive(), 100)->value().body), 5u);
  EXPECT_FALSE(b.state.owes_ack());
}

TEST(Silence, CountsOnlyWhatWasListenedTo) {
  Silence silence(milliseconds(100), milliseconds(1000));
  EXPECT_FALSE(silence.passes(std::chrono::hours(1)));  // we were stopped
  EXPECT_EQ(silence.so_far(), milliseconds(200));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(silence.passes(milliseconds(100)));
  EXPECT_TRUE(silence.passes(milliseconds(100)));
  EXPECT_FALSE(silence.passes(milliseconds(100)));  // told once
  EXPECT_TRUE(silence.too_long());
  silence.heard();
  EXPECT_FALSE(silence.too_long());
}

TEST(Redial, WaitsTwiceAsLongEachTimeUpToABound) {
  Redial redial(milliseconds(20), milliseconds(1000), 7);
  auto most = milliseconds(20);
  for (int i = 0; i < 100; ++i) {
    const auto pause = redial.next();
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
    most = std::min(2 * most, milliseconds(1000));
  }
  redial.succeeded();
  EXPECT_LE(redial.next(), milliseconds(20));
}

TEST(Redial, TwoThatFailTogetherDoNotComeBackTogether) {
  Redial one(milliseconds(100), milliseconds(1000), 1);
  Redial other(milliseconds(100), milliseconds(1000), 2);
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace conclave::live
