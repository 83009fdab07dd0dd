// A hash table for what is asked for millions of times and forgotten never: the answer stands in the slot
// itself, so that a question costs one line of the cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/large_pages.hpp"

namespace conclave::check {

// `Slot` has a field `key`, 0 while it is empty.
template <class Slot>
class Table {
 public:
  Table() : slots_(64) {}

  const Slot* find(std::uint64_t key) const {
    for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.key == key) return &slot;
      if (slot.key == 0) return nullptr;
    }
  }
  // Of a key that is not there. Moves the others: what find returned before is no longer where it was.
  const Slot* insert(Slot slot) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    ++used_;
    return place(std::move(slot));
  }
  std::uint64_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  std::size_t home(std::uint64_t key) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(key) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(product ^ product >> 64) & (slots_.size() - 1);
  }
  const Slot* place(Slot slot) {
    std::size_t i = home(slot.key);
    while (slots_[i].key != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = std::move(slot);
    return &slots_[i];
  }
  void grow() {
    std::vector<Slot, LargePages<Slot>> old(2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != 0) place(std::move(slot));
    }
  }
  std::vector<Slot, LargePages<Slot>> slots_;
  std::size_t used_ = 0;
};

}  // namespace conclave::check
