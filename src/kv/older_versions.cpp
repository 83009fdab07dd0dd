#include "kv/older_versions.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

constexpr std::size_t first_capacity = 2;
// A block that is emptier than this gives back half of itself.
constexpr std::size_t least_filling = 4;

}  // namespace

void OlderVersions::push_back(Record* record, bool is_dropped) {
  if (!block_ || block_->size == block_->capacity) resize(block_ ? 2 * size() : first_capacity);
  records()[block_->size++] = record;
  if (is_dropped) ++block_->dropped;
}

void OlderVersions::forget_first() {
  ensure(block_ && block_->gone < block_->dropped, "what goes has been dropped");
  if (++block_->gone * 2 <= block_->size) return;
  const std::uint32_t left = block_->size - block_->gone;
  if (left == 0) return clear();
  std::memmove(records(), records() + block_->gone, left * sizeof(Record*));
  block_->dropped -= block_->gone;
  block_->gone = 0;
  block_->size = left;
  if (left * least_filling <= block_->capacity) resize(block_->capacity / 2);
}

void OlderVersions::clear() {
  std::free(block_);
  block_ = nullptr;
}

// A large block is moved by the kernel, which copies nothing.
void OlderVersions::resize(std::size_t capacity) {
  ensure(capacity <= std::numeric_limits<std::uint32_t>::max(), "so many records do not fit into memory");
  void* const larger = std::realloc(block_, sizeof(Block) + capacity * sizeof(Record*));
  if (!larger) throw std::bad_alloc();
  const bool is_new = !block_;
  block_ = static_cast<Block*>(larger);
  if (is_new) *block_ = {};
  block_->capacity = static_cast<std::uint32_t>(capacity);
}

}  // namespace conclave::kv
