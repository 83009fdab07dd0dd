#include "counted_new.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

bool counting = false;
conclave::bench::Allocations so_far;

void* allocate(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  if (counting) [[unlikely]] {
    ++so_far.count;
    so_far.live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
  }
  return memory;
}

void release(void* memory) {
  if (counting) [[unlikely]]
    so_far.live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace conclave::bench {

void start_counting() {
  so_far = {};
  counting = true;
}
Allocations counted() { return so_far; }
void stop_counting() { counting = false; }

}  // namespace conclave::bench
