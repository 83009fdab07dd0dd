// Empty memory that grows and never moves: its addresses are taken at once, the memory itself as it is
// needed, in pages of two megabytes where the kernel grants them, because looking up the address of a small
// page costs as much as the access itself.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace conclave::check {

class Room {
 public:
  static constexpr std::size_t page = std::size_t{2} << 20;
  static constexpr std::size_t small = std::size_t{64} << 10;
  // A room of so many bytes consists of pieces of this size.
  static constexpr std::size_t step_at(std::size_t bytes) { return bytes < 4 * page ? small : page; }

  // So many addresses; by default for all the memory of the machine.
  explicit Room(std::size_t most = all_memory()) {
    // Who may not have so many addresses (ulimit -v) gets as many as it may.
    for (room_ = (most + page - 1) / page * page + page;; room_ /= 2) {
      memory_ = mmap(nullptr, room_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory_ != MAP_FAILED) break;
      if (room_ < 16 * page) throw std::bad_alloc();
    }
    auto* first = static_cast<std::byte*>(memory_);
    begin_ = first + (page - reinterpret_cast<std::uintptr_t>(first) % page) % page;
  }
  Room(Room&& other) noexcept
      : memory_(std::exchange(other.memory_, MAP_FAILED)),
        room_(other.room_),
        begin_(other.begin_),
        used_(other.used_) {}
  Room& operator=(Room&&) = delete;
  ~Room() {
    if (memory_ != MAP_FAILED) munmap(memory_, room_);
  }

  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return used_; }
  // At least so many bytes are there afterwards, the new ones all 0.
  void grow(std::size_t bytes) {
    const std::size_t step = step_at(bytes);
    bytes = (bytes + step - 1) / step * step;
    if (bytes <= used_) return;
    const auto* end = static_cast<std::byte*>(memory_) + room_;
    if (bytes > static_cast<std::size_t>(end - begin_)) throw std::bad_alloc();
    if (mprotect(begin_ + used_, bytes - used_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    // A wish: without it everything works, slower.
    if (step == page) madvise(begin_, bytes, MADV_HUGEPAGE);
    // Who reads a page before anybody has written to it gets one that all share, and whoever writes to it
    // then stops all threads of the process to exchange it.
    for (std::size_t at = used_; at < bytes; at += smallest_page)
      static_cast<volatile std::byte*>(begin_)[at] = {};
    used_ = bytes;
  }

 private:
  static constexpr std::size_t smallest_page = 4096;

  static std::size_t all_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size)
                                 : std::size_t{16} << 30;
  }

  void* memory_ = MAP_FAILED;
  std::size_t room_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace conclave::check
