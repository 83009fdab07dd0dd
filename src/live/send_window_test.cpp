#include "live/send_window.hpp"

#include <gtest/gtest.h>

#include "core/random.hpp"

namespace conclave::live {
namespace {

std::string payload(std::uint64_t n) { return std::string(n % 50, static_cast<char>('a' + n % 26)); }

void push(SendWindow& window, std::uint64_t n) { window.push(0, bytes_of(payload(n))); }

// Takes up to `most` bytes off the window and appends them to `wire`.
std::size_t carry(SendWindow& window, std::string& wire, std::size_t most) {
  std::array<ByteView, 3> pieces;
  const std::size_t count = window.next_pieces(pieces);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < count && taken < most; ++i) {
    const ByteView part = pieces[i].first(std::min(pieces[i].size(), most - taken));
    wire.append(reinterpret_cast<const char*>(part.data()), part.size());
    taken += part.size();
  }
  window.take(taken);
  return taken;
}

// The sequence numbers of whole messages on the wire, each with the payload that belongs to it.
std::vector<std::uint64_t> read(const std::string& wire) {
  std::vector<std::uint64_t> sequences;
  for (ByteView rest = bytes_of(wire); !rest.empty();) {
    const auto frame = next_frame(rest, 1000);
    if (!frame || !*frame) break;
    const auto data = decode_data((*frame)->body);
    const std::string expected = payload(data->sequence);
    EXPECT_TRUE(std::ranges::equal(data->payload, bytes_of(expected))) << data->sequence;
    sequences.push_back(data->sequence);
    rest = rest.subspan((*frame)->size);
  }
  return sequences;
}

TEST(SendWindow, WhatIsTakenInPiecesOfAnySizeIsWhatWasPushed) {
  ChunkPool pool(37);  // nothing falls on a boundary
  SendWindow window(pool);
  std::string wire;
  for (std::uint64_t n = 1; n <= 100; ++n) push(window, n);
  for (std::size_t step = 1; !window.all_taken(); ++step) carry(window, wire, step % 61 + 1);
  const auto sequences = read(wire);
  ASSERT_EQ(sequences.size(), 100u);
  for (std::uint64_t n = 1; n <= 100; ++n) EXPECT_EQ(sequences[n - 1], n);
  EXPECT_TRUE(window.acknowledge(100));
  EXPECT_EQ(window.bytes(), 0u);
  EXPECT_EQ(window.messages(), 0u);
}

TEST(SendWindow, RewindSendsAgainWhatWasNotAcknowledgedFromAWholeMessageOn) {
  ChunkPool pool(37);
  SendWindow window(pool);
  std::string lost;
  for (std::uint64_t n = 1; n <= 10; ++n) push(window, n);
  while (read(lost).size() < 6) carry(window, lost, 1);
  carry(window, lost, 3);  // half of the seventh
  EXPECT_FALSE(window.between_messages());
  EXPECT_TRUE(window.acknowledge(4));
  EXPECT_EQ(window.rewind(0), 3u);  // five, six, and the half one
  EXPECT_TRUE(window.between_messages());
  std::string wire;
  while (!window.all_taken()) carry(window, wire, 1000);
  EXPECT_EQ(read(wire), (std::vector<std::uint64_t>{5, 6, 7, 8, 9, 10}));
}

TEST(SendWindow, NothingIsAcknowledgedThatWasNeverSent) {
  ChunkPool pool(64);
  SendWindow window(pool);
  std::string wire;
  push(window, 1);
  push(window, 2);
  EXPECT_FALSE(window.acknowledge(1));
  carry(window, wire, data_head_bytes + payload(1).size());
  EXPECT_TRUE(window.acknowledge(1));
  EXPECT_FALSE(window.acknowledge(2));
  EXPECT_TRUE(window.acknowledge(0));  // old news
}

TEST(SendWindow, RewindWritesTheLatestNewsIntoEveryMessage) {
  ChunkPool pool(17);
  SendWindow window(pool);
  for (std::uint64_t n = 1; n <= 5; ++n) window.push(n, bytes_of(payload(n)));
  window.rewind(1'000'000'007);
  std::string wire;
  while (!window.all_taken()) carry(window, wire, 1000);
  EXPECT_EQ(read(wire).size(), 5u);
  for (ByteView rest = bytes_of(wire); !rest.empty();
       rest = rest.subspan(next_frame(rest, 1000)->value().size))
    EXPECT_EQ(decode_data(next_frame(rest, 1000)->value().body)->received, 1'000'000'007u);
}

// The peer may have got, over the old connection, more than its hello over the new one said.
TEST(SendWindow, AfterARewindThePeerMayHaveMoreThanWasSentAgain) {
  ChunkPool pool(64);
  SendWindow window(pool);
  std::string wire;
  for (std::uint64_t n = 1; n <= 5; ++n) push(window, n);
  while (!window.all_taken()) carry(window, wire, 1000);
  window.rewind(0);
  carry(window, wire, 3);
  EXPECT_TRUE(window.acknowledge(5));
  EXPECT_EQ(window.first_unacknowledged(), 1u);  // the first is half on the wire, and is finished
  while (!window.all_taken()) carry(window, wire, 1000);
  EXPECT_TRUE(window.acknowledge(5));
  EXPECT_EQ(window.messages(), 0u);
}

TEST(SendWindow, ReusesItsMemory) {
  ChunkPool pool(128, 4);
  SendWindow window(pool);
  std::string wire;
  for (std::uint64_t n = 1; n <= 10'000; ++n) {
    push(window, n);
    wire.clear();
    while (!window.all_taken()) carry(window, wire, 1000);
    EXPECT_TRUE(window.acknowledge(n));
    EXPECT_EQ(window.bytes(), 0u);
  }
}

// Any order of pushing, carrying, losing and acknowledging delivers every message once, in order.
TEST(SendWindow, DeliversEverythingOnceUnderDrawnFaults) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ChunkPool pool(29 + seed);
    SendWindow window(pool);
    std::uint64_t draws = 0;
    const auto below = [&](std::uint64_t bound) {
      return ScrambledBits(scramble(seed + scramble(++draws))).below(bound);
    };
    std::uint64_t pushed = 0;
    std::uint64_t received = 0;
    std::string wire;
    const auto deliver = [&] {
      std::size_t read_so_far = 0;
      for (;;) {
        const auto frame = next_frame(bytes_of(wire).subspan(read_so_far), 1000);
        ASSERT_TRUE(frame);
        if (!*frame) break;
        const std::uint64_t sequence = decode_data((*frame)->body)->sequence;
        ASSERT_LE(sequence, received + 1);
        received = std::max(received, sequence);
        read_so_far += (*frame)->size;
      }
      wire.erase(0, read_so_far);
    };
    while (received < 200) {
      if (pushed < 200 && below(2) == 0) push(window, ++pushed);
      carry(window, wire, below(80));
      if (below(3) == 0) deliver();
      if (below(5) == 0) {
        ASSERT_TRUE(window.acknowledge(received));
      }
      if (below(20) != 0) continue;
      wire.clear();  // the connection is lost with what was on it
      ASSERT_TRUE(window.acknowledge(received));
      window.rewind(0);
    }
    EXPECT_EQ(received, 200u);
  }
}

}  // namespace
}  // namespace conclave::live
