// The store of the Raft engine against std::map<std::string, std::string>, the least that keeping keys can
// cost.
//
// kv_bench [rounds]: every contender takes its turn in each round, and the median of the rounds is printed.
// Commands are applied as bytes, as they come out of the log.
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "counted_new.hpp"
#include "kv/lines.hpp"
#include "kv/snapshot.hpp"
#include "kv/store.hpp"
#include "kv/watches.hpp"

namespace {

using namespace conclave;
using namespace conclave::kv;

constexpr std::size_t key_count = 100'000;
constexpr std::size_t puts = 400'000;

std::string key_of(std::size_t i) { return fmt::format("/registry/pods/default/web-{:06}", i); }

// Every key in an order that no cache foresees; the same for all.
std::size_t scattered(std::size_t i) { return (i * 7919 + 13) % key_count; }

struct Row {
  std::string name;
  std::function<double()> run;  // nanoseconds for each operation
  std::vector<double> rounds = {};

  double median() {
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
  }
};

// Of this thread's processor time: others may want the machine as well.
double nanoseconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Work>
double nanoseconds_each(std::size_t operations, Work work) {
  const double begin = nanoseconds_now();
  work();
  return (nanoseconds_now() - begin) / static_cast<double>(operations);
}

class Member {
 public:
  Store store{42};
  Outcome outcome;

  Answer apply(const Bytes& entry) {
    ++context_.index;
    auto answer = store.apply(entry, context_, outcome);
    if (!answer) std::abort();
    return std::move(*answer);
  }
  Answer apply(const Command& command) {
    ++context_.index;
    return store.apply(command, context_, outcome);
  }
  void fill(const std::string& value) {
    for (std::size_t i = 0; i < key_count; ++i) {
      const std::string key = key_of(scattered(i));
      apply(Put{.key = key, .value = value});
    }
  }

 private:
  Context context_ = {.index = 0, .term = 1};
};

std::vector<Bytes> encoded_puts(const std::string& value, LeaseId lease = 0) {
  std::vector<Bytes> entries;
  for (std::size_t i = 0; i < key_count; ++i) {
    const std::string key = key_of(scattered(i));
    entries.push_back(encode(Command(Put{.key = key, .value = value, .lease = lease})));
  }
  return entries;
}

double map_assignment(const std::string& value) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < key_count; ++i) keys.push_back(key_of(scattered(i)));
  std::map<std::string, std::string> map;
  for (const std::string& key : keys) map[key] = value;
  return nanoseconds_each(puts, [&] {
    for (std::size_t i = 0; i < puts; ++i) map[keys[i % key_count]] = value;
  });
}

// A compaction every `window` commands leaves that much history; 0: none.
double store_puts(const std::string& value, std::size_t window) {
  const std::vector<Bytes> entries = encoded_puts(value);
  Member member;
  member.fill(value);
  if (window > 0) member.apply(Compact{member.store.revision()});
  return nanoseconds_each(puts, [&] {
    for (std::size_t i = 0; i < puts; ++i) {
      member.apply(entries[i % key_count]);
      if (window > 0 && i % window == 0) member.apply(Compact{member.store.revision()});
    }
  });
}

double store_new_keys(const std::string& value) {
  const std::vector<Bytes> entries = encoded_puts(value);
  Member member;
  return nanoseconds_each(key_count, [&] {
    for (const Bytes& entry : entries) member.apply(entry);
  });
}

double map_new_keys(const std::string& value) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < key_count; ++i) keys.push_back(key_of(scattered(i)));
  std::map<std::string, std::string> map;
  return nanoseconds_each(key_count, [&] {
    for (const std::string& key : keys) map[key] = value;
  });
}

double store_reads(const std::string& value) {
  Member member;
  member.fill(value);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < key_count; ++i) keys.push_back(key_of(scattered(i)));
  std::size_t found = 0;
  const double each = nanoseconds_each(puts, [&] {
    for (std::size_t i = 0; i < puts; ++i)
      found += member.store.range({.key = keys[i % key_count]})->kvs.size();
  });
  if (found != puts) std::abort();
  return each;
}

