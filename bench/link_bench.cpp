// What a link costs beside bare TCP, and a key beside none: round trips and one-way throughput of 64-byte
// messages between two threads, turn about in one run of this program. Fails if a message allocates once
// everything has grown.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "core/ensure.hpp"
#include "counted_new.hpp"
#include "live/links.hpp"

namespace conclave::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned rounds = 5;
constexpr std::size_t message_bytes = 64;
using Message = std::array<std::byte, message_bytes>;

struct Work {
  std::uint64_t trips;
  std::uint64_t one_way;
};

double per_second(std::uint64_t count, Clock::time_point begin) {
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t port_of(int socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// --- bare TCP: blocking sockets, one call to send and one to receive ---

struct RawPair {
  int near = -1;
  int far = -1;
  RawPair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    ensure(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
               listen(listener, 1) == 0,
           "loopback has a free port");
    address = loopback(port_of(listener));
    near = socket(AF_INET, SOCK_STREAM, 0);
    ensure(connect(near, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "loopback connects");
    far = accept(listener, nullptr, nullptr);
    const int on = 1;
    for (const int one : {near, far}) setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
  }
  ~RawPair() {
    close(near);
    close(far);
  }
};

bool read_all(int socket, std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, bytes, size, 0);
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void send_all(int socket, const std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t put = send(socket, bytes, size, MSG_NOSIGNAL);
    ensure(put > 0, "loopback takes what it is given");
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
}

double raw_trips(std::uint64_t count) {
  const RawPair pair;
  std::jthread echo([&] {
    Message message;
    while (read_all(pair.far, message.data(), message.size()))
      send_all(pair.far, message.data(), message.size());
  });
  Message message = {};
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    send_all(pair.near, message.data(), message.size());
    ensure(read_all(pair.near, message.data(), message.size()), "the echo answers");
  }
  const double rate = per_second(count, begin);
  shutdown(pair.near, SHUT_RDWR);
  return rate;
}

// As many messages in one call as fit into `batch` bytes: the least that batching can cost.
double raw_one_way(std::uint64_t count) {
  constexpr std::size_t batch = 64 * 1024;
  const RawPair pair;
  std::jthread sender([&] {
    const std::vector<std::byte> bytes(batch);
    for (std::uint64_t left = count * message_bytes; left > 0;) {
      const std::size_t part = std::min<std::uint64_t>(left, batch);
      send_all(pair.near, bytes.data(), part);
      left -= part;
    }
  });
  std::vector<std::byte> in(batch);
  const auto begin = Clock::now();
  for (std::uint64_t left = count * message_bytes; left > 0;) {
    const std::size_t part = std::min<std::uint64_t>(left, batch);
    ensure(read_all(pair.far, in.data(), part), "everything arrives");
    left -= part;
  }
  return per_second(count, begin);
}

// --- links ---

std::uint16_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  ensure(bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "loopback has a free port");
  const std::uint16_t port = port_of(probe);
  close(probe);
  return port;
}

// One member with its loop, to be run by a thread of its own.
struct Member {
  boost::asio::io_context loop{1};
  std::unique_ptr<live::Links> links;
  std::function<void(live::ByteView)> on_message = [](live::ByteView) {};
  std::function<void()> on_up = [] {};
  std::function<void()> on_drained = [] {};

  Member(NodeId self, const std::vector<live::Peer>& members, const std::string& key) {
    live::LinkOptions options = {
        .self = self, .members = members, .group = "bench", .algorithm = "none", .key = key};
    options.limits.queue_bytes = 4u << 20;
    options.limits.message_bytes = 1u << 10;
    auto opened = live::Links::open(
        loop, options,
        {.message = [this](NodeId, live::ByteView bytes) { on_message(bytes); },
         .up = [this](NodeId, std::uint64_t) { on_up(); },
         .down = [](NodeId) { ensure(false, "nobody goes down"); },
         .broken_promise = [](NodeId, const std::string& why) { ensure(false, why.c_str()); },
         .drained = [this](NodeId) { on_drained(); }},
        {});
    ensure(opened.has_value(), "a link opens on loopback");
    links = std::move(*opened);
  }
};

std::vector<live::Peer> two_members() {
  return {{{1}, "127.0.0.1", free_port()}, {{2}, "127.0.0.1", free_port()}};
}

struct Rate {
  double per_second = 0;
  double allocations = 0;  // for each message, after the first tenth
  double cpu = 0;          // microseconds of both threads for each message
};

double cpu_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Member 1 and this thread; member 2 echoes from another.
Rate link_trips(std::uint64_t count, const std::string& key) {
  const auto members = two_members();
  Member far({2}, members, key);
  far.on_message = [&](live::ByteView bytes) { far.links->send({1}, bytes); };
  std::jthread other([&] { far.loop.run(); });
  Member near({1}, members, key);
  const Message message = {};
  std::uint64_t done = 0;
  const std::uint64_t warm = count / 10;
  Clock::time_point begin;
  Rate rate;
  near.on_up = [&] { near.links->send({2}, message); };
  near.on_message = [&](live::ByteView bytes) {
    if (++done == warm) {
      begin = Clock::now();
      rate.cpu = cpu_seconds();
      start_counting();
    }
    if (done < warm + count) return near.links->send({2}, bytes);
    rate.per_second = per_second(count, begin);
    rate.cpu = (cpu_seconds() - rate.cpu) * 1e6 / static_cast<double>(count);
    rate.allocations = static_cast<double>(counted().count) / static_cast<double>(count);
    stop_counting();
    near.loop.stop();
  };
  near.loop.run();
  far.loop.stop();
  return rate;
}

