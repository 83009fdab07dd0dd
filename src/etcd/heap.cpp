#include "etcd/heap.hpp"

#include <algorithm>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;

// With less than that, hardly anything was there to be sorted.
constexpr auto sorted = 50us;
constexpr auto too_long = 20ms;

template <class Work>
Heap::Duration time_of(Work work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - began;
}

// Whoever asks for a large piece has the library put the small ones in their places, ten thousand at a time.
void ask_for_a_large_piece() {
  constexpr std::size_t large = std::size_t{120} << 10;  // larger ones are mapped, and sort nothing
  void* volatile piece = std::malloc(large);
  std::free(piece);
}

void give_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

Heap::System Heap::here() {
  return {.sort = [] { return time_of(ask_for_a_large_piece); }, .trim = [] { return time_of(give_back); }};
}

bool Heap::look(std::uint64_t bytes) {
  most_ = std::max(most_, bytes);
  if (most_ - bytes < worth_it || bytes > not_above_) return false;
  if (system_.sort() > sorted) return true;
  const Duration took = system_.trim();
  ++trims_;
  longest_ = std::max(longest_, took);
  not_above_ = took > too_long ? bytes / 2 : ~std::uint64_t{0};
  most_ = bytes;
  return false;
}

}  // namespace conclave::etcd
