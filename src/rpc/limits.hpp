// Everything an outsider can make grow, and how far.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace conclave::rpc {

// What holds for one connection, on either side.
struct SessionLimits {
  std::size_t message_bytes = 2 * 1024 * 1024;  // received: etcd's 1.5 MiB and 512 KiB for what surrounds it
  // A peer may open as many streams as it likes, so that no call of it waits for another; a call beyond this
  // many, or when those that are open take so much, is refused.
  std::uint32_t concurrent_streams = 100'000;
  std::size_t open_calls_bytes = 48 * 1024 * 1024;
  std::uint32_t header_list_bytes = 16 * 1024;
  std::uint32_t stream_window_bytes = 256 * 1024;
  std::uint32_t connection_window_bytes = 1024 * 1024;
  // Of messages that are half received, over all streams of the connection.
  std::size_t half_received_bytes = 16 * 1024 * 1024;
  // From here on `congested` asks senders to wait; `on_writable` tells when a quarter of it is left. Of what
  // waits in one stream, no more than this counts against its neighbours.
  std::size_t stream_output_bytes = 256 * 1024;
  // With so much of small answers waiting, requests of the connection wait as well; while so much of any
  // answers waits, nobody begins another large one.
  std::size_t connection_output_bytes = 8 * 1024 * 1024;
  // An answer of this size is always taken.
  std::size_t small_answer_bytes = 64 * 1024;
  // No message is larger.
  std::size_t answer_bytes = 512 * 1024 * 1024;
  // How large an answer may be while there is so much memory: large ones leave some for those who only call.
  std::size_t room_for_answer(std::size_t memory) const {
    const std::size_t left = memory - std::min(memory, answer_bytes / 4);
    return std::max(small_answer_bytes, std::min(answer_bytes, left));
  }
  // What an open stream is reckoned at, whatever waits in it.
  std::size_t stream_bytes = 2 * 1024;
  // Frames that cost us work and bring nothing (PING, SETTINGS, WINDOW_UPDATE, empty DATA, unknown types): so
  // many at once, so many per second for ever, and some for every frame of an answer.
  unsigned idle_burst = 200;
  unsigned idle_per_second = 10;
  unsigned idle_per_answer = 8;
  // Streams that the peer opens and cancels: so many at once, so many per second.
  unsigned resets_burst = 1000;
  unsigned resets_per_second = 100;
  // Nothing more is read while this many frames of the library wait for a socket that is full.
  std::size_t queued_frames = 1000;
  // A silent peer is pinged after this long, and given up after the second: what lives as long as its
  // connection must not outlive its client for hours.
  std::chrono::milliseconds keepalive_interval{10'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // A peer that takes none of what we write.
  std::chrono::milliseconds stalled_after{30'000};
  // A peer that does not acknowledge our settings.
  std::chrono::milliseconds settings_timeout{10'000};
  // A message of which nothing more comes; and any message, from its first byte to its last.
  std::chrono::milliseconds message_quiet{30'000};
  std::chrono::milliseconds message_timeout{300'000};
  // A client that takes less than this of a large answer in this time.
  std::size_t answer_progress = 64 * 1024;
  std::chrono::milliseconds answer_quiet{30'000};
};

// What holds for a server.
struct ServerLimits {
  SessionLimits session = {};
  std::size_t connections = 10'000;
  // Memory for all connections together: what they half sent, what they do not take, their streams.
  std::size_t memory_bytes = std::size_t{1} << 30;
  // What a connection is reckoned at before anything is said on it, and what TLS adds.
  std::size_t connection_bytes = 8 * 1024;
  std::size_t tls_bytes = 64 * 1024;
  // TLS connections of which nothing is known yet; half of them of one address.
  std::size_t handshakes = 500;
  // Streams that clients of one address open and cancel, over all its connections: so many at once, so many
  // per second.
  unsigned address_resets_burst = 5000;
  unsigned address_resets_per_second = 500;
  // From accepting until the preface of HTTP/2 or the head of an HTTP/1.1 request is there, TLS included.
  std::chrono::milliseconds preface_timeout{10'000};
  // HTTP/1.1: a whole request once it began, and the rest between two requests.
  std::chrono::milliseconds request_timeout{30'000};
  std::chrono::milliseconds idle_timeout{120'000};
};

}  // namespace conclave::rpc
