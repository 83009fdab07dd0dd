// The versions of a key before its newest one. Most keys have none, and of those it takes eight bytes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace conclave::kv {

struct Record;

// Ascending by revision. What goes, goes from the front: first out of the state, then out of memory. The
// front of those that are there may be anywhere, so that giving up one version does not move all others.
class OlderVersions {
 public:
  OlderVersions() = default;
  OlderVersions(const OlderVersions&) = delete;
  OlderVersions& operator=(const OlderVersions&) = delete;
  ~OlderVersions() { clear(); }

  std::size_t size() const { return block_ ? block_->size : 0; }
  // From the front: those that are no longer there, and those that are no longer part of the state.
  std::size_t gone() const { return block_ ? block_->gone : 0; }
  std::size_t dropped() const { return block_ ? block_->dropped : 0; }
  Record* operator[](std::size_t i) const { return records()[i]; }
  // Of those that are there.
  Record* const* begin() const { return block_ ? records() + block_->gone : nullptr; }
  Record* const* end() const { return block_ ? records() + block_->size : nullptr; }

  void push_back(Record* record, bool is_dropped);
  void drop_first() { ++block_->dropped; }
  // The first of those that are there; numbers of others may change.
  void forget_first();
  void clear();

 private:
  struct Block {
    std::uint32_t size;
    std::uint32_t capacity;
    std::uint32_t gone;
    std::uint32_t dropped;
  };

  Record** records() const { return reinterpret_cast<Record**>(block_ + 1); }
  void resize(std::size_t capacity);

  Block* block_ = nullptr;
};

}  // namespace conclave::kv
