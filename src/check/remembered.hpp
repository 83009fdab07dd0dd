// What has been worked out once and is asked for millions of times: values by key. One thread at a time adds,
// any number ask without a lock, and a value stays where it is.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "check/segmented.hpp"

namespace conclave::check {

// `Value` has a field `key`. The index is small, eight of its slots to a line of the cache: a question costs
// a line of it and the value's own.
template <class Value>
class Remembered {
 public:
  Remembered() { use(std::make_unique<Index>(first_slots)); }

  const Value* find(std::uint64_t key) const {
    const std::uint64_t hash = mixed(key);
    const Index& index = *index_.load(std::memory_order_acquire);
    for (std::size_t i = hash & index.mask;; i = (i + 1) & index.mask) {
      const std::uint64_t slot = index.slots[i].load(std::memory_order_acquire);
      if (slot == 0) return nullptr;
      if (slot >> 32 != hash >> 32) continue;
      const Value& value = values_[static_cast<std::uint32_t>(slot) - 1];
      if (value.key == key) return &value;
    }
  }
  // Of a key that is not there.
  const Value& add(const Value& value) {
    if (4 * (std::size_t{values_.size()} + 1) > 3 * (indices_.back()->mask + 1)) grow();
    const std::uint64_t hash = mixed(value.key);
    const std::uint32_t number = values_.push_back(value);
    place(*indices_.back(), hash, number);
    return values_[number];
  }
  std::uint32_t size() const { return values_.size(); }
  std::uint64_t bytes() const {
    std::uint64_t sum = values_.bytes();
    for (const auto& index : indices_) sum += (index->mask + 1) * sizeof(Slot);
    return sum;
  }

 private:
  using Slot = std::atomic<std::uint64_t>;  // the upper half of the hash, and the value's number from 1
  struct Index {
    explicit Index(std::size_t size) : mask(size - 1), slots(size) {}
    std::size_t mask;
    std::vector<Slot, LargePages<Slot>> slots;
  };
  static constexpr std::size_t first_slots = 64;

  static std::uint64_t mixed(std::uint64_t key) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(key) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint64_t>(product ^ product >> 64);
  }
  static void place(Index& index, std::uint64_t hash, std::uint32_t number) {
    std::size_t i = hash & index.mask;
    while (index.slots[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & index.mask;
    index.slots[i].store(hash >> 32 << 32 | (number + 1), std::memory_order_release);
  }
  // Who is looking at the old one may go on: it is kept, and all the old ones together are no larger than
  // this.
  void grow() {
    auto larger = std::make_unique<Index>(2 * (indices_.back()->mask + 1));
    for (std::uint32_t number = 0; number < values_.size(); ++number)
      place(*larger, mixed(values_[number].key), number);
    use(std::move(larger));
  }
  void use(std::unique_ptr<Index> index) {
    indices_.push_back(std::move(index));
    index_.store(indices_.back().get(), std::memory_order_release);
  }

  Segmented<Value> values_;
  std::vector<std::unique_ptr<Index>> indices_;
  std::atomic<const Index*> index_ = nullptr;
};

}  // namespace conclave::check
