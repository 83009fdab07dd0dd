// Takes a lock, then stands for election, and says what it sees.
// Usage: lock-and-elect ENDPOINT…
#include <conclave/client.hpp>
#include <cstdio>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

namespace {

int complain(const conclave::Error& error) {
  std::fprintf(stderr, "lock-and-elect: %s\n", error.message.c_str());
  return 1;
}

// Work in small steps, and look at the token between them: it fires before the lock can be lost.
bool print_pages(const conclave::Mutex& printer) {
  for (int page = 1; page <= 3; ++page) {
    if (printer.lost().stop_requested()) return false;
    // A printer that refuses lower fences than it has seen is safe even from those who were stopped here.
    std::printf("page %d, fence %lld\n", page, static_cast<long long>(printer.fence()));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  auto client = conclave::connect({.endpoints = std::vector<std::string>(argv + 1, argv + argc)});
  if (!client) return complain(client.error());

  // Errors as values …
  conclave::Mutex printer(*client, "printer", {.ttl = 5s});
  if (const auto fence = printer.acquire_for(30s); !fence) return complain(fence.error());
  if (!print_pages(printer)) return 1;
  if (const auto released = printer.release(); !released) return complain(released.error());

  // … or in the manner of std::mutex; this throws if no server can be reached.
  {
    const std::unique_lock hold(printer);
    if (!print_pages(printer)) return 1;
  }

  conclave::Election scheduler(*client, "scheduler", {.ttl = 5s});
  if (const auto fence = scheduler.campaign("10.0.0.7:8080"); !fence) return complain(fence.error());
  const std::stop_callback warning(scheduler.lost(), [] { std::puts("soon no longer the leader"); });
  const auto leader = scheduler.leader();
  if (!leader) return complain(leader.error());
  std::printf("leader: %s\n", *leader ? (*leader)->value.c_str() : "nobody");
  if (const auto resigned = scheduler.resign(); !resigned) return complain(resigned.error());
  return 0;
}
