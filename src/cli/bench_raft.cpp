// conclave bench raft: what a durable command costs on this machine, beside what its disk and its network
// cost by themselves.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/bench.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cluster/server.hpp"
#include "live/children.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Error = std::unexpected<std::string>;
using Json = nlohmann::ordered_json;

struct Flags {
  std::uint32_t members = 3;
  std::vector<std::uint32_t> outstanding = {1, 64, 1000};
  double seconds = 3;
  std::uint32_t bytes = 256;
  std::uint32_t spin = 0;
  std::string data;
  bool json = false;
};

// ---- what the disk does by itself

// Somebody's file that was written before, and how long a write in it takes with its fdatasync.
class Prewritten {
 public:
  Prewritten(std::string path, std::size_t bytes)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        record_(bytes, 'x') {
    if (file_ < 0 || !prepare()) note();
  }
  Prewritten(const Prewritten&) = delete;
  Prewritten& operator=(const Prewritten&) = delete;
  ~Prewritten() {
    ::close(file_);
    ::unlink(path_.c_str());
  }

  double flush() {
    const auto begin = Clock::now();
    const ssize_t put = ::pwrite(file_, record_.data(), record_.size(), at_);
    if (put != static_cast<ssize_t>(record_.size()) || ::fdatasync(file_) != 0) note();
    at_ = (at_ + static_cast<off_t>(record_.size())) % (2 << 20);
    return microseconds(Clock::now() - begin);
  }
  const std::string& failed() const { return failed_; }  // why; empty: nothing did

 private:
  bool prepare() {
    const std::string zeros(1 << 20, '\0');
    for (int i = 0; i < 4; ++i)
      if (::write(file_, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) return false;
    return ::fsync(file_) == 0;
  }
  void note() {
    if (failed_.empty()) failed_ = fmt::format("cannot write to {}: {}", path_, std::strerror(errno));
  }
  std::string path_;
  int file_;
  std::string record_;
  off_t at_ = 0;
  std::string failed_;
};

// Microseconds until a majority of so many writers, who begin together, have each made a write of so many
// bytes durable; the median.
std::expected<double, std::string> flush_time(const std::string& folder, std::size_t bytes,
                                              std::uint32_t writers) {
  constexpr std::size_t rounds = 500;
  std::deque<Prewritten> files;
  for (std::uint32_t i = 0; i < writers; ++i)
    files.emplace_back(fmt::format("{}/prewritten-{}", folder, i), bytes);
  std::vector<std::vector<double>> took(rounds, std::vector<double>(writers));
  std::barrier together(static_cast<std::ptrdiff_t>(writers));
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < writers; ++i)
      threads.emplace_back([&, i] {
        for (std::size_t round = 0; round < rounds; ++round) {
          together.arrive_and_wait();
          took[round][i] = files[i].flush();
        }
      });
  }
  for (const Prewritten& file : files)
    if (!file.failed().empty()) return Error(file.failed());
  std::vector<double> times;
  for (std::vector<double>& round : took) {
    std::ranges::sort(round);
    times.push_back(round[writers / 2]);
  }
  std::ranges::sort(times);
  return at_quantile(times, 0.5);
}

// ---- one member, in a process of its own

// The member that leads proposes: as many commands at a time as are to be outstanding, each followed by the
// next. It says on the pipe when a measurement begins, and what it saw.
class Load {
 public:
  Load(boost::asio::io_context& loop, const Flags& flags, int pipe)
      : loop_(loop), flags_(flags), pipe_(pipe), alarm_(loop), command_(Bytes(flags.bytes, 7)) {}

  void watch(cluster::Server& server) {
    server_ = &server;
    look();
  }
  void applied(std::uint64_t mine) {
    if (mine == 0 || begun_.empty() || !running_) return;
    times_.push_back(microseconds(Clock::now() - begun_.front()));
    begun_.pop_front();
    propose();
  }

