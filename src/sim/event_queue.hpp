// What happens next, in order of time; at equal times, in order of insertion.
//
// A wheel of wheels. Level 0 has one slot per tick of the current block of 256 ticks, level 1 one slot
// per block of 256 of those, and so on: an event goes to the level of the highest byte in which its time
// differs from now, and moves down when its block begins, at most once per level. Pushing and popping
// cost the same with one event pending or a million, and both stay in memory touched just before: events
// stand in chunks that are reused, so a run allocates only while its backlog grows.
//
// The order of equal times needs no counter: such events are always in the same slot, oldest first, since
// a block is moved down as a whole before anything is pushed into it directly.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ensure.hpp"

namespace conclave::sim {

template <class T>
class EventQueue {
 public:
  struct Entry {
    std::uint64_t at;
    T event;
  };

  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue() {
    for (auto& level : slots_) {
      for (Slot& slot : level) {
        for (Chunk* chunk = slot.head; chunk; chunk = chunk->next) chunk->destroy();
      }
    }
  }

  std::size_t size() const { return size_ + (only_ ? 1 : 0); }
  bool empty() const { return size() == 0; }

  void push(std::uint64_t at, T event) {
    ensure(at >= now_, "nothing happens in the past");
    if (size_ == 0 && !only_) {  // a single pending event, as on an idle ring, needs no wheel
      only_.emplace(at, std::move(event));
      return;
    }
    if (only_) {
      place({only_->at, std::move(only_->event)});
      only_.reset();
      ++size_;
    }
    place({at, std::move(event)});
    ++size_;
  }

  // Moves the next event out; false if there is none.
  bool pop(std::uint64_t& at, T& event) {
    if (only_) {
      at = now_ = only_->at;
      event = std::move(only_->event);
      only_.reset();
      return true;
    }
    if (size_ == 0) return false;
    while (true) {
      const int slot = next_slot(0, byte(now_, 0));
      if (slot >= 0) {
        take(slots_[0][static_cast<std::size_t>(slot)], slot, at, event);
        now_ = at;
        --size_;
        return true;
      }
      move_next_block_down();
    }
  }

 private:
  static constexpr unsigned bits = 8;
  static constexpr std::size_t slot_count = 1u << bits;
  static constexpr unsigned levels = 64 / bits;
  static constexpr std::uint32_t chunk_size = 32;

  struct Chunk {
    Chunk* next = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    alignas(Entry) std::byte storage[chunk_size * sizeof(Entry)];

    Entry* at(std::uint32_t i) { return std::launder(reinterpret_cast<Entry*>(storage)) + i; }
    void destroy() {
      for (std::uint32_t i = begin; i < end; ++i) std::destroy_at(at(i));
    }
  };
  struct Slot {
    Chunk* head = nullptr;
    Chunk* tail = nullptr;
  };

  static std::size_t byte(std::uint64_t time, unsigned level) {
    return (time >> (level * bits)) & (slot_count - 1);
  }

  void place(Entry&& entry) {
    const std::uint64_t differing = entry.at ^ now_;
    const unsigned level =
        differing == 0 ? 0 : (63u - static_cast<unsigned>(std::countl_zero(differing))) / bits;
    const std::size_t index = byte(entry.at, level);
    Slot& slot = slots_[level][index];
    if (!slot.tail || slot.tail->end == chunk_size) {
      Chunk* chunk = fresh_chunk();
      if (slot.tail) {
        slot.tail->next = chunk;
      } else {
        slot.head = chunk;
        occupied_[level][index / 64] |= std::uint64_t{1} << (index % 64);
      }
      slot.tail = chunk;
    }
    std::construct_at(reinterpret_cast<Entry*>(slot.tail->storage) + slot.tail->end, std::move(entry));
    ++slot.tail->end;
  }

  void take(Slot& slot, int index, std::uint64_t& at, T& event) {
    Chunk* chunk = slot.head;
    Entry* entry = chunk->at(chunk->begin++);
    at = entry->at;
    event = std::move(entry->event);
    std::destroy_at(entry);
    if (chunk->begin < chunk->end) return;
    slot.head = chunk->next;
    if (!slot.head) {
      slot.tail = nullptr;
      const auto i = static_cast<std::size_t>(index);
      occupied_[0][i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    recycle(chunk);
  }

  // The first occupied slot of a level at or after `from`, or -1.
  int next_slot(unsigned level, std::size_t from) const {
    std::size_t word = from / 64;
    std::uint64_t found = occupied_[level][word] & (~std::uint64_t{0} << (from % 64));
    while (found == 0) {
      if (++word == slot_count / 64) return -1;
      found = occupied_[level][word];
    }
    return static_cast<int>(word * 64 + static_cast<std::size_t>(std::countr_zero(found)));
  }

  void move_next_block_down() {
    for (unsigned level = 1; level < levels; ++level) {
      const int found = next_slot(level, byte(now_, level));
      if (found < 0) continue;
      const auto index = static_cast<std::size_t>(found);
      const Slot slot = std::exchange(slots_[level][index], {});
      occupied_[level][index / 64] &= ~(std::uint64_t{1} << (index % 64));
      const std::uint64_t below = (std::uint64_t{1} << (level * bits)) - 1;
      now_ = (now_ & ~(below | std::uint64_t{slot_count - 1} << (level * bits))) | std::uint64_t{index}
                                                                                       << (level * bits);
      for (Chunk* chunk = slot.head; chunk;) {
        for (std::uint32_t i = chunk->begin; i < chunk->end; ++i) {
          place(std::move(*chunk->at(i)));
          std::destroy_at(chunk->at(i));
        }
        recycle(std::exchange(chunk, chunk->next));
      }
      return;
    }
    ensure(false, "a queue that is not empty has a next event");
  }

  Chunk* fresh_chunk() {
    if (!free_) {
      owned_.push_back(std::make_unique_for_overwrite<Chunk>());
      owned_.back()->next = nullptr;
      free_ = owned_.back().get();
    }
    Chunk* chunk = std::exchange(free_, free_->next);
    chunk->next = nullptr;
    chunk->begin = chunk->end = 0;
    return chunk;
  }
  void recycle(Chunk* chunk) { chunk->next = std::exchange(free_, chunk); }

  std::uint64_t now_ = 0;
  std::size_t size_ = 0;  // without `only_`
  std::optional<Entry> only_;
  std::array<std::array<std::uint64_t, slot_count / 64>, levels> occupied_{};
  std::array<std::array<Slot, slot_count>, levels> slots_{};
  Chunk* free_ = nullptr;
  std::vector<std::unique_ptr<Chunk>> owned_;
};

}  // namespace conclave::sim
