// Measuring a group: what its locks cost, beside what the machine's network costs by itself.
#pragma once
#include <chrono>
#include <conclave/client.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "catalogue/entry.hpp"
#include "cli/local_group.hpp"

namespace conclave::cli {

// What one client of a lock saw.
struct LockLoad {
  std::uint64_t entries = 0;
  double seconds = 0;      // from the first request to the last release
  double acquire_p50 = 0;  // microseconds
  double acquire_p99 = 0;
  double acquire_most = 0;
  double entry_p50 = 0;  // from asking to having given back
  std::int64_t first_fence = 0;
  std::int64_t last_fence = 0;
};

// Takes and gives back a lock so many times, in this process. Every fence is appended to the file, if there
// is one, while the lock is held.
std::expected<LockLoad, std::string> load_lock(const Client& client, const std::string& name,
                                               std::uint64_t entries, std::chrono::seconds ttl,
                                               const std::string& fences);

// What all clients of a run saw together; each is a process of its own.
struct GroupLoad {
  std::uint64_t entries = 0;
  double per_second = 0;
  double acquire_p50 = 0;  // the worst client's
  double acquire_p99 = 0;
  double entry_p50 = 0;
  bool fences_grow = false;
};
// One client at each of the members named, so many entries each. Leases are short: what a dead member had
// leased is waited out.
std::expected<GroupLoad, std::string> load_group(LocalGroup& group, const std::vector<std::uint32_t>& members,
                                                 std::uint64_t entries, const std::string& name);

double microseconds(std::chrono::steady_clock::duration time);
// So much of them is no greater; 0 if there is none.
double at_quantile(const std::vector<double>& sorted, double quantile);

// Microseconds that a message takes to a process on another processor and back, over TCP on loopback; the
// median of many.
std::expected<double, std::string> tcp_round_trip(std::size_t payload);

// Message delays from asking for a free lock until it is granted, as the literature has it; the middle of a
// range.
double client_delay(const catalogue::Entry& entry, std::uint32_t members);

}  // namespace conclave::cli
