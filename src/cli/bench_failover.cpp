// conclave bench failover: for how long nobody's writes are acknowledged when the leader of a cluster dies,
// or falls silent.
#include <proto/rpc.pb.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench.hpp"
#include "cli/one_call.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cluster/server.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Error = std::unexpected<std::string>;
using Json = nlohmann::ordered_json;
namespace pb = etcdserverpb;

constexpr auto one_try = 250ms;       // of a client; then it asks another member
constexpr auto rest = 2ms;            // after a try that failed
constexpr auto least_watch = 1000ms;  // after the fault: what comes of it late counts as well
constexpr auto patience = 60s;        // for a leader, for writes that go on, for a member to catch up

struct Flags {
  std::uint32_t members = 3;
  std::uint32_t trials = 20;
  std::vector<std::string> faults = {"kill", "silence"};
  std::string peer;
  bool json = false;
};

// ---- clients that write all the time

// When whose writes were acknowledged. Clients note it in their thread, the trial reads it in its own.
class Acknowledged {
 public:
  explicit Acknowledged(std::size_t clients) : times_(clients) {}
  void note(std::size_t client) {
    const std::lock_guard lock(mutex_);
    times_[client].push_back(Clock::now());
  }
  bool all_since(Time since) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(times_,
                               [&](const auto& times) { return !times.empty() && times.back() > since; });
  }
  // The longest time without an acknowledgement, from the last one before `since` on: of all clients together
  // …
  Clock::duration longest_of_all(Time since) const {
    const std::lock_guard lock(mutex_);
    std::vector<Time> all;
    for (const auto& times : times_) all.insert(all.end(), times.begin(), times.end());
    std::ranges::sort(all);
    return longest(all, since);
  }
  // … and of the client that waited longest.
  Clock::duration longest_of_one(Time since) const {
    const std::lock_guard lock(mutex_);
    Clock::duration most = {};
    for (const auto& times : times_) most = std::max(most, longest(times, since));
    return most;
  }

 private:
  static Clock::duration longest(const std::vector<Time>& times, Time since) {
    Clock::duration most = {};
    for (std::size_t i = 1; i < times.size(); ++i)
      if (times[i] > since) most = std::max(most, times[i] - times[i - 1]);
    return most;
  }
  mutable std::mutex mutex_;
  std::vector<std::vector<Time>> times_;  // of each client, in order
};

// One write after the other. Who gets no answer in time asks another member; so does who loses its
// connection.
class Writer {
 public:
  Writer(boost::asio::io_context& loop, std::vector<std::string> endpoints, std::size_t number,
         Acknowledged& acknowledged)
      : timer_(loop), number_(number), acknowledged_(acknowledged) {
    std::ranges::rotate(endpoints, endpoints.begin() + static_cast<std::ptrdiff_t>(number));
    auto channel = rpc::Channel::open(loop, {.endpoints = std::move(endpoints),
                                             .connect_timeout = one_try,
                                             .first_wait = rest,
                                             .longest_wait = 20ms});
    ensure(channel.has_value(), "addresses of our own making can be read");
    channel_ = std::move(*channel);
    request_.set_key(fmt::format("failover/{}", number));
    request_.set_value(std::string(256, 'x'));
  }

  void write() {
    rpc::call<pb::PutResponse>(*channel_, "/etcdserverpb.KV/Put", request_, {.timeout = one_try},
                               [this](std::expected<pb::PutResponse, rpc::Failure> answer) {
                                 if (!answer) return failed(answer.error().status);
                                 acknowledged_.note(number_);
                                 write();
                               });
  }

 private:
  // A channel that has lost its connection goes to the next endpoint by itself.
  void failed(const rpc::Status& why) {
    if (why.code == rpc::Code::deadline_exceeded) channel_->next_endpoint();
    timer_.expires_after(rest);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) write();
    });
  }

  boost::asio::steady_timer timer_;
  std::size_t number_;
  Acknowledged& acknowledged_;
  std::unique_ptr<rpc::Channel> channel_;
  pb::PutRequest request_;
};

