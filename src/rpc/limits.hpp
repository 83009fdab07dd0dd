// Everything an outsider can make grow, and how far.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace conclave::rpc {

// What holds for one connection, on either side.
struct SessionLimits {
  std::size_t message_bytes = 2 * 1024 * 1024;  // received: etcd's 1.5 MiB and 512 KiB for what surrounds it
  std::uint32_t concurrent_streams = 4096;
  std::uint32_t header_list_bytes = 16 * 1024;
  std::uint32_t stream_window_bytes = 256 * 1024;
  std::uint32_t connection_window_bytes = 1024 * 1024;
  // Of messages that are half received, over all streams of the connection.
  std::size_t half_received_bytes = 16 * 1024 * 1024;
  // From here on `congested` asks senders to wait; `on_writable` tells when a quarter of it is left.
  std::size_t stream_output_bytes = 256 * 1024;
  // From here on nothing more is read from a connection until its output drains.
  std::size_t connection_output_bytes = 8 * 1024 * 1024;
  // Who sends on although `congested` loses the call when this much waits already.
  std::size_t refused_output_bytes = 64 * 1024 * 1024;
  // Frames that cost us work and bring nothing (PING, SETTINGS, empty DATA), without an answer of ours
  // between.
  unsigned idle_frames = 200;
  // Streams that the peer opens and cancels: so many at once, so many per second.
  unsigned resets_burst = 1000;
  unsigned resets_per_second = 100;
  // A silent peer is pinged after this long, and given up after the second: what lives as long as its
  // connection must not outlive its client for hours.
  std::chrono::milliseconds keepalive_interval{10'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // A peer that takes none of what we write.
  std::chrono::milliseconds stalled_after{30'000};
};

// What holds for a server.
struct ServerLimits {
  SessionLimits session = {};
  std::size_t connections = 10'000;
  // From accepting until the preface of HTTP/2 or the head of an HTTP/1.1 request is there, TLS included.
  std::chrono::milliseconds preface_timeout{10'000};
  // HTTP/1.1: a whole request once it began, and the rest between two requests.
  std::chrono::milliseconds request_timeout{30'000};
  std::chrono::milliseconds idle_timeout{120'000};
};

}  // namespace conclave::rpc
