// The messages on their way to one peer: not yet sent, or sent and not yet acknowledged.
//
// They stand encoded, one after another, in chunks that never move. Three positions divide them:
//
//   head                 taken                 tail
//    | sent, not acknowledged | not yet sent      |
//
// A lost connection moves `taken` back to `head`. Positions count bytes since the stream began.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "live/chunks.hpp"
#include "live/frames.hpp"

namespace conclave::live {

class SendWindow {
 public:
  explicit SendWindow(ChunkPool& pool) : pool_(pool) {}
  ~SendWindow() { clear(); }
  SendWindow(const SendWindow&) = delete;
  SendWindow& operator=(const SendWindow&) = delete;

  std::size_t bytes() const { return static_cast<std::size_t>(tail_ - head_); }
  std::uint64_t messages() const { return next_ - first_; }
  bool all_taken() const { return taken_ == tail_; }
  // No message is half on the wire.
  bool between_messages() const { return taken_ == taken_frame_; }
  std::uint64_t first_unacknowledged() const { return first_; }

  void push(std::uint64_t received, ByteView payload);

  // What comes next on the wire, in as many pieces as there is room for; returns how many.
  std::size_t next_pieces(std::span<ByteView> room) const;
  // The connection has taken that many bytes of them.
  void take(std::size_t bytes);

  // Forgets what the peer has; false if it claims a message that was never sent.
  bool acknowledge(std::uint64_t sequence);
  // Everything that is not acknowledged is to be sent again, with this news of the other direction: what
  // stands in the messages may be about a stream that is no more. Returns how many messages were sent before.
  std::uint64_t rewind(std::uint64_t received);
  // Begins anew with message 1.
  void clear();

 private:
  void append(ByteView bytes);
  std::size_t frame_bytes(std::uint64_t position) const;
  std::byte& byte_at(std::uint64_t position) const {
    return chunks_[offset(position) / pool_.chunk_bytes()][offset(position) % pool_.chunk_bytes()];
  }
  std::size_t offset(std::uint64_t position) const { return static_cast<std::size_t>(position - base_); }
  void release_before(std::uint64_t position);

  ChunkPool& pool_;
  std::vector<Chunk> chunks_;
  std::uint64_t base_ = 0;  // position of the first chunk's first byte
  std::uint64_t head_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t taken_frame_ = 0;  // where the first message starts that was not taken in full
  std::uint64_t first_ = 1;        // sequence number at head
  std::uint64_t untaken_ = 1;      // … at taken_frame
  std::uint64_t ever_taken_ = 1;   // the greatest that untaken was, whatever was rewound since
  std::uint64_t next_ = 1;         // … of the next message
};

}  // namespace conclave::live
