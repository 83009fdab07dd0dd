#include "live/link_state.hpp"

#include <gtest/gtest.h>

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
  Hello hello(std::uint64_t attempt) const {
    return {.incarnation = incarnation,
            .stream = state.stream(),
            .first_stream = state.first_stream(),
            .attempt = attempt,
            .knows = state.knows(),
            .nonce = {}};
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

LinkState::Meeting meet(End& at, const End& with, std::uint64_t attempt) {
  const auto meeting = at.state.meet(at.hello(attempt), with.hello(attempt), false);
  EXPECT_TRUE(meeting) << meeting.error().text;
  return meeting.value_or(LinkState::Meeting{});
}

// Both hellos are said before either side acts on them.
void shake_hands(End& a, End& b, std::uint64_t attempt) {
  const Hello from_a = a.hello(attempt);
  const Hello from_b = b.hello(attempt);
  ASSERT_TRUE(b.state.meet(from_b, from_a, false));
  ASSERT_TRUE(a.state.meet(from_a, from_b, false));
}

using Texts = std::vector<std::string>;

TEST(LinkState, WhatWasLostWithAConnectionIsSentAgainAndArrivesOnce) {
  End a(10);
  End b(20);
  a.send("one");
  shake_hands(a, b, 1);
  a.send("two");
  a.carry_to(b);
  a.send("three");
  a.carry_to(b, true);
  const Hello from_a = a.hello(2);
  const Hello from_b = b.hello(2);
  const auto meeting = a.state.meet(from_a, from_b, false);
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->sent_again, 1u);
  EXPECT_FALSE(meeting->new_incarnation);
  ASSERT_TRUE(b.state.meet(from_b, from_a, false));
  a.send("four");
  a.carry_to(b);
  EXPECT_EQ(b.got, (Texts{"one", "two", "three", "four"}));
}

TEST(LinkState, ADuplicateIsDroppedAndAGapRefused) {
  End a(10);
  End b(20);
  shake_hands(a, b, 1);
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
  shake_hands(a, b, 1);
  a.send("before");
  a.carry_to(b, true);
  a.send("while down");
  End again(21);
  const Hello from_a = a.hello(2);
  const Hello from_b = again.hello(2);
  ASSERT_TRUE(again.state.meet(from_b, from_a, false));
  const auto meeting = a.state.meet(from_a, from_b, false);
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
  shake_hands(a, b, 1);
  shake_hands(a, again, 2);
  const auto refused = a.state.meet(a.hello(3), b.hello(3), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::superseded);
}

TEST(LinkState, ASecondProcessWithTheSameIdIsRefusedWhileTheFirstIsConnected) {
  End a(10);
  End b(20);
  End twin(21);
  shake_hands(a, b, 1);
  const auto refused = a.state.meet(a.hello(2), twin.hello(2), true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::duplicate_id);
  EXPECT_EQ(a.state.knows().incarnation, 20u);
}

TEST(LinkState, AHandshakeThatWasOvertakenIsRefused) {
  End a(10);
  End b(20);
  const Hello slow = a.hello(1);
  shake_hands(a, b, 2);
  const auto refused = b.state.meet(b.hello(1), slow, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::superseded);
}

// The acceptor sees the handshake finished before the dialler does; the connection may die in between.
TEST(LinkState, AHandshakeThatOnlyOneSideFinishedLosesNothing) {
  End a(10);
  End b(20);
  meet(b, a, 1);
  b.send("said too early");
  b.carry_to(a, true);
  shake_hands(a, b, 2);
  b.carry_to(a);
  EXPECT_EQ(a.got, Texts{"said too early"});
}

TEST(LinkState, AFullQueueIsGivenUpAndBothSidesLearnOfIt) {
  End a(10);
  End b(20);
  shake_hands(a, b, 1);
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
  const Hello from_a = a.hello(2);
  const Hello from_b = b.hello(2);
  const auto at_b = b.state.meet(from_b, from_a, false);
  ASSERT_TRUE(at_b);
  EXPECT_TRUE(at_b->peer_gave_up);
  EXPECT_FALSE(at_b->new_incarnation);
  const auto at_a = a.state.meet(from_a, from_b, false);
  ASSERT_TRUE(at_a);
  EXPECT_FALSE(at_a->peer_forgot);
  a.carry_to(b);
  EXPECT_EQ(b.got, (Texts{"arrives", "anew"}));
}

TEST(LinkState, AQueueThatOverflowsDuringAHandshakeMakesItVoid) {
  End a(10);
  End b(20);
  const Hello said = a.hello(1);
  while (a.send(std::string(100, 'x'))) continue;
  const auto refused = a.state.meet(said, b.hello(1), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::busy);
}

TEST(LinkState, APeerThatForgetsWhatItAcknowledgedBreaksThePromise) {
  End a(10);
  End b(20);
  shake_hands(a, b, 1);
  a.send("one");
  a.carry_to(b);
  ASSERT_TRUE(a.state.on_received(1));
  Hello forgetful = b.hello(2);
  forgetful.knows = {};
  const auto meeting = a.state.meet(a.hello(2), forgetful, false);
  ASSERT_TRUE(meeting);
  EXPECT_TRUE(meeting->peer_forgot);
  EXPECT_EQ(a.state.stream(), 2u);
}

TEST(LinkState, AnAcknowledgementIsCarriedByAMessageOrDueAfterAFew) {
  End a(10);
  End b(20);
  shake_hands(a, b, 1);
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
