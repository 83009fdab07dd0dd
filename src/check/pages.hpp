// Empty memory in units, cut from pages of two megabytes where the kernel grants them: looking up the address
// of a small page costs as much as the access itself.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace conclave::check {

// Units are given back all together, at the end.
class Pages {
 public:
  static constexpr std::size_t unit = std::size_t{64} << 10;

  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    for (std::byte* block : blocks_) munmap(block, page);
  }

  std::byte* take() {
    const std::lock_guard hold(lock_);
    if (left_ == 0) {
      blocks_.push_back(map());
      left_ = page / unit;
    }
    return blocks_.back() + --left_ * unit;
  }
  std::uint64_t bytes() const { return blocks_.size() * page; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;

  // Twice as much, and what does not belong to the whole page inside back again.
  static std::byte* map() {
    void* memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto* first = static_cast<std::byte*>(memory);
    const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(first) % page) % page;
    if (before > 0) munmap(first, before);
    munmap(first + before + page, page - before);
    madvise(first + before, page, MADV_HUGEPAGE);  // a wish: without it everything works, slower
    return first + before;
  }

  std::mutex lock_;
  std::vector<std::byte*> blocks_;
  std::size_t left_ = 0;  // units of the last block
};

}  // namespace conclave::check
