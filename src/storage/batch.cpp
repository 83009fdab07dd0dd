#include "storage/batch.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::storage {
namespace {

constexpr std::size_t least_capacity = 64 * 1024;
constexpr std::size_t most_idle_capacity = 8 << 20;  // more than this is given back when it is not needed

}  // namespace

void Batch::add(std::span<const ByteView> parts, std::uint64_t tag, RecordKind kind) {
  std::size_t length = 0;
  for (const ByteView part : parts) length += part.size();
  ensure(length <= most_record_bytes, "a record keeps to its bound");
  ensure(length > 0 || kind == RecordKind::seal, "a record says something");
  RecordHead head = {.kind = kind, .length = static_cast<std::uint32_t>(length), .tag = tag};
  ensure(used_ + head.size() <= most_bytes, "a batch keeps to its bound");
  reserve(used_ + head.size());

  std::byte* const at = memory_.get() + used_;
  std::byte* to = at + record_head_bytes;
  for (const ByteView part : parts) to = std::copy(part.begin(), part.end(), to);
  std::fill(to, at + head.size(), std::byte{0});
  head.payload_sum = crc32c({at + record_head_bytes, length});
  write_record_head(at, head, 0, 0);  // until `place`
  used_ += head.size();
  greatest_tag_ = std::max(greatest_tag_, tag);
}

void Batch::clear() {
  used_ = 0;
  greatest_tag_ = 0;
  if (capacity_ <= most_idle_capacity) return;
  memory_.reset();
  capacity_ = 0;
}

void Batch::place(std::uint32_t seed, std::uint64_t offset, std::uint32_t batch, bool ends_batch) {
  for (std::size_t at = 0; at < used_;) {
    RecordHead head = record_head_at(memory_.get() + at);
    const std::size_t next = at + head.size();
    head.batch = batch;
    head.ends_batch = ends_batch && next == used_;
    write_record_head(memory_.get() + at, head, seed, offset + at);
    at = next;
  }
}

void Batch::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  const std::size_t capacity = std::max({bytes, 2 * capacity_, least_capacity});
  auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::copy_n(memory_.get(), used_, memory.get());
  memory_ = std::move(memory);
  capacity_ = capacity;
}

}  // namespace conclave::storage
