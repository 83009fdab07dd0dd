#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/bench.hpp"
#include "cli/terminal.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Error = std::unexpected<std::string>;

bool append(int file, std::int64_t fence) {
  const std::string line = fmt::format("{}\n", fence);
  return ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool grow(const std::string& fences) {
  std::istringstream in(fences);
  std::int64_t last = -1;
  for (std::int64_t fence = 0; in >> fence; last = fence) {
    if (fence <= last) return false;
  }
  return last >= 0;
}

}  // namespace

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double at_quantile(const std::vector<double>& sorted, double quantile) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(quantile * static_cast<double>(sorted.size())))];
}

std::expected<LockLoad, std::string> load_lock(const Client& client, const std::string& name,
                                               std::uint64_t entries, std::chrono::seconds ttl,
                                               const std::string& fences) {
  int file = -1;
  if (!fences.empty()) {
    file = ::open(fences.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return Error(fmt::format("{}: {}", fences, std::strerror(errno)));
  }
  Mutex mutex(client, name, {.ttl = ttl});
  std::vector<double> waits;
  std::vector<double> whole;
  waits.reserve(entries);
  whole.reserve(entries);
  LockLoad load;
  Clock::time_point begin;
  for (std::uint64_t i = 0; i <= entries; ++i) {
    if (i == 1) begin = Clock::now();  // the first entry finds connections and lease, and does not count
    const auto asked = Clock::now();
    const auto fence = mutex.acquire_for(60s);
    if (!fence) return Error(fence.error().message);
    if (i > 0) waits.push_back(microseconds(Clock::now() - asked));
    if (file >= 0 && !append(file, *fence)) return Error(fmt::format("{}: {}", fences, std::strerror(errno)));
    if (i == 0) load.first_fence = *fence;
    load.last_fence = *fence;
    if (const auto released = mutex.release(); !released) return Error(released.error().message);
    if (i > 0) whole.push_back(microseconds(Clock::now() - asked));
  }
  load.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  load.entries = entries;
  if (file >= 0) ::close(file);
  std::ranges::sort(waits);
  load.acquire_p50 = at_quantile(waits, 0.5);
  load.acquire_p99 = at_quantile(waits, 0.99);
  load.acquire_most = waits.empty() ? 0 : waits.back();
  std::ranges::sort(whole);
  load.entry_p50 = at_quantile(whole, 0.5);
  return load;
}

std::expected<GroupLoad, std::string> load_group(LocalGroup& group, const std::vector<std::uint32_t>& members,
                                                 std::uint64_t entries, const std::string& name) {
  const std::string fences = group.folder() + "/fences-" + name;
  std::vector<std::pair<std::size_t, std::string>> clients;
  for (const std::uint32_t member : members) {
    const std::string said = fmt::format("{}/client{}-{}", group.folder(), member, name);
    const auto client =
        group.run({"bench", "lock", "--endpoints", group.endpoint(member), "--name", name, "--entries",
                   std::to_string(entries), "--fences", fences, "--ttl", "2", "--json"},
                  said);
    if (!client) return Error(client.error());
    clients.emplace_back(*client, said);
  }
  GroupLoad load;
  double longest = 0;
  for (const auto& [client, said] : clients) {
    const auto departure = group.wait(client, 120s);
    const std::string text = read_file(said).value_or("");
    if (!departure || !departure->exited || departure->status != 0)
      return Error(
          fmt::format("a client of {} failed: {}", group.engine(), departure ? text : departure.error()));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) return Error("a client printed: " + text);
    load.entries += json["entries"].get<std::uint64_t>();
    longest = std::max(longest, json["seconds"].get<double>());
    load.acquire_p50 = std::max(load.acquire_p50, json["acquire_us"]["p50"].get<double>());
    load.acquire_p99 = std::max(load.acquire_p99, json["acquire_us"]["p99"].get<double>());
    load.entry_p50 = std::max(load.entry_p50, json["entry_us"].get<double>());
  }
  load.per_second = longest > 0 ? static_cast<double>(load.entries) / longest : 0;
  load.fences_grow = grow(read_file(fences).value_or(""));
  return load;
}

namespace {

// Left alone, two processes that only wait for each other end up on one processor, where a hop costs a tenth;
// members and clients have work to do and do not.
void stay_on(unsigned nth) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(nth % std::max(1u, std::thread::hardware_concurrency()), &mine);
  ::sched_setaffinity(0, sizeof mine, &mine);
}

}  // namespace

// Blocking sockets, one thread on each side: nothing is faster between two processors of this machine.
std::expected<double, std::string> tcp_round_trip(std::size_t payload) {
  const int door = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (door < 0 || ::bind(door, plain, size) != 0 || ::listen(door, 1) != 0 ||
      ::getsockname(door, plain, &size) != 0)
    return Error(fmt::format("cannot listen on loopback: {}", std::strerror(errno)));
  const pid_t echo = ::fork();
  if (echo < 0) return Error(fmt::format("cannot fork: {}", std::strerror(errno)));
  std::string buffer(payload, 'x');
  const int yes = 1;
  if (echo == 0) {
    stay_on(1);
    const int peer = ::accept(door, nullptr, nullptr);
    ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    for (;;) {
      const ssize_t got = ::read(peer, buffer.data(), buffer.size());
      if (got <= 0 || ::write(peer, buffer.data(), static_cast<std::size_t>(got)) != got) ::_exit(0);
    }
  }
  cpu_set_t before;
  ::sched_getaffinity(0, sizeof before, &before);
  stay_on(0);
  const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::vector<double> times;
  bool fine = ::connect(peer, plain, size) == 0;
  for (int i = 0; fine && i < 5'000; ++i) {
    const auto begin = Clock::now();
    fine = ::write(peer, buffer.data(), payload) == static_cast<ssize_t>(payload);
    for (std::size_t got = 0; fine && got < payload;) {
      const ssize_t more = ::read(peer, buffer.data(), payload - got);
      fine = more > 0;
      got += fine ? static_cast<std::size_t>(more) : 0;
    }
    if (i >= 500) times.push_back(microseconds(Clock::now() - begin));
  }
  ::sched_setaffinity(0, sizeof before, &before);
  ::close(peer);
  ::close(door);
  ::kill(echo, SIGKILL);
  ::waitpid(echo, nullptr, 0);
  if (!fine) return Error("the connection over loopback broke");
  std::ranges::sort(times);
  return at_quantile(times, 0.5);
}

double client_delay(const catalogue::Entry& entry, std::uint32_t members) {
  if (!entry.claims || members == 1) return 0;
  const catalogue::Figure figure = entry.claims(members, false).client_delay;
  return (figure.low + std::max(figure.low, figure.high)) / 2;
}

}  // namespace conclave::cli