// Member 1 sends as fast as it may: until the link is congested, then again when it has drained.
Rate link_one_way(std::uint64_t count, const std::string& key) {
  const auto members = two_members();
  Member near({1}, members, key);
  const Message message = {};
  std::uint64_t sent = 0;
  const std::uint64_t warm = count / 10;
  const auto send_some = [&] {
    while (sent < warm + count && !near.links->congested({2})) {
      near.links->send({2}, message);
      ++sent;
    }
  };
  near.on_up = near.on_drained = send_some;
  std::jthread other([&] { near.loop.run(); });
  Member far({2}, members, key);
  std::uint64_t got = 0;
  Clock::time_point begin;
  Rate rate;
  far.on_message = [&](live::ByteView) {
    if (++got == warm) {
      begin = Clock::now();
      rate.cpu = cpu_seconds();
      start_counting();
    }
    if (got < warm + count) return;
    rate.per_second = per_second(count, begin);
    rate.cpu = (cpu_seconds() - rate.cpu) * 1e6 / static_cast<double>(count);
    rate.allocations = static_cast<double>(counted().count) / static_cast<double>(count);
    stop_counting();
    far.loop.stop();
  };
  far.loop.run();
  near.loop.stop();
  return rate;
}

struct Results {
  double raw_trips = 0;
  double raw_one_way = 0;
  Rate trips = {};  // with a key
  Rate one_way = {};
  Rate open_trips = {};  // without
  Rate open_one_way = {};
};

void keep_better(Rate& best, const Rate& rate) {
  best.cpu = best.per_second == 0 ? rate.cpu : std::min(best.cpu, rate.cpu);
  best.per_second = std::max(best.per_second, rate.per_second);
  best.allocations = std::max(best.allocations, rate.allocations);
}

// Whatever else runs here only ever makes a round slower.
Results measure(const Work& work) {
  const std::string key = "a key that all members share";
  Results best;
  for (unsigned round = 0; round < rounds; ++round) {
    best.raw_trips = std::max(best.raw_trips, raw_trips(work.trips));
    keep_better(best.trips, link_trips(work.trips, key));
    keep_better(best.open_trips, link_trips(work.trips, {}));
    best.raw_one_way = std::max(best.raw_one_way, raw_one_way(work.one_way));
    keep_better(best.one_way, link_one_way(work.one_way, key));
    keep_better(best.open_one_way, link_one_way(work.one_way, {}));
  }
  return best;
}

void print_table(const Results& results) {
  fmt::print(
      "{}-byte messages a second between two threads over loopback, best of {} rounds taken turn about\n",
      message_bytes, rounds);
  fmt::print("{:<22} {:>12} {:>12} {:>7} {:>15} {:>24}\n", "", "bare TCP", "link", "ratio", "CPU µs/message",
             "allocations per message");
  const auto row = [](const char* name, double raw, const Rate& link) {
    fmt::print("{:<22} {:>12.0f} {:>12.0f} {:>7.2f} {:>15.3f} {:>24.5f}\n", name, raw, link.per_second,
               link.per_second / raw, link.cpu, link.allocations);
  };
  row("round trips", results.raw_trips, results.trips);
  row("round trips, no key", results.raw_trips, results.open_trips);
  row("one way", results.raw_one_way, results.one_way);
  row("one way, no key", results.raw_one_way, results.open_one_way);
  fmt::print("goal: 0.70 of the round trips: {}\n",
             results.trips.per_second >= 0.7 * results.raw_trips ? "met" : "missed");
}

void print_json(const Results& results) {
  nlohmann::ordered_json out;
  const auto both = [](double raw, const Rate& link, const Rate& open) {
    return nlohmann::ordered_json{
        {"raw", raw}, {"link", link.per_second}, {"link_without_key", open.per_second}};
  };
  out["round_trips"] = both(results.raw_trips, results.trips, results.open_trips);
  out["one_way"] = both(results.raw_one_way, results.one_way, results.open_one_way);
  fmt::print("{}\n", out.dump(2));
}

int main_with(const std::vector<std::string_view>& arguments) {
  bool json = false;
  Work work = {.trips = 50'000, .one_way = 2'000'000};
  for (const std::string_view argument : arguments) {
    if (argument == "--json") {
      json = true;
    } else if (argument == "--quick") {
      work = {.trips = work.trips / 10, .one_way = work.one_way / 10};
    } else {
      fmt::print(stderr, "link_bench: '{}' is unknown; use --quick (a tenth of the work), --json\n",
                 argument);
      return 2;
    }
  }
  const Results results = measure(work);
  json ? print_json(results) : print_table(results);
  // Now and then a timer or a log line may; a message may not.
  const bool steady = results.trips.allocations < 0.001 && results.one_way.allocations < 0.001;
  if (!steady) fmt::print(stderr, "link_bench: messages allocate\n");
  return steady ? 0 : 1;
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) { return conclave::bench::main_with({argv + 1, argv + argc}); }
