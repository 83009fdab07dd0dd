// Memory for queues of bytes, in pieces of one size that are handed out, given back and handed out again.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace conclave::live {

using Chunk = std::unique_ptr<std::byte[]>;

class ChunkPool {
 public:
  explicit ChunkPool(std::size_t chunk_bytes = 64 * 1024, std::size_t most_spare = 64)
      : chunk_bytes_(chunk_bytes), most_spare_(most_spare) {
    spare_.reserve(most_spare);
  }

  std::size_t chunk_bytes() const { return chunk_bytes_; }
  Chunk take() {
    if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(chunk_bytes_);
    Chunk chunk = std::move(spare_.back());
    spare_.pop_back();
    return chunk;
  }
  void give_back(Chunk chunk) {
    if (spare_.size() < most_spare_) spare_.push_back(std::move(chunk));
  }

 private:
  std::size_t chunk_bytes_;
  std::size_t most_spare_;
  std::vector<Chunk> spare_;
};

}  // namespace conclave::live
