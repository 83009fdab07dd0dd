// What the locks over plain registers cost beside those that hardware has instructions for: std::mutex, a
// ticket lock and a test-and-set lock, all in one run of this program, turn about.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>

#include "live/register_mutex.hpp"
#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"
#include "workload.hpp"

namespace conclave::bench {
namespace {

constexpr unsigned rounds = 5;
constexpr std::uint32_t threads = 2;

// The references wait as ours do: spinning with pauses, then yielding.
class TestAndSetLock {
 public:
  void lock() {
    live::Backoff backoff(1);
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) backoff.spent_one();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  alignas(64) std::atomic<bool> taken_ = false;
};

class TicketLock {
 public:
  void lock() {
    const std::uint64_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    live::Backoff backoff(1);
    while (serving_.load(std::memory_order_acquire) != mine) backoff.spent_one();
  }
  void unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  alignas(64) std::atomic<std::uint64_t> next_ = 0;
  alignas(64) std::atomic<std::uint64_t> serving_ = 0;
};

// Where every thread uses the same object.
template <class Lock>
struct SharedLock {
  Lock lock;
  Lock& join() { return lock; }
};
template <Withdraws P>
struct JoinedLock {
  live::RegisterMutex<P> lock{threads};
  auto join() { return std::move(*lock.join()); }
};

// Nanoseconds of processor time per entry of a thread that nobody disturbs.
template <class Lock>
double time_alone(std::uint64_t entries) {
  Lock lock;
  decltype(auto) mine = lock.join();
  std::uint64_t counter = 0;
  const Stopwatch watch;
  for (std::uint64_t n = 0; n < entries; ++n) {
    mine.lock();
    ++counter;
    mine.unlock();
  }
  const double spent = watch.seconds() * 1e9;
  ensure(counter == entries, "no entry was lost");
  return spent / static_cast<double>(entries);
}

// Nanoseconds of real time per entry of `crowd` threads that enter `entries` times in all.
template <class Lock>
double time_contended(std::uint64_t entries) {
  constexpr std::uint32_t crowd = threads;
  Lock lock;
  std::uint64_t counter = 0;
  std::chrono::steady_clock::time_point begin;
  std::barrier start(crowd, [&]() noexcept { begin = std::chrono::steady_clock::now(); });
  {
    std::vector<std::jthread> all;
    for (std::uint32_t i = 0; i < crowd; ++i) {
      all.emplace_back([&] {
        decltype(auto) mine = lock.join();
        start.arrive_and_wait();
        for (std::uint64_t n = 0; n < entries / crowd; ++n) {
          mine.lock();
          ++counter;
          mine.unlock();
        }
      });
    }
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  ensure(counter == entries / crowd * crowd, "no entry was lost");
  return spent.count() / static_cast<double>(counter);
}

struct Contender {
  std::string_view name;
  std::function<double(std::uint64_t)> run_alone;
  std::function<double(std::uint64_t)> run_contended;
  double alone = 1e300;  // best of all rounds
  double contended = 1e300;
};

template <class Lock>
Contender contender(std::string_view name) {
  return {name, time_alone<Lock>, time_contended<Lock>};
}

std::vector<Contender> measure(std::uint64_t entries) {
  std::vector<Contender> contenders = {
      contender<SharedLock<std::mutex>>("std::mutex"),
      contender<SharedLock<TestAndSetLock>>("test-and-set"),
      contender<SharedLock<TicketLock>>("ticket"),
      contender<JoinedLock<registers::Dijkstra>>("dijkstra"),
      contender<JoinedLock<registers::Bakery>>("bakery"),
  };
  // Whatever else runs here only ever makes a round slower.
  for (unsigned round = 0; round < rounds; ++round) {
    for (Contender& one : contenders) {
      one.alone = std::min(one.alone, one.run_alone(entries));
      one.contended = std::min(one.contended, one.run_contended(entries));
    }
  }
  return contenders;
}

void print_table(const std::vector<Contender>& contenders) {
  const Contender& reference = contenders.front();
  fmt::print("Nanoseconds per entry, best of {} rounds taken turn about; ratios are to {}\n", rounds,
             reference.name);
  fmt::print("{:<14} {:>9} {:>7} {:>12} {:>7}\n", "lock", "1 thread", "ratio", "2 threads", "ratio");
  for (const Contender& one : contenders)
    fmt::print("{:<14} {:>9.1f} {:>7.2f} {:>12.1f} {:>7.2f}\n", one.name, one.alone,
               one.alone / reference.alone, one.contended, one.contended / reference.contended);
}

void print_json(const std::vector<Contender>& contenders) {
  nlohmann::ordered_json out;
  for (const Contender& one : contenders)
    out["locks"].push_back({{"lock", one.name},
                            {"alone_ns", one.alone},
                            {"contended_ns", one.contended},
                            {"alone_to_mutex", one.alone / contenders.front().alone},
                            {"contended_to_mutex", one.contended / contenders.front().contended}});
  fmt::print("{}\n", out.dump(2));
}

int main_with(const std::vector<std::string_view>& arguments) {
  bool json = false;
  std::uint64_t entries = 2'000'000;
  for (const std::string_view argument : arguments) {
    if (argument == "--json") {
      json = true;
    } else if (argument == "--quick") {
      entries /= 10;
    } else {
      fmt::print(stderr, "register_bench: '{}' is unknown; use --quick (a tenth of the work), --json\n",
                 argument);
      return 2;
    }
  }
  const auto contenders = measure(entries);
  json ? print_json(contenders) : print_table(contenders);
  return 0;
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) { return conclave::bench::main_with({argv + 1, argv + argc}); }