 private:
  void look() {
    if (server_->leads() && Clock::now() > settled_) return next();
    if (!server_->leads()) settled_ = Clock::now() + 300ms;
    wait(5ms, [this] { look(); });
  }
  void next() {
    if (at_ == flags_.outstanding.size()) return say({{"done", true}});
    times_.clear();
    say({{"begin", flags_.outstanding[at_]}});
    began_ = Clock::now();
    flushes_ = server_->status().flushes;
    running_ = true;
    for (std::uint32_t i = 0; i < flags_.outstanding[at_]; ++i) propose();
    wait(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(flags_.seconds)),
         [this] { finish(); });
  }
  void propose() {
    begun_.push_back(Clock::now());
    server_->propose(command_);
  }
  void finish() {
    running_ = false;
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    std::ranges::sort(times_);
    say({{"outstanding", flags_.outstanding[at_]},
         {"commands", times_.size()},
         {"per_second", static_cast<double>(times_.size()) / seconds},
         {"p50_us", at_quantile(times_, 0.5)},
         {"p99_us", at_quantile(times_, 0.99)},
         {"flushes", server_->status().flushes - flushes_},
         {"flush_us", static_cast<double>(server_->status().flush_median.count()) / 1e3},
         {"led", server_->leads()}});
    ++at_;
    begun_.clear();
    wait(300ms, [this] { next(); });
  }
  void wait(Clock::duration time, std::function<void()> then) {
    alarm_.expires_after(time);
    alarm_.async_wait([then = std::move(then)](const boost::system::error_code& error) {
      if (!error) then();
    });
  }
  void say(const Json& what) {
    const std::string line = what.dump() + "\n";
    if (::write(pipe_, line.data(), line.size()) < 0) loop_.stop();
  }

  boost::asio::io_context& loop_;
  const Flags& flags_;
  int pipe_;
  boost::asio::steady_timer alarm_;
  Payload command_;
  cluster::Server* server_ = nullptr;
  std::size_t at_ = 0;
  bool running_ = false;
  Clock::time_point settled_ = Clock::now() + 300ms;
  Clock::time_point began_ = {};
  std::uint64_t flushes_ = 0;
  std::deque<Clock::time_point> begun_;
  std::vector<double> times_;
};

[[noreturn]] void run_member(const Flags& flags, const std::vector<live::Peer>& members, NodeId self,
                             const std::string& data, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  boost::asio::io_context loop(1);
  Load load(loop, flags, pipe);
  cluster::ServerOptions options = {.data = data, .spin = std::chrono::microseconds(flags.spin)};
  options.links = {.self = self, .members = members, .group = "bench", .algorithm = "raft"};
  options.links.limits.message_bytes = 4u << 20;
  auto server =
      cluster::Server::open(loop, options,
                            {.applied =
                                 [&](std::uint64_t, std::uint64_t, const Payload&, std::uint64_t mine) {
                                   load.applied(mine);
                                   return std::string();
                                 },
                             .failed = [&](const std::string&) { loop.stop(); }},
                            [](live::LogLevel, std::string_view) {});
  if (!server) {
    const std::string line = Json{{"error", server.error()}}.dump() + "\n";
    (void)!::write(pipe, line.data(), line.size());
    ::_exit(1);
  }
  load.watch(**server);
  loop.run();
  ::_exit(0);
}

// ---- all of them

