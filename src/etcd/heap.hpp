// Memory that a store has given up goes back to the system, a little at a time.
//
//   etcd::Heap heap;
//   while (heap.look(store.bytes())) …   // once in a turn of the loop
//
// The library keeps what is freed. It would be asked in one go to give it back (malloc_trim), which looks at
// every piece that was freed lately and at every larger hole: most of a second for a store of a GiB. So
// pieces are sorted away before, some thousands at a time; and as holes come with what is freed, asking often
// enough never finds many more than the last time. If that took long nevertheless, what is free is left for
// later use.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>

namespace conclave::etcd {

class Heap {
 public:
  using Duration = std::chrono::nanoseconds;
  // Each does a part, and says how long it took.
  struct System {
    std::function<Duration()> sort;
    std::function<Duration()> trim;
  };
  static System here();

  explicit Heap(System system = here()) : system_(std::move(system)) {}

  // The store takes so many bytes now. True: it should be asked again soon.
  bool look(std::uint64_t bytes);
  std::uint64_t trims() const { return trims_; }
  Duration longest_trim() const { return longest_; }

  static constexpr std::uint64_t worth_it = std::uint64_t{32} << 20;

 private:
  const System system_;
  std::uint64_t most_ = 0;                       // that the store took since memory was given back
  std::uint64_t not_above_ = ~std::uint64_t{0};  // there is no use in trying
  std::uint64_t trims_ = 0;
  Duration longest_ = {};
};

}  // namespace conclave::etcd
