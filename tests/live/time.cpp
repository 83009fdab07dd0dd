// Clocks of real processes: servers, clients and groups that are told to be wrong by a known amount, and must
// find it out within the bound they state.
#include <glob.h>

#include "events.hpp"

namespace conclave::live {
namespace {

std::vector<std::string> conclave(std::initializer_list<std::string> words) {
  std::vector<std::string> command = {CONCLAVE};
  command.insert(command.end(), words);
  return command;
}

class TimeServer {
 public:
  explicit TimeServer(std::uint16_t port, std::string offset_ms = "0")
      : process_(conclave({"time", "serve", "--listen", at(port), "--offset-ms", offset_ms})) {
    EXPECT_TRUE(process_.says("answering at"));
  }
  Process& process() { return process_; }

 private:
  Process process_;
};

void expect_offset(const Json& found, std::int64_t injected_us) {
  const auto offset = found.at("offset_us").get<std::int64_t>();
  const auto bound = found.at("bound_us").get<std::int64_t>();
  EXPECT_LE(std::abs(offset - injected_us), bound) << found.dump();
  EXPECT_LE(bound, found.at("round_trip_us").get<std::int64_t>() / 2 + 100) << found.dump();
}

TEST(TimeServer, IsAheadByWhatTheClientFindsWithinItsBound) {
  const std::uint16_t port = free_port();
  TimeServer server(port, "250.5");
  Process client(conclave({"time", "sync", at(port), "--json"}));
  const auto found = next(client, "synchronised");
  ASSERT_TRUE(found);
  expect_offset(*found, 250'500);
  EXPECT_EQ(client.wait_for_end(), 0);
}

TEST(TimeClient, FindsItsOwnOffsetWhicheverTheSign) {
  const std::uint16_t port = free_port();
  TimeServer server(port);
  for (const int offset_ms : {-3'000, 40}) {
    Process client(conclave({"time", "sync", at(port), "--json", "--offset-ms", std::to_string(offset_ms)}));
    const auto found = next(client, "synchronised");
    ASSERT_TRUE(found);
    expect_offset(*found, -1'000 * offset_ms);
  }
}

// A clock that gains 500 millionths is put right again and again; the offset of the hardware grows by that.
TEST(TimeClient, CorrectsAClockThatRunsTooFast) {
  const std::uint16_t port = free_port();
  TimeServer server(port);
  Process client(conclave({"time", "sync", at(port), "--json", "--every", "0.5", "--rounds", "6",
                           "--skew-ppm", "500", "--drift-ppm", "500"}));
  std::optional<Json> last;
  for (int i = 0; i < 6; ++i) {
    last = next(client, "synchronised");
    ASSERT_TRUE(last);
    EXPECT_EQ(last->at("first").get<bool>(), i == 0);
  }
  // It gained 1.25 ms or more in two and a half seconds.
  EXPECT_LE(last->at("offset_us").get<std::int64_t>(), -1'250 + last->at("bound_us").get<std::int64_t>())
      << last->dump();
}

// The server is replaced by one that is 80 ms behind: the clock is ahead, and must not be set back.
TEST(TimeClient, NeverRunsBackwardsWhileItIsSlewed) {
  const std::uint16_t port = free_port();
  std::optional<TimeServer> server(std::in_place, port);
  Process client(conclave({"time", "sync", at(port), "--json", "--every", "0.3", "--read-every", "0.001"}));
  ASSERT_TRUE(next(client, "synchronised"));
  server.reset();
  server.emplace(port, "-80");
  std::int64_t latest = 0;
  int readings = 0;
  bool slewed = false;
  const auto deadline = Clock::now() + soon;
  while (readings < 1'000 || !slewed) {
    const std::string line = client.next_line(deadline);
    ASSERT_FALSE(line.empty()) << readings << " readings, slewed: " << slewed;
    const Json json = Json::parse(line);
    if (json.at("event") == "synchronised") {
      if (!slewed && json.at("correction_us").get<std::int64_t>() < -70'000) {
        slewed = true;
        readings = 0;  // those count that come now
      }
    } else if (json.at("event") == "reading") {
      const auto time = json.at("time_us").get<std::int64_t>();
      ASSERT_GE(time, latest) << "after " << readings << " readings";
      latest = time;
      ++readings;
    }
  }
}

TEST(TimeClient, SaysWhatToDoWhenNobodyAnswers) {
  const std::uint16_t port = free_port();
  Process client(conclave({"time", "sync", at(port), "--json", "--timeout", "0.02"}));
  const auto error = next(client, "no_answer");
  ASSERT_TRUE(error);
  EXPECT_NE(error->at("error").get<std::string>().find("conclave time serve --listen " + at(port)),
            std::string::npos);
  EXPECT_EQ(client.wait_for_end(), 1);
}

TEST(TimeClient, GoesOnWhenItsServerIsKilledAndComesBack) {
  const std::uint16_t port = free_port();
  std::optional<TimeServer> server(std::in_place, port);
  Process client(conclave({"time", "sync", at(port), "--json", "--every", "0.3", "--timeout", "0.02"}));
  ASSERT_TRUE(next(client, "synchronised"));
  server->process().kill(SIGKILL);
  ASSERT_TRUE(next(client, "no_answer"));
  server.emplace(port);
  EXPECT_TRUE(next(client, "synchronised"));
}

// A stranger with a socket.
class Stranger {
 public:
  Stranger() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Stranger() { close(socket_); }
  void send(std::uint16_t port, const std::string& bytes) const {
    const sockaddr_in to = local(port);
    sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  // How long the answer is; nothing if none comes.
  std::optional<std::size_t> answer(milliseconds within) const {
    pollfd readable = {socket_, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(within.count())) <= 0) return std::nullopt;
    char buffer[4096];
    const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0) return std::nullopt;
    return static_cast<std::size_t>(got);
  }

 private:
  int socket_;
};

TEST(TimeServer, IsNotDisturbedByGarbageAndDoesNotAnswerIt) {
  const std::uint16_t port = free_port();
  TimeServer server(port);
  const Stranger stranger;
  std::uint64_t state = 1;
  for (std::size_t size = 0; size < 2'000; ++size) {
    std::string bytes(size % 300, '\0');
    for (char& byte : bytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<char>(state >> 56);
    }
    stranger.send(port, bytes);
  }
  stranger.send(port, std::string(60'000, 'x'));
  EXPECT_FALSE(stranger.answer(200ms));
  Process client(conclave({"time", "sync", at(port), "--json"}));
  EXPECT_TRUE(next(client, "synchronised"));
}

// A group that keeps its clocks together.
class BerkeleyGroup {
 public:
  BerkeleyGroup(std::vector<std::string> offsets_ms) : offsets_(std::move(offsets_ms)) {
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      members_ += fmt::format("{}{}={}", i == 0 ? "" : ",", i + 1, at(ports_.emplace_back(free_port())));
    processes_.resize(offsets_.size());
    // The greatest is master, and asks only once in a while: the others are there before it.
    for (std::size_t i = 0; i < offsets_.size(); ++i) start(i + 1);
  }
  void start(std::size_t id, std::initializer_list<std::string> more = {}) {
    auto command = conclave({"time", "berkeley", "--id", std::to_string(id), "--members", members_, "--json",
                             "--every", "0.5", "--round-trip-ms", "60", "--gamma-ms", "1000", "--offset-ms",
                             offsets_[id - 1], "--read-every", "0.02"});
    command.insert(command.end(), more);
    processes_[id - 1] = std::make_unique<Process>(command);
  }
  Process& member(std::size_t id) { return *processes_[id - 1]; }
  std::uint16_t port(std::size_t id) const { return ports_[id - 1]; }

 private:
  std::vector<std::string> offsets_;
  std::vector<std::uint16_t> ports_;
  std::string members_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Adjustments of one round lead to one time: what each hardware clock lacks differs by what was injected.
TEST(Berkeley, SetsEveryClockToTheSameTimeWithinTheBounds) {
  BerkeleyGroup group({"0", "300", "-150"});
  std::map<std::uint64_t, std::map<std::size_t, Json>> rounds;
  for (std::size_t id = 1; id <= 3; ++id) {
    for (int i = 0; i < 4; ++i) {
      const auto adjusted = next(group.member(id), "adjusted");
      ASSERT_TRUE(adjusted);
      rounds[adjusted->at("round").get<std::uint64_t>()][id] = *adjusted;
    }
  }
  const std::vector<std::int64_t> injected = {0, 300'000, -150'000};
  int whole = 0;
  for (const auto& [round, by] : rounds) {
    if (by.size() < 3) continue;
    ++whole;
    for (std::size_t id = 1; id <= 2; ++id) {
      const std::int64_t difference =
          by.at(id).at("offset_us").get<std::int64_t>() - by.at(3).at("offset_us").get<std::int64_t>();
      const std::int64_t wanted = injected[2] - injected[id - 1];
      EXPECT_LE(std::abs(difference - wanted), by.at(id).at("bound_us").get<std::int64_t>() + 1) << by.at(id);
    }
  }
  EXPECT_GE(whole, 1);
}

TEST(Berkeley, TheNextGreatestTakesOverWhenTheMasterIsKilled) {
  BerkeleyGroup group({"0", "5", "-5"});
  const auto master_of = [&](std::size_t id) {
    const auto adjusted = next(group.member(id), "adjusted");
    return adjusted ? adjusted->at("master").get<int>() : 0;
  };
  const auto becomes = [&](std::size_t id, int master) {
    for (int i = 0; i < 100; ++i) {
      const int now = master_of(id);
      if (now == master || now == 0) return now == master;
    }
    return false;
  };
  EXPECT_TRUE(becomes(1, 3));
  EXPECT_TRUE(becomes(2, 3));
  group.member(3).kill(SIGKILL);
  EXPECT_TRUE(becomes(1, 2));
  EXPECT_TRUE(becomes(2, 2));
  group.start(3, {"--rejoin"});
  EXPECT_TRUE(becomes(3, 2)) << "who comes back finds a master";
}

TEST(Berkeley, StrangersDoNotDisturbTheGroup) {
  BerkeleyGroup group({"0", "10"});
  ASSERT_TRUE(next(group.member(1), "adjusted"));
  const Stranger stranger;
  for (std::size_t size = 0; size < 500; ++size)
    stranger.send(group.port(1 + size % 2), std::string(size, 'B'));
  EXPECT_FALSE(stranger.answer(100ms));
  EXPECT_TRUE(next(group.member(1), "adjusted"));
  EXPECT_TRUE(next(group.member(2), "adjusted"));
}

// Of the package faketime; empty if it is not installed.
std::string faketime_library() {
  glob_t found = {};
  const bool there = glob("/usr/lib/*/faketime/libfaketime.so.1", 0, nullptr, &found) == 0;
  const std::string path = there ? found.gl_pathv[0] : "";
  globfree(&found);
  return path;
}

// The same with a clock that the system shows, not one that we were told to show.
TEST(TimeServer, UnderFaketimeIsAheadByWhatTheClientFinds) {
  const std::string library = faketime_library();
  if (library.empty()) GTEST_SKIP() << "the package faketime is not installed";
  const std::uint16_t port = free_port();
  // Timers must not be fooled, only the clock. The program `faketime` would stand between us and the server.
  Process server({"/usr/bin/env", "LD_PRELOAD=" + library, "FAKETIME=+90s", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                  CONCLAVE, "time", "serve", "--listen", at(port)});
  ASSERT_TRUE(server.says("answering at"));
  Process client(conclave({"time", "sync", at(port), "--json"}));
  const auto found = next(client, "synchronised");
  ASSERT_TRUE(found);
  expect_offset(*found, 90'000'000);
}

}  // namespace
}  // namespace conclave::live