// As many as there are members, each of which has one in the beginning; they run in a thread of their own.
class Writers {
 public:
  explicit Writers(const std::vector<std::string>& endpoints) : acknowledged(endpoints.size()) {
    for (std::size_t i = 0; i < endpoints.size(); ++i)
      writers_.push_back(std::make_unique<Writer>(loop_, endpoints, i, acknowledged));
    for (auto& writer : writers_) writer->write();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Writers() {
    loop_.stop();
    thread_.join();
  }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  Acknowledged acknowledged;

 private:
  boost::asio::io_context loop_{1};
  std::vector<std::unique_ptr<Writer>> writers_;
  std::thread thread_;
};

// ---- one trial after the other

enum class Fault { kill, silence };

struct Gaps {
  double all = 0;        // milliseconds in which nobody's write was acknowledged
  double client = 0;     // … and those of the client that waited longest
  double returning = 0;  // nobody's, while the member came back and caught up
};

double milliseconds(Clock::duration time) { return microseconds(time) / 1e3; }

class Trials {
 public:
  Trials(LocalGroup& group, Fault fault) : group_(group), fault_(fault) {}

  // With clients of its own: those of the last trial may all have ended up with one member, and all of them
  // would wait in vain for the member that is silent by now, whoever leads.
  std::expected<Gaps, std::string> next() {
    const Writers writers(endpoints_of(group_));
    const Acknowledged& acknowledged = writers.acknowledged;
    const auto leader = wait_for_leader();
    if (!leader) return Error(leader.error());
    if (const auto steady = wait_for_writes(acknowledged, Clock::now(), 300ms); !steady)
      return Error(steady.error());

    const Time hit = Clock::now();
    fault_ == Fault::kill ? group_.kill(*leader) : group_.pause(*leader);
    if (const auto writes = wait_for_writes(acknowledged, hit, least_watch); !writes)
      return Error(writes.error());
    Gaps gaps = {.all = milliseconds(acknowledged.longest_of_all(hit)),
                 .client = milliseconds(acknowledged.longest_of_one(hit))};

    const Time back = Clock::now();
    if (fault_ == Fault::silence) {
      group_.resume(*leader);
    } else if (const auto restarted = group_.restart(*leader); !restarted) {
      return Error(restarted.error());
    }
    if (const auto caught_up = wait_until_caught_up(*leader); !caught_up) return Error(caught_up.error());
    gaps.returning = milliseconds(acknowledged.longest_of_all(back));
    return gaps;
  }

 private:
  static std::vector<std::string> endpoints_of(const LocalGroup& group) {
    std::vector<std::string> endpoints;
    for (std::uint32_t i = 1; i <= group.size(); ++i) endpoints.push_back(group.endpoint(i));
    return endpoints;
  }
  std::optional<pb::StatusResponse> status_of(std::uint32_t member) const {
    auto status = call_once<pb::StatusResponse>(ServerFlags{}, group_.endpoint(member),
                                                "/etcdserverpb.Maintenance/Status", pb::StatusRequest(), 1s);
    return status ? std::optional(std::move(*status)) : std::nullopt;
  }
  // Whom everybody takes for the leader.
  std::optional<std::uint32_t> agreed_leader() const {
    std::optional<std::uint32_t> leader;
    std::uint64_t named = 0;
    for (std::uint32_t member = 1; member <= group_.size(); ++member) {
      const auto status = status_of(member);
      if (!status || status->leader() == 0 || (named != 0 && named != status->leader())) return std::nullopt;
      named = status->leader();
      if (status->header().member_id() == named) leader = member;
    }
    return leader;
  }
  std::expected<std::uint32_t, std::string> wait_for_leader() const {
    for (const Time end = Clock::now() + patience; Clock::now() < end; std::this_thread::sleep_for(20ms))
      if (const auto leader = agreed_leader()) return *leader;
    return Error("the members agree on no leader");
  }
  // Until at least so much later everybody's writes go on.
  static std::expected<void, std::string> wait_for_writes(const Acknowledged& acknowledged, Time since,
                                                          Clock::duration least) {
    for (const Time end = since + patience; Clock::now() < end; std::this_thread::sleep_for(5ms))
      if (Clock::now() > since + least && acknowledged.all_since(Clock::now() - 50ms)) return {};
    return Error("writes did not go on");
  }
  // It has what the others had when they were asked, a moment before it was.
  std::expected<void, std::string> wait_until_caught_up(std::uint32_t member) const {
    for (const Time end = Clock::now() + patience; Clock::now() < end; std::this_thread::sleep_for(20ms)) {
      const auto other = status_of(member % group_.size() + 1);
      const auto status = status_of(member);
      if (other && status && status->leader() != 0 && status->raftappliedindex() >= other->raftappliedindex())
        return {};
    }
    return Error(fmt::format("member {} did not catch up", member));
  }

