// What load is to be put on a server, and what came of it.
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/latencies.hpp"
#include "rpc/client.hpp"

namespace conclave::load {

struct Home;
class Client;

// A kind of load. Every client does the same, one operation after the other.
struct Workload {
  std::string_view name;
  std::string_view operation;  // what is counted as one
  std::uint32_t clients;       // unless somebody says otherwise
  std::uint64_t count = 0;     // the same; 0: for so many seconds instead
  std::uint64_t slice = 0;
  bool needs_keys = false;  // which are put there before, if they are not
  std::unique_ptr<Client> (*client)(Home& home, std::uint32_t number);
  std::unique_ptr<Client> (*watcher)(Home& home, std::uint32_t number) = nullptr;
};
std::span<const Workload> workloads();
const Workload* workload_named(std::string_view name);

struct Plan {
  const Workload* workload = nullptr;
  rpc::ChannelOptions channel = {};  // clients are spread over its endpoints
  std::uint32_t clients = 1;
  std::uint32_t threads = 1;
  double seconds = 5;
  std::uint64_t count = 0;  // operations; 0: for so many seconds
  std::uint64_t slice = 0;  // a figure for every so many operations; 0: none
  std::size_t value_bytes = 256;
  std::size_t key_bytes = 0;  // at least; keys are as long as they must be
  std::uint64_t keys = 100'000;
  std::uint32_t leases = 100;  // of each client
  std::uint32_t watchers = 64;
  std::uint32_t page = 1'000;  // keys of one
  std::uint32_t ttl = 60;      // seconds of a lease
  std::chrono::milliseconds patience{30'000};
  std::string prefix = "bench/";
};

inline constexpr std::uint64_t most_slices = 1'000;  // later ones are not told

struct Member {
  std::string endpoint;
  std::string version;
  bool leads = false;
};

struct Slice {
  double seconds = 0;
  Latencies latencies = {};
};

struct Report {
  std::vector<Member> members = {};
  double seconds = 0;  // from the first operation's beginning to the last one's end
  Latencies latencies = {};
  std::vector<Slice> slices = {};                    // only whole ones
  std::map<std::string, std::uint64_t> errors = {};  // what was said, and how often
  std::map<std::string, Latencies> parts = {};       // of operations
  std::map<std::string, std::uint64_t> counts = {};  // of what else was done
  double processor_seconds = 0;                      // our own
  double busiest = 0;                                // of our threads: the part of the time it worked …
  double kept_waiting = 0;                           // … and had work, but no processor
  std::uint64_t failed() const {
    std::uint64_t sum = 0;
    for (const auto& [what, times] : errors) sum += times;
    return sum;
  }
};

struct Progress {
  bool filling;  // keys that the workload needs are being put there
  std::uint64_t done;
  double seconds;
};

// Puts the load on and waits until it is over. Why it could not begin, or did not get on.
std::expected<Report, std::string> run(const Plan& plan, const std::function<void(const Progress&)>& told);

}  // namespace conclave::load