// Reads a key's revision, writes if it is still that: what Kubernetes does all the time.
double store_txns(const std::string& value) {
  Member member;
  member.fill(value);
  std::vector<Bytes> entries;
  for (std::size_t i = 0; i < key_count; ++i) {
    const std::string key = key_of(scattered(i));
    Txn txn;
    txn.compare.push_back({.result = CompareResult::greater, .target = CompareTarget::mod, .key = key});
    txn.success.push_back({Put{.key = key, .value = value}});
    txn.failure.push_back({Range{.key = key}});
    entries.push_back(encode(Command(std::move(txn))));
  }
  return nanoseconds_each(puts, [&] {
    for (std::size_t i = 0; i < puts; ++i) {
      member.apply(entries[i % key_count]);
      if (i % 10'000 == 0) member.apply(Compact{member.store.revision()});
    }
  });
}

// `line` waiters for one lock, each of which lines up again after its turn; one operation is a lock, its
// grant and its release. Other keys are there as well.
double lock_and_unlock(std::size_t line, const std::string& value) {
  Member member;
  member.fill(value);
  std::vector<Bytes> locks;
  std::vector<Bytes> unlocks;
  std::vector<std::string> keys;
  for (std::size_t i = 1; i <= line; ++i) {
    member.apply(LeaseGrant{static_cast<LeaseId>(i), 60});
    locks.push_back(encode(Command(Lock{"lock", static_cast<LeaseId>(i)})));
    keys.push_back(fmt::format("lock/{:x}", i));
    unlocks.push_back(encode(Command(DeleteRange{.key = keys.back()})));
  }
  Lines lines(member.store);
  std::vector<Turn> turns;
  std::size_t granted = 0;
  WaiterId waiter = 0;
  const auto lock = [&](std::size_t i) {
    member.apply(locks[i]);
    lines.wait("lock", keys[i], ++waiter, turns);
  };
  for (std::size_t i = 0; i < line; ++i) lock(i);
  constexpr std::size_t operations = 100'000;
  const double each = nanoseconds_each(operations, [&] {
    for (std::size_t i = 0; i < operations; ++i) {
      member.apply(unlocks[i % line]);
      lines.see(member.outcome, turns);
      lock(i % line);
      granted += turns.size();
      turns.clear();
      if (i % 10'000 == 0) member.apply(Compact{member.store.revision()});
    }
  });
  if (granted < operations) std::abort();
  return each;
}

// One event for one of many watchers of one key each.
double watched_puts(std::size_t watchers, const std::string& value) {
  const std::vector<Bytes> entries = encoded_puts(value);
  Member member;
  member.fill(value);
  Watches watches(member.store);
  for (std::size_t i = 0; i < watchers; ++i)
    watches.create(1, static_cast<WatchName>(i), {.key = key_of(scattered(i))});
  std::size_t heard = 0;
  const Watches::Hear hear = [&](const Delivery& delivery) {
    heard += delivery.events.size();
    return true;
  };
  const double each = nanoseconds_each(key_count, [&] {
    for (std::size_t i = 0; i < key_count; ++i) {
      member.apply(entries[i]);
      watches.see(member.outcome);
      while (watches.tell_news(256, hear)) continue;
    }
  });
  if (heard != std::min(watchers, key_count)) std::abort();
  return each;
}

double snapshot_of_each_key(const std::string& value) {
  Member member;
  member.fill(value);
  return nanoseconds_each(key_count, [&] {
    SnapshotWriter writer(member.store);
    Bytes chunk;
    while (writer.write(chunk, 65536)) chunk.clear();
  });
}

template <class Fill>
double bytes_each(Fill fill) {
  bench::start_counting();
  const auto kept = fill();
  const auto live = static_cast<double>(bench::counted().live_bytes);
  bench::stop_counting();
  return live / static_cast<double>(key_count);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::string value(256, 'v');
  std::vector<Row> rows = {
      {"std::map, assignment", [&] { return map_assignment(value); }},
      {"std::map, new key", [&] { return map_new_keys(value); }},
      {"put, history kept", [&] { return store_puts(value, 0); }},
      {"put, compacted every 10,000", [&] { return store_puts(value, 10'000); }},
      {"put, new key", [&] { return store_new_keys(value); }},
      {"range of one key", [&] { return store_reads(value); }},
      {"txn: compare and put", [&] { return store_txns(value); }},
      {"lock and unlock, alone", [&] { return lock_and_unlock(1, value); }},
      {"lock and unlock, line of 64", [&] { return lock_and_unlock(64, value); }},
      {"lock and unlock, line of 4096", [&] { return lock_and_unlock(4096, value); }},
      {"put, no watcher", [&] { return watched_puts(0, value); }},
      {"put, 10,000 watchers of one key", [&] { return watched_puts(10'000, value); }},
      {"snapshot, each key", [&] { return snapshot_of_each_key(value); }},
  };
  for (int round = 0; round < rounds; ++round)
    for (Row& row : rows) row.rounds.push_back(row.run());
  const double base = rows.front().median();
  fmt::print("{:32} {:>9} {:>12} {:>9}\n", "256-byte values, 100,000 keys", "ns each", "each second",
             "of map's");
  for (Row& row : rows)
    fmt::print("{:32} {:9.0f} {:12.0f} {:9.2f}\n", row.name, row.median(), 1e9 / row.median(),
               row.median() / base);

  const double in_map = bytes_each([&] {
    auto map = std::make_unique<std::map<std::string, std::string>>();
    for (std::size_t i = 0; i < key_count; ++i) (*map)[key_of(scattered(i))] = value;
    return map;
  });
  const double in_store = bytes_each([&] {
    auto member = std::make_unique<Member>();
    member->fill(value);
    return member;
  });
  const auto data = static_cast<double>(key_of(0).size() + value.size());
  fmt::print("bytes for a key and its value of {:.0f} together: std::map {:.0f}, store {:.0f}\n", data,
             in_map, in_store);
}