// Seconds of processor time that a process has used.
double processor_time(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class Cluster {
 public:
  std::expected<void, std::string> start(const Flags& flags, const std::string& folder) {
    const auto ports = live::free_ports(flags.members);
    if (!ports) return Error(ports.error());
    std::vector<live::Peer> members;
    for (std::uint32_t i = 0; i < flags.members; ++i) members.push_back({{i + 1}, "127.0.0.1", (*ports)[i]});
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    for (const live::Peer& peer : members) {
      const pid_t child = ::fork();
      if (child < 0) return Error(fmt::format("cannot fork: {}", std::strerror(errno)));
      if (child == 0)
        run_member(flags, members, peer.id, fmt::format("{}/{}", folder, peer.id.value), ends[1]);
      processes_.push_back(child);
    }
    ::close(ends[1]);
    said_ = ::fdopen(ends[0], "r");
    return {};
  }
  ~Cluster() {
    for (const pid_t process : processes_) ::kill(process, SIGKILL);
    for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
    if (said_) ::fclose(said_);
  }

  // The next measurement; null when there is none left.
  std::expected<Json, std::string> next() {
    char line[4096];
    double before = 0;
    while (std::fgets(line, sizeof line, said_)) {
      Json said = Json::parse(line, nullptr, false);
      if (said.contains("error")) return Error(said["error"].get<std::string>());
      if (said.contains("done")) return Json();
      if (said.contains("begin")) {
        before = all_time();
        continue;
      }
      if (!said.contains("led") || !said["led"].get<bool>())
        return Error("the leader changed in the middle of a measurement");
      const double commands = std::max(1.0, said["commands"].get<double>());
      said["cpu_us"] = (all_time() - before) * 1e6 / commands;
      said.erase("led");
      return said;
    }
    return Error("the members ended");
  }

 private:
  double all_time() const {
    double sum = 0;
    for (const pid_t process : processes_) sum += processor_time(process);
    return sum;
  }
  std::vector<pid_t> processes_;
  FILE* said_ = nullptr;
};

int bench_raft(const Flags& flags) {
  TemporaryFolder temporary;
  if (!temporary.there()) return complain("cannot make a temporary folder");
  const std::string folder = flags.data.empty() ? temporary.path() : flags.data;
  const auto flush = flush_time(folder, flags.bytes + 44, 1);
  if (!flush) return complain(flush.error());
  const auto together = flush_time(folder, flags.bytes + 44, flags.members);
  if (!together) return complain(together.error());
  const auto trip = tcp_round_trip(flags.bytes + 44);
  if (!trip) return complain(trip.error());
  const double limit = *flush + *trip;
  Cluster cluster;
  if (const auto started = cluster.start(flags, folder); !started) return complain(started.error());
  Json rows = Json::array();
  for (;;) {
    auto row = cluster.next();
    if (!row) return complain(row.error());
    if (row->is_null()) break;
    (*row)["of_limit"] = (*row)["p50_us"].get<double>() / limit;
    (*row)["of_shared_limit"] = (*row)["p50_us"].get<double>() / (*together + *trip);
    rows.push_back(std::move(*row));
  }
  if (flags.json) {
    const Json out = {{"members", flags.members},
                      {"bytes", flags.bytes},
                      {"flush_us", *flush},
                      {"flush_together_us", *together},
                      {"round_trip_us", *trip},
                      {"limit_us", limit},
                      {"rows", rows}};
    fmt::print("{}\n", out.dump());
    return ok;
  }
  fmt::print("{} members, commands of {} bytes, every one on the disks of a majority before it counts\n\n",
             flags.members, flags.bytes);
  using enum Table::Align;
  Table table(std::vector(6, right));
  table.add({"outstanding", "commands/s", "p50 µs", "p99 µs", "CPU µs", "commands a flush"});
  table.add_rule();
  for (const Json& row : rows) {
    const double flushes = std::max(1.0, row["flushes"].get<double>());
    table.add({std::to_string(row["outstanding"].get<std::uint32_t>()),
               fmt::format("{:.0f}", row["per_second"].get<double>()),
               fmt::format("{:.0f}", row["p50_us"].get<double>()),
               fmt::format("{:.0f}", row["p99_us"].get<double>()),
               fmt::format("{:.1f}", row["cpu_us"].get<double>()),
               fmt::format("{:.1f}", row["commands"].get<double>() / flushes)});
  }
  fmt::print("{}", table.to_string());
  const Json first = rows.empty() ? Json{{"of_limit", 0.0}, {"of_shared_limit", 0.0}} : rows[0];
  fmt::print(
      "\nOne flush of this disk takes {:.0f} µs and a round trip over TCP {:.0f} µs, measured before: one "
      "command\nat a time takes {:.2f} times their sum. CPU is that of all members together.\n",
      *flush, *trip, first["of_limit"].get<double>());
  if (flags.members > 1)
    fmt::print(
        "The members share that disk: of {} flushes at once, a majority is done after {:.0f} µs, and of that "
        "and\nthe round trip it takes {:.2f} times.\n",
        flags.members, *together, first["of_shared_limit"].get<double>());
  return ok;
}

}  // namespace

void add_bench_raft(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      bench.add_subcommand("raft", "start a Raft cluster on this machine, and measure its commands");
  verb->add_option("--members", flags->members, "how many (3)")->check(CLI::Range(1, 9));
  verb->add_option("--outstanding", flags->outstanding, "commands under way at a time (1,64,1000)")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000));
  verb->add_option("--seconds", flags->seconds, "for each measurement (3)")->check(CLI::Range(0.1, 600.0));
  verb->add_option("--bytes", flags->bytes, "of a command (256)")->check(CLI::Range(1, 1'000'000));
  verb->add_option("--spin", flags->spin, "microseconds for which the flushing thread looks for work (0)")
      ->check(CLI::Range(0, 10'000));
  verb->add_option("--data", flags->data, "where the members keep their logs; a temporary folder otherwise")
      ->check(CLI::ExistingDirectory);
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer("Example:\n  conclave bench raft --outstanding 1,64,1000 --seconds 5");
  verb->callback([flags, &action] { action = [flags] { return bench_raft(*flags); }; });
}

}  // namespace conclave::cli
