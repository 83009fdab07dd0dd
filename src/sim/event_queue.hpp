// What happens next, in order of time; at equal times, in order of insertion.
//
// A wheel of wheels. Level 0 has one slot per tick of the current block of 1024 ticks, level 1 one slot per
// block among 64 such, level 2 one per 64 of those, and so on: an event goes to the lowest level whose
// wheel it shares with now, and moves down when its block begins, at most once per level. Pushing and popping
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
    template <class... Parts>
    explicit Entry(std::uint64_t when, Parts&&... parts) : at(when), event(std::forward<Parts>(parts)...) {}
  };

  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue() {
    for (Slot& slot : slots_) {
      for (Chunk* chunk = slot.head; chunk; chunk = chunk->next) chunk->destroy();
    }
    if (alone_) std::destroy_at(lonely_);
    if (taken_is_lonely_) std::destroy_at(taken_);
  }

  std::size_t size() const { return size_ + (alone_ ? 1 : 0); }
  bool empty() const { return size() == 0; }
  std::uint64_t now() const { return now_; }  // when the event that was taken last happens

  // Builds the event where it will stand: copying it there costs more than all the rest, since the parts
  // just written would have to be read back as a whole (a stall of the store buffer).
  template <class... Parts>
  void emplace(std::uint64_t at, Parts&&... parts) {
    ensure(at >= now_, "nothing happens in the past");
    if (size_ == 0) {
      // A single pending event, as on an idle ring, needs no wheel.
      if (!alone_) {
        std::construct_at(lonely_, at, std::forward<Parts>(parts)...);
        alone_ = true;
        return;
      }
      place_the_lonely();
    }
    place(at, std::forward<Parts>(parts)...);
    ++size_;
  }
  void push(std::uint64_t at, T event) { emplace(at, std::move(event)); }

  // The next event, or null if there is none. It stays where it is until the next call.
  Entry* next() {
    if (open_) {
      std::destroy_at(open_->at(open_->begin));
      if (++open_->begin < open_->end) [[likely]] {  // of the same tick, so now_ stands
        --size_;
        return open_->at(open_->begin);
      }
      close();
    } else if (taken_is_lonely_) {
      taken_is_lonely_ = false;
      std::destroy_at(taken_);
    }
    if (alone_) {
      alone_ = false;
      taken_is_lonely_ = true;
      std::swap(lonely_, taken_);
      now_ = taken_->at;
      return taken_;
    }
    if (size_ == 0) return nullptr;
    open();
    --size_;
    Entry* entry = open_->at(open_->begin);
    now_ = entry->at;
    return entry;
  }

  bool pop(std::uint64_t& at, T& event) {
    Entry* entry = next();
    if (!entry) return false;
    at = entry->at;
    event = std::move(entry->event);
    return true;
  }

 private:
  // Level 0 is wide, since most delays should stay within it; the others are narrow, to be cheap to build.
  static constexpr unsigned low_bits = 10;
  static constexpr unsigned high_bits = 6;
  static constexpr unsigned levels = 1 + (64 - low_bits) / high_bits;
  static_assert((64 - low_bits) % high_bits == 0);

  static constexpr unsigned shift(unsigned level) {
    return level == 0 ? 0 : low_bits + (level - 1) * high_bits;
  }
  static constexpr std::size_t width(unsigned level) { return 1u << (level == 0 ? low_bits : high_bits); }
  static constexpr std::size_t first_slot(unsigned level) {  // where its slots begin among all slots
    return level == 0 ? 0 : width(0) + (level - 1) * width(1);
  }
  static constexpr std::size_t none = SIZE_MAX;
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
  struct Room {  // for one entry
    alignas(Entry) std::byte storage[sizeof(Entry)];
    Entry* entry() { return reinterpret_cast<Entry*>(storage); }
  };

  // The slot of a time on a level, among all slots.
  static std::size_t slot_of(std::uint64_t time, unsigned level) {
    return first_slot(level) + ((time >> shift(level)) & (width(level) - 1));
  }
  static unsigned level_of(std::uint64_t differing) {
    if (differing < width(0)) return 0;
    return 1 + (static_cast<unsigned>(std::bit_width(differing)) - 1 - low_bits) / high_bits;
  }

  template <class... Parts>
  void place(std::uint64_t at, Parts&&... parts) {
    const std::size_t index = slot_of(at, level_of(at ^ now_));
    Slot& slot = slots_[index];
    if (!slot.tail || slot.tail->end == chunk_size) [[unlikely]]
      extend(slot, index);
    std::construct_at(reinterpret_cast<Entry*>(slot.tail->storage) + slot.tail->end, at,
                      std::forward<Parts>(parts)...);
    ++slot.tail->end;
  }

  [[gnu::noinline]] void place_the_lonely() {
    place(lonely_->at, std::move(lonely_->event));
    std::destroy_at(lonely_);
    alone_ = false;
    ++size_;
  }

  [[gnu::noinline]] void extend(Slot& slot, std::size_t index) {
    Chunk* chunk = fresh_chunk();
    if (slot.tail) {
      slot.tail->next = chunk;
    } else {
      slot.head = chunk;
      occupied_[index / 64] |= std::uint64_t{1} << (index % 64);
    }
    slot.tail = chunk;
  }

  // Makes the first chunk of the next tick the one that next() takes from.
  void open() {
    open_slot_ = next_slot(0);
    while (open_slot_ == none) {
      move_next_block_down();
      open_slot_ = next_slot(0);
    }
    open_ = slots_[open_slot_].head;
  }

  void close() {
    Chunk* chunk = std::exchange(open_, nullptr);
    Slot& slot = slots_[open_slot_];
    slot.head = chunk->next;
    if (!slot.head) {
      slot.tail = nullptr;
      occupied_[open_slot_ / 64] &= ~(std::uint64_t{1} << (open_slot_ % 64));
    }
    recycle(chunk);
  }

  // The first occupied slot of a level that is not past, or none.
  std::size_t next_slot(unsigned level) const {
    const std::size_t from = slot_of(now_, level);
    const std::size_t end = (first_slot(level) + width(level)) / 64;
    std::size_t word = from / 64;
    std::uint64_t found = occupied_[word] & (~std::uint64_t{0} << (from % 64));
    while (found == 0) {
      if (++word == end) return none;
      found = occupied_[word];
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(found));
  }

  [[gnu::noinline]] void move_next_block_down() {
    for (unsigned level = 1; level < levels; ++level) {
      const std::size_t index = next_slot(level);
      if (index == none) continue;
      const Slot slot = std::exchange(slots_[index], {});
      occupied_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
      // Now becomes the beginning of the block.
      const std::uint64_t place_on_level = index - first_slot(level);
      const std::uint64_t above = level + 1 == levels ? 0 : ~std::uint64_t{0} << shift(level + 1);
      now_ = (now_ & above) | place_on_level << shift(level);
      for (Chunk* chunk = slot.head; chunk;) {
        for (std::uint32_t i = chunk->begin; i < chunk->end; ++i) {
          Entry* entry = chunk->at(i);
          place(entry->at, std::move(entry->event));
          std::destroy_at(entry);
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
  std::size_t size_ = 0;  // in the wheels, without what next() returned
  // What next() returned last stands in one of these, and there it stays while its successor is built.
  Chunk* open_ = nullptr;      // first entry, if it came from the wheels
  std::size_t open_slot_ = 0;  // that chunk's slot
  std::array<Room, 2> rooms_;  // otherwise
  Entry* taken_ = rooms_[0].entry();
  Entry* lonely_ = rooms_[1].entry();  // the other room: of the pending event, if there is but one
  bool taken_is_lonely_ = false;
  bool alone_ = false;
  static constexpr std::size_t all_slots = (1u << low_bits) + (levels - 1) * (1u << high_bits);
  std::array<std::uint64_t, all_slots / 64> occupied_{};  // one bit per slot
  std::array<Slot, all_slots> slots_{};
  Chunk* free_ = nullptr;
  std::vector<std::unique_ptr<Chunk>> owned_;
};

}  // namespace conclave::sim