  LocalGroup& group_;
  Fault fault_;
};

// ---- all of them

struct Row {
  std::string server;
  std::string fault;
  std::vector<Gaps> trials;

  std::vector<double> sorted(double Gaps::*which) const {
    std::vector<double> values;
    for (const Gaps& trial : trials) values.push_back(trial.*which);
    std::ranges::sort(values);
    return values;
  }
  double median(double Gaps::*which) const { return at_quantile(sorted(which), 0.5); }
  double worst(double Gaps::*which) const { return sorted(which).back(); }
};

constexpr double goal_median = 150;  // milliseconds, after a kill
constexpr double goal_worst = 300;
constexpr double one_round = 100;  // at most, of an election and a write

// A follower waits once to twice its patience for a leader that says nothing.
double election_timeout() {
  return 2 * static_cast<double>(std::chrono::milliseconds(cluster::ServerOptions{}.patience).count());
}

std::string verdict(const Row& row) {
  if (row.server != "conclave") return "";
  if (row.fault == "kill")
    return row.median(&Gaps::client) < goal_median && row.worst(&Gaps::client) < goal_worst ? "met"
                                                                                            : "missed";
  return row.worst(&Gaps::all) <= election_timeout() + one_round ? "met" : "missed";
}

std::string goal_of(const Row& row) {
  if (row.server != "conclave") return "";
  if (row.fault == "kill") return fmt::format("client: {:.0f}, {:.0f} at most", goal_median, goal_worst);
  return fmt::format("all: {:.0f} and a round at most", election_timeout());
}

std::expected<Row, std::string> measure(const Flags& flags, const std::string& server,
                                        const std::string& fault) {
  auto group = LocalGroup::start(server == "conclave" ? "raft" : server, flags.members);
  if (!group) return Error(group.error());
  Trials trials(**group, fault == "kill" ? Fault::kill : Fault::silence);
  Row row = {.server = server, .fault = fault};
  while (row.trials.size() < flags.trials) {
    if (on_terminal(stderr))
      fmt::print(stderr, "\r\x1b[K{}, {}: trial {} of {}", server, fault, row.trials.size() + 1,
                 flags.trials);
    auto gaps = trials.next();
    if (!gaps)
      return Error(fmt::format("{}, {}, trial {}: {}", server, fault, row.trials.size() + 1, gaps.error()));
    row.trials.push_back(*gaps);
  }
  if (on_terminal(stderr)) fmt::print(stderr, "\r\x1b[K");
  return row;
}

Json to_json(const Row& row) {
  const auto quantiles = [&](double Gaps::*which) {
    return Json{{"median", row.median(which)},
                {"p90", at_quantile(row.sorted(which), 0.9)},
                {"worst", row.worst(which)}};
  };
  Json trials = Json::array();
  for (const Gaps& gaps : row.trials)
    trials.push_back({{"all", gaps.all}, {"client", gaps.client}, {"returning", gaps.returning}});
  Json json = {{"server", row.server},
               {"fault", row.fault},
               {"all_ms", quantiles(&Gaps::all)},
               {"client_ms", quantiles(&Gaps::client)},
               {"returning_ms", quantiles(&Gaps::returning)},
               {"trials", std::move(trials)}};
  if (!verdict(row).empty()) json["goal_met"] = verdict(row) == "met";
  return json;
}

void print_table(const Flags& flags, const std::vector<Row>& rows) {
  fmt::print(
      "{} members, {} trials of each; as many clients write all the time, a try of theirs lasts {} ms\n\n",
      flags.members, flags.trials, one_try.count());
  using enum Table::Align;
  Table table({left, left, right, right, right, right, right, right, right, left, left});
  table.add({"", "longest time without a write, ms", "all", "p90", "worst", "client", "p90", "worst",
             "return", "goal", ""});
  table.add_rule();
  const auto ms = [](double value) { return fmt::format("{:.0f}", value); };
  for (const Row& row : rows) {
    const auto all = row.sorted(&Gaps::all);
    const auto client = row.sorted(&Gaps::client);
    const std::string met = verdict(row);
    table.add(
        {row.server, row.fault == "kill" ? "the leader is killed (-9)" : "the leader is silent (SIGSTOP)",
         ms(at_quantile(all, 0.5)), ms(at_quantile(all, 0.9)), ms(all.back()), ms(at_quantile(client, 0.5)),
         ms(at_quantile(client, 0.9)), ms(client.back()), ms(row.worst(&Gaps::returning)), goal_of(row),
         met.empty() ? met : paint(met, met == "met" ? Colour::green : Colour::red)});
  }
  fmt::print("{}", table.to_string());
  fmt::print(
      "\nAll: nobody's write was acknowledged; client: those of the client that waited longest. Medians "
      "first.\n"
      "Return: the worst of all, while the member came back and caught up.\n"
      "Of other runs, after a kill: etcd 3.4 1,284 ms (median of 10, 3,147 at most), ZooKeeper 3.8 446 ms "
      "(463).\n");
}

int bench_failover(const Flags& flags) {
  std::vector<std::string> servers = {"conclave"};
  if (!flags.peer.empty()) servers.push_back(flags.peer);
  std::vector<Row> rows;
  for (const std::string& fault : flags.faults) {
    for (const std::string& server : servers) {
      auto row = measure(flags, server, fault);
      if (!row) {
        fmt::print(stderr, "conclave: {}\n", row.error());
        return property_failed;
      }
      rows.push_back(std::move(*row));
    }
  }
  if (!flags.json) {
    print_table(flags, rows);
    return ok;
  }
  Json all = Json::array();
  for (const Row& row : rows) all.push_back(to_json(row));
  const Json out = {{"members", flags.members},
                    {"trials", flags.trials},
                    {"clients", flags.members},
                    {"try_ms", one_try.count()},
                    {"rows", std::move(all)}};
  fmt::print("{}\n", out.dump());
  return ok;
}

}  // namespace

void add_bench_failover(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = bench.add_subcommand(
      "failover",
      "kill the leader of a cluster on this machine again and again, and measure who waits how long");
  verb->add_option("--members", flags->members, "how many (3)")->check(CLI::Range(3, 9));
  verb->add_option("--trials", flags->trials, "of each fault (20)")->check(CLI::Range(1, 10'000));
  verb->add_option("--faults", flags->faults, "what befalls the leader (kill,silence)")
      ->delimiter(',')
      ->check(CLI::IsMember({"kill", "silence"}));
  verb->add_option("--peer", flags->peer, "the same with etcd, if it is installed (Debian: etcd-server)")
      ->check(CLI::IsMember({"etcd"}));
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer("Example:\n  conclave bench failover --trials 20 --peer etcd");
  verb->callback([flags, &action] { action = [flags] { return bench_failover(*flags); }; });
}

}  // namespace conclave::cli
