#include "live/send_window.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::live {

void SendWindow::push(std::uint64_t received, ByteView payload) {
  append(data_head(next_, received, payload.size()));
  append(payload);
  ++next_;
}

void SendWindow::append(ByteView bytes) {
  const std::size_t size = pool_.chunk_bytes();
  while (!bytes.empty()) {
    const std::size_t at = offset(tail_);
    if (at == chunks_.size() * size) chunks_.push_back(pool_.take());
    const std::size_t within = at % size;
    const std::size_t fits = std::min(bytes.size(), size - within);
    std::memcpy(chunks_[at / size].get() + within, bytes.data(), fits);
    tail_ += fits;
    bytes = bytes.subspan(fits);
  }
}

std::size_t SendWindow::next_pieces(std::span<ByteView> room) const {
  const std::size_t size = pool_.chunk_bytes();
  std::size_t count = 0;
  for (std::uint64_t from = taken_; from < tail_ && count < room.size(); ++count) {
    const std::size_t within = offset(from) % size;
    const std::size_t length = std::min(size - within, static_cast<std::size_t>(tail_ - from));
    room[count] = {chunks_[offset(from) / size].get() + within, length};
    from += length;
  }
  return count;
}

void SendWindow::take(std::size_t bytes) {
  taken_ += bytes;
  ensure(taken_ <= tail_, "nobody takes more than there is");
  while (taken_frame_ < taken_) {
    const std::uint64_t end = taken_frame_ + frame_bytes(taken_frame_);
    if (end > taken_) break;
    taken_frame_ = end;
    ++untaken_;
  }
  ever_taken_ = std::max(ever_taken_, untaken_);
}

// The length may stand across two chunks.
std::size_t SendWindow::frame_bytes(std::uint64_t position) const {
  std::array<std::byte, sizeof(std::uint32_t)> length;
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = byte_at(position + i);
  return sizeof(std::uint32_t) + load<std::uint32_t>(length.data());
}

bool SendWindow::acknowledge(std::uint64_t sequence) {
  if (sequence >= ever_taken_) return false;
  // After a rewind the peer may have more than we have sent again. What is half on the wire is finished all
  // the same, and the peer drops what it knows.
  sequence = std::min(sequence, untaken_ - 1);
  while (first_ <= sequence) {
    head_ += frame_bytes(head_);
    ++first_;
  }
  release_before(head_);
  return true;
}

void SendWindow::release_before(std::uint64_t position) {
  const std::size_t whole = offset(position) / pool_.chunk_bytes();
  if (whole == 0) return;
  for (std::size_t i = 0; i < whole; ++i) pool_.give_back(std::move(chunks_[i]));
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(whole));
  base_ += whole * pool_.chunk_bytes();
}

std::uint64_t SendWindow::rewind(std::uint64_t received) {
  std::array<std::byte, sizeof received> news;
  store(news.data(), received);
  for (std::uint64_t frame = head_; frame < tail_; frame += frame_bytes(frame)) {
    for (std::size_t i = 0; i < news.size(); ++i) byte_at(frame + data_received_offset + i) = news[i];
  }
  const std::uint64_t again = untaken_ - first_ + (taken_ > taken_frame_ ? 1 : 0);
  taken_ = taken_frame_ = head_;
  untaken_ = first_;
  return again;
}

void SendWindow::clear() {
  for (Chunk& chunk : chunks_) pool_.give_back(std::move(chunk));
  chunks_.clear();
  base_ = head_ = taken_ = tail_ = taken_frame_ = 0;
  first_ = untaken_ = ever_taken_ = next_ = 1;
}

}  // namespace conclave::live
