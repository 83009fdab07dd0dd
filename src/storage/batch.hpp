// Records on their way to the disk: what one fdatasync will make durable. Its memory is used again.
#pragma once
#include <memory>
#include <vector>

#include "storage/record.hpp"

namespace conclave::storage {

class Batch {
 public:
  static constexpr std::size_t most_bytes = 2 * most_record_bytes;

  // Appends one record, the concatenation of `parts`: not empty, at most most_record_bytes. Whoever lets more
  // than most_bytes collect in all has not looked at what waits.
  void add(std::span<const ByteView> parts, std::uint64_t tag, RecordKind kind = RecordKind::record);
  void clear();
  // What a reader must know of everything before this batch, should a segment begin with it.
  void set_preamble(ByteView preamble) { preamble_.assign(preamble.begin(), preamble.end()); }
  ByteView preamble() const { return preamble_; }

  bool empty() const { return used_ == 0; }
  std::size_t bytes() const { return used_; }
  std::uint64_t greatest_tag() const { return greatest_tag_; }

  // Gives every head its batch and its place: the first record will stand at `offset` of the segment.
  void place(std::uint32_t seed, std::uint64_t offset, std::uint32_t batch, bool ends_batch = true);
  ByteView view() const { return {memory_.get(), used_}; }

 private:
  void reserve(std::size_t bytes);

  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::uint64_t greatest_tag_ = 0;
  std::vector<std::byte> preamble_;
};

}  // namespace conclave::storage
