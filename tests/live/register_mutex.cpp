// Threads hammer a counter that is no atomic, under the locks by Dijkstra and Lamport: for the thread
// sanitiser, which must see every entry happen after the one before.
#include <fmt/format.h>

#include <barrier>
#include <vector>

#include "live/register_mutex.hpp"
#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"

namespace {

using namespace conclave;

template <Withdraws P>
bool hammer(const char* name, std::uint32_t threads, std::uint64_t rounds) {
  live::RegisterMutex<P> lock(threads);
  std::uint64_t counter = 0;
  // Nobody comes early or goes early: one who takes a place after another has left it is in order anyway.
  std::barrier together(threads);
  {
    std::vector<std::jthread> crowd;
    for (std::uint32_t i = 0; i < threads; ++i) {
      crowd.emplace_back([&] {
        auto mine = lock.join();
        together.arrive_and_wait();
        for (std::uint64_t round = 0; round < rounds; ++round) {
          // Now and then it gives up and tries again.
          if (round % 8 == 0) {
            while (!mine->try_lock()) std::this_thread::yield();
          } else {
            mine->lock();
          }
          ++counter;
          if (round % 16 == 0) std::this_thread::yield();  // for the others to come and find us inside
          mine->unlock();
          if (round % 16 == 8) std::this_thread::yield();
        }
        together.arrive_and_wait();
      });
    }
  }
  fmt::print("{}: {} threads, {} entries, counter {}\n", name, threads, threads * rounds, counter);
  return counter == threads * rounds;
}

}  // namespace

int main() {
  bool good = true;
  for (const std::uint32_t threads : {2u, 4u}) {
    good = hammer<registers::Bakery>("bakery", threads, 2'000) && good;
    good = hammer<registers::Dijkstra>("dijkstra", threads, 2'000) && good;
  }
  return good ? 0 : 1;
}
