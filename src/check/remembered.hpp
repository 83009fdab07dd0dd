// What has been worked out once and is asked for millions of times: what each of many owners, known by
// number, answers to which question. One thread at a time adds, and any number ask without a lock.
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "check/arena.hpp"
#include "check/segmented.hpp"

namespace conclave::check {

// The answers of an owner lie together, as a small hash table: who asks it one thing soon asks it another. An
// answer is copied out; a table that has become too small is left behind as it is, for those who look at it.
template <class Answer>
class Remembered {
  static_assert(std::is_trivially_copyable_v<Answer>);
  struct Slot {
    std::uint32_t mark = 0;  // the question and one; 0: nothing is here
    Answer answer = {};
  };
  using Table =
      std::uintptr_t;  // its slots begin at a line of the cache; the bits below say how many there are

 public:
  // What one owner has answered so far.
  class Answers {
   public:
    // The answer, or null.
    const Answer* to(std::uint32_t question) const {
      for (std::uint32_t i = home(question, mask_);; i = (i + 1) & mask_) {
        const std::uint32_t mark = std::atomic_ref(slots_[i].mark).load(std::memory_order_acquire);
        if (mark == question + 1) return &slots_[i].answer;
        if (mark == 0) return nullptr;
      }
    }

   private:
    friend Remembered;
    explicit Answers(Table table) : slots_(slots_of(table)), mask_(mask_of(table)) {}
    Slot* slots_;
    std::uint32_t mask_;
  };
  Answers of(std::uint32_t owner) const {
    if (owner >= known_.load(std::memory_order_acquire)) [[unlikely]]
      return Answers(silence_);
    return Answers(tables_[owner].load(std::memory_order_acquire));
  }
  const Answer* find(std::uint32_t owner, std::uint32_t question) const { return of(owner).to(question); }
  // To a question that has no answer yet.
  void add(std::uint32_t owner, std::uint32_t question, const Answer& answer) {
    if (tables_.size() <= owner) make_room(owner);
    Table table = tables_[owner].load(std::memory_order_relaxed);
    if (4 * (used_[owner] + 1) > 3 * (mask_of(table) + 1)) {
      table = grown(table);
      tables_[owner].store(table, std::memory_order_release);
    }
    place(table, question + 1, answer);
    ++used_[owner];
    ++size_;
  }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes() const { return arena_.bytes() + tables_.bytes() + used_.bytes(); }

 private:
  static constexpr unsigned first_bits = 1;
  static constexpr Table bits_mask = 63;

  static Slot* slots_of(Table table) { return reinterpret_cast<Slot*>(table & ~bits_mask); }
  static std::uint32_t mask_of(Table table) { return (1u << (table & bits_mask)) - 1; }
  static std::uint32_t home(std::uint32_t question, std::uint32_t mask) {
    const std::uint32_t mixed = question * 0x9e3779b1u;
    return (mixed ^ mixed >> 15) & mask;
  }
  Table new_table(unsigned bits) {
    return reinterpret_cast<Table>(arena_.template make<Slot>(std::size_t{1} << bits)) | bits;
  }
  void make_room(std::uint32_t owner) {
    while (tables_.size() <= owner) {
      tables_.emplace_back(new_table(first_bits));
      used_.push_back(0);
    }
    known_.store(tables_.size(), std::memory_order_release);
  }
  Table grown(Table old) {
    const Table larger = new_table(static_cast<unsigned>(old & bits_mask) + 1);
    for (std::uint32_t i = 0; i <= mask_of(old); ++i) {
      const Slot& slot = slots_of(old)[i];
      if (slot.mark != 0) place(larger, slot.mark, slot.answer);
    }
    return larger;
  }
  static void place(Table table, std::uint32_t mark, const Answer& answer) {
    Slot* const slots = slots_of(table);
    std::uint32_t i = home(mark - 1, mask_of(table));
    while (slots[i].mark != 0) i = (i + 1) & mask_of(table);
    slots[i].answer = answer;
    std::atomic_ref(slots[i].mark).store(mark, std::memory_order_release);
  }

  Arena arena_;
  const Table silence_ = new_table(0);                // of those who have answered nothing
  Segmented<std::atomic<Table>> tables_;              // by owner
  alignas(64) std::atomic<std::uint32_t> known_ = 0;  // owners whose tables can be asked
  alignas(64) std::uint64_t size_ = 0;
  Segmented<std::uint32_t> used_;  // slots, by owner
};

}  // namespace conclave::check
