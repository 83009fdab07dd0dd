// Memory for tables that are read at random: in pages of two megabytes, where the kernel grants them, because
// looking up the address of a small page costs as much as the access itself.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace conclave::check {

template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}
  bool operator==(const LargePages&) const = default;

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < worthwhile) return static_cast<T*>(::operator new (bytes, std::align_val_t{64}));
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, whole);
    if (!memory) throw std::bad_alloc();
    madvise(memory, whole, MADV_HUGEPAGE);  // a wish: without it everything works, slower
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < worthwhile) return ::operator delete (memory, std::align_val_t{64});
    std::free(memory);
  }

  // As many as the pages hold that so many need.
  static std::size_t fill(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    return bytes < worthwhile ? count : (bytes + page - 1) / page * page / sizeof(T);
  }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;
  static constexpr std::size_t worthwhile = page;  // below, rounding up would cost more than it brings
};

}  // namespace conclave::check
