// What a store takes of memory, and how long it takes to write it down and to read it again.
//
// kv_size_bench [keys] [bytes of a key] [bytes of a value] [rounds]: a store with so many keys is filled,
// each once and in no order, then written in pieces of 256 KiB and read in the same pieces, `rounds` times;
// the quickest round is printed. Memory is what the kernel has given this process, so that headers and holes
// count.
#include <fmt/format.h>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kv/snapshot.hpp"
#include "kv/store.hpp"

namespace {

using namespace conclave;
using namespace conclave::kv;

constexpr std::size_t piece = std::size_t{256} << 10;

// Of this thread's processor time: others may want the machine as well.
double milliseconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}
double milliseconds_since(double begin) { return milliseconds_now() - begin; }

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Every number below a prime, which is no more than twice `count`, in an order that nobody foresees.
std::size_t scattered(std::size_t i, std::size_t count) {
  constexpr std::size_t primes[] = {1'299'709, 15'485'863, 179'424'673, 2'038'074'743};
  const std::size_t prime = *std::ranges::find_if(primes, [&](std::size_t one) { return count % one != 0; });
  return (i * prime + 13) % count;
}

void fill(Store& store, std::size_t keys, int key_bytes, const std::string& value) {
  Outcome outcome;
  Bytes entry;
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string key = fmt::format("{:0{}}", scattered(i, keys), key_bytes);
    entry.clear();
    encode(Command(Put{.key = key, .value = value}), entry);
    if (!store.apply(entry, {i + 1, 1}, outcome)) std::abort();
  }
}

struct Times {
  double all = std::numeric_limits<double>::max();
  double longest = 0;  // of the steps
  double last = 0;

  void add_step(double took) {
    longest = std::max(longest, took);
    last = took;
  }
};

Times write(Store& store, std::vector<Bytes>& pieces) {
  Times times;
  pieces.clear();
  const auto begin = milliseconds_now();
  SnapshotWriter writer(store);
  for (bool more = true; more;) {
    const auto step = milliseconds_now();
    Bytes& next = pieces.emplace_back();
    next.reserve(piece + 4096);
    more = writer.write(next, piece);
    times.add_step(milliseconds_since(step));
  }
  times.all = milliseconds_since(begin);
  return times;
}

Times read(const std::vector<Bytes>& pieces, Digest expected) {
  Times times;
  const auto begin = milliseconds_now();
  SnapshotReader reader(7);
  for (const Bytes& one : pieces) {
    const auto step = milliseconds_now();
    if (!reader.feed(one)) std::abort();
    times.add_step(milliseconds_since(step));
  }
  const auto store = reader.finish();
  times.all = milliseconds_since(begin);
  if (!store || (*store)->digest() != expected) std::abort();
  return times;
}

void print(const char* what, const Times& times, std::size_t keys) {
  fmt::print("{:8} {:8.0f} ms  {:6.0f} ns a key  longest step {:7.2f} ms  last {:7.2f} ms\n", what, times.all,
             times.all * 1e6 / static_cast<double>(keys), times.longest, times.last);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t usual) {
    return argc > i ? static_cast<std::size_t>(std::atoll(argv[i])) : usual;
  };
  const std::size_t keys = number(1, 1'000'000);
  const auto key_bytes = static_cast<int>(number(2, 32));
  const std::string value(number(3, 32), 'v');
  const std::size_t rounds = number(4, 3);

  const double before = resident_bytes();
  const auto begin = milliseconds_now();
  auto store = std::make_unique<Store>(42);
  fill(*store, keys, key_bytes, value);
  const double filled = milliseconds_since(begin);
  const double each = (resident_bytes() - before) / static_cast<double>(keys);
  const double data = key_bytes + static_cast<double>(value.size());
  fmt::print("{} keys of {} bytes with values of {}: {:.0f} bytes each, {:.0f} more than they have\n", keys,
             key_bytes, value.size(), each, each - data);
  print("fill", {.all = filled}, keys);

  Times best_write;
  Times best_read;
  std::vector<Bytes> pieces;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Times written = write(*store, pieces);
    const Times was_read = read(pieces, store->digest());
    if (written.all < best_write.all) best_write = written;
    if (was_read.all < best_read.all) best_read = was_read;
  }
  print("write", best_write, keys);
  print("read", best_read, keys);
}
