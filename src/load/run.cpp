#include <proto/rpc.pb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <ctime>
#include <fstream>
#include <sstream>

#include "load/client.hpp"

namespace conclave::load {
namespace {

using namespace std::chrono_literals;
using Error = std::unexpected<std::string>;
namespace pb = etcdserverpb;

constexpr auto look_every = 100ms;
constexpr auto short_look = 10ms;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// A connection for each client.
void want_many_files() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// ---- before

// A call to each endpoint; what they say, or who says nothing.
template <class Response>
std::expected<std::vector<Response>, std::string> ask_each(const Plan& plan,
                                                           std::span<const std::string> endpoints,
                                                           std::string_view path,
                                                           const google::protobuf::MessageLite& request) {
  boost::asio::io_context loop(1);
  std::vector<std::unique_ptr<rpc::Channel>> channels;
  std::vector<Response> answers(endpoints.size());
  std::string wrong;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    rpc::ChannelOptions options = plan.channel;
    options.endpoints = {endpoints[i]};
    auto channel = rpc::Channel::open(loop, options);
    if (!channel) return Error(channel.error());
    channels.push_back(std::move(*channel));
    rpc::call<Response>(*channels.back(), path, request, {.timeout = plan.patience},
                        [&, i](std::expected<Response, rpc::Failure> heard) {
                          if (heard)
                            answers[i] = std::move(*heard);
                          else
                            wrong = endpoints[i] + ": " + heard.error().status.message;
                          channels[i]->close();
                        });
  }
  loop.run();
  if (!wrong.empty()) return Error(wrong);
  return answers;
}

std::expected<std::vector<Member>, std::string> meet(const Plan& plan) {
  const auto heard = ask_each<pb::StatusResponse>(plan, plan.channel.endpoints,
                                                  "/etcdserverpb.Maintenance/Status", pb::StatusRequest());
  if (!heard) return Error(heard.error());
  std::vector<Member> members;
  for (std::size_t i = 0; i < heard->size(); ++i) {
    const pb::StatusResponse& status = (*heard)[i];
    members.push_back({plan.channel.endpoints[i], status.version(),
                       status.leader() != 0 && status.leader() == status.header().member_id()});
  }
  return members;
}

std::expected<bool, std::string> keys_are_there(const Plan& plan) {
  pb::RangeRequest request;
  request.set_key(Client::key_of(plan, 0));
  request.set_range_end(Client::key_of(plan, plan.keys));
  request.set_count_only(true);
  const auto heard = ask_each<pb::RangeResponse>(plan, std::span(plan.channel.endpoints).first(1),
                                                 "/etcdserverpb.KV/Range", request);
  if (!heard) return Error(heard.error());
  return static_cast<std::uint64_t>((*heard)[0].count()) == plan.keys;
}

// ---- threads

// What a thread has used of its processor, and how long it was ready to run and did not.
class Worked {
 public:
  void begin(Home& home) {
    boost::asio::post(home.loop, [this] { thread_ = ::gettid(); });
    ::pthread_getcpuclockid(home.thread.native_handle(), &clock_);
  }
  double processor() const {
    timespec time = {};
    if (::clock_gettime(clock_, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  double waited() const {
    std::ifstream file("/proc/self/task/" + std::to_string(thread_.load()) + "/schedstat");
    double ran = 0;
    double waited = 0;
    file >> ran >> waited;
    return waited / 1e9;
  }
  void mark() {
    processor_ = processor();
    waited_ = waited();
  }
  double processor_since() const { return processor() - processor_; }
  double waited_since() const { return waited() - waited_; }

 private:
  clockid_t clock_ = {};
  std::atomic<pid_t> thread_ = 0;
  double processor_ = 0;
  double waited_ = 0;
};

// All clients of one run, in their threads.
class Crowd {
 public:
  explicit Crowd(const Plan& plan) : shared_(plan), worked_(plan.threads) {
    for (std::uint32_t i = 0; i < plan.threads; ++i) homes_.push_back(std::make_unique<Home>(shared_));
    for (std::uint32_t i = 0; plan.workload->watcher && i < plan.clients; ++i) shared_.told.emplace_back();
    for (std::uint32_t i = 0; i < plan.clients; ++i) add(plan.workload->client, i);
    actors_ = everybody_;
    if (plan.workload->watcher)
      for (std::uint32_t i = 0; i < plan.watchers; ++i) add(plan.workload->watcher, i);
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      Home& home = *homes_[i];
      guards_.push_back(boost::asio::make_work_guard(home.loop));
      tick(home);
      home.thread = std::thread([&home] { home.loop.run(); });
      worked_[i].begin(home);
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    stop();
    for (auto& home : homes_) {
      for (auto& client : home->clients) client->close();
      home->clients.clear();
    }
  }

  std::expected<Report, std::string> run(const std::function<void(std::uint64_t, double)>& told) {
    each([](Client& client) { client.begin(); });
    if (const auto ready = wait_until(shared_.ready, everybody_, [](double) {}); !ready)
      return Error(ready.error());
    const Plan& plan = shared_.plan;
    for (Worked& one : worked_) one.mark();
    shared_.begin = Clock::now();
    if (plan.count == 0)
      shared_.end = shared_.begin +
                    std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.seconds));
    each([](Client& client) { client.go(); });
    // The clients that only wait are told when the others have finished.
    const auto acted = wait_until(shared_.finished, actors_, [&](double time) { told(shared_.done, time); });
    Report report = so_far();
    each([](Client& client) { client.end(); });
    if (!acted) return Error(acted.error());
    if (const auto over = wait_until(shared_.finished, everybody_, [](double) {}); !over)
      return Error(over.error());
    if (const std::string why = shared_.gave_up(); !why.empty()) return Error(why);
    collect(report);
    return report;
  }

 private:
  void stop() {
    for (auto& home : homes_) home->loop.stop();
    for (auto& home : homes_)
      if (home->thread.joinable()) home->thread.join();
  }
  // As many as there are members go to one thread, so that each thread has clients of all of them.
  void add(std::unique_ptr<Client> (*make)(Home&, std::uint32_t), std::uint32_t number) {
    const auto members = static_cast<std::uint32_t>(shared_.plan.channel.endpoints.size());
    Home& home = *homes_[number / members % homes_.size()];
    home.clients.push_back(make(home, number));
    ++everybody_;
  }
  static void tick(Home& home) {
    home.ticker.expires_after(look_every);
    home.ticker.async_wait([&home](const boost::system::error_code& error) {
      if (error) return;
      const auto now = Clock::now();
      for (auto& client : home.clients) client->tick(now);
      tick(home);
    });
  }
  void each(void (*then)(Client&)) {
    for (auto& home : homes_)
      boost::asio::post(home->loop, [&home = *home, then] {
        for (auto& client : home.clients) then(*client);
      });
  }
  // Until so many did; too long is when nothing at all happens.
  std::expected<void, std::string> wait_until(const std::atomic<std::uint32_t>& count, std::uint32_t wanted,
                                              const std::function<void(double)>& told) {
    auto last_told = Clock::now();
    auto last_change = last_told;
    std::uint64_t seen = 0;
    while (count < wanted) {
      std::this_thread::sleep_for(short_look);
      if (const std::string why = shared_.gave_up(); !why.empty()) return Error(why);
      const auto now = Clock::now();
      if (const std::uint64_t sum = shared_.done + count; sum != seen) {
        seen = sum;
        last_change = now;
      }
      if (now - last_change > shared_.plan.patience + 30s) return Error("nothing was done for too long");
      if (now - last_told < look_every) continue;
      last_told = now;
      told(seconds(now - shared_.begin));
    }
    return {};
  }

  Report so_far() const {
    Report report;
    const double time = seconds(Clock::now() - shared_.begin);
    for (const Worked& one : worked_) {
      report.processor_seconds += one.processor_since();
      report.busiest = std::max(report.busiest, one.processor_since() / time);
      report.kept_waiting = std::max(report.kept_waiting, one.waited_since() / time);
    }
    return report;
  }
  // The clients are done: nobody writes any more.
  void collect(Report& report) {
    stop();
    auto last = shared_.begin;
    for (auto& home : homes_) {
      last = std::max(last, home->last);
      report.latencies.add(home->latencies);
      for (const auto& [what, times] : home->errors) report.errors[what] += times;
      for (const auto& [what, times] : home->counts) report.counts[what] += times;
      for (const auto& [what, latencies] : home->parts) report.parts[what].add(latencies);
    }
    report.seconds = seconds(last - shared_.begin);
    auto before = shared_.begin;
    for (std::size_t i = 0; i < shared_.ends.size() && shared_.ends[i] != Clock::time_point(); ++i) {
      Slice slice = {.seconds = seconds(shared_.ends[i] - before)};
      for (auto& home : homes_)
        if (i < home->slices.size() && home->slices[i]) slice.latencies.add(*home->slices[i]);
      report.slices.push_back(slice);
      before = shared_.ends[i];
    }
  }

  Shared shared_;
  std::deque<Worked> worked_;
  std::vector<std::unique_ptr<Home>> homes_;
  std::vector<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guards_;
  std::uint32_t everybody_ = 0;
  std::uint32_t actors_ = 0;
};

std::expected<void, std::string> fill(const Plan& plan, const std::function<void(const Progress&)>& told) {
  const auto there = keys_are_there(plan);
  if (!there) return Error(there.error());
  if (*there) return {};
  Plan filling = plan;
  filling.workload = workload_named("fill");
  filling.clients = filling.workload->clients;
  filling.count = (plan.keys + fill_batch(plan) - 1) / fill_batch(plan);
  filling.slice = 0;
  Crowd crowd(filling);
  const auto filled = crowd.run([&](std::uint64_t done, double time) {
    told({.filling = true, .done = done * fill_batch(plan), .seconds = time});
  });
  if (!filled) return Error(filled.error());
  return {};
}

}  // namespace

std::expected<Report, std::string> run(const Plan& plan, const std::function<void(const Progress&)>& told) {
  want_many_files();
  const auto members = meet(plan);
  if (!members) return Error(members.error());
  if (plan.workload->needs_keys)
    if (const auto filled = fill(plan, told); !filled) return Error(filled.error());
  Plan wanted = plan;
  if (plan.workload == workload_named("fill"))
    wanted.count = (plan.keys + fill_batch(plan) - 1) / fill_batch(plan);
  Crowd crowd(wanted);
  auto report = crowd.run(
      [&](std::uint64_t done, double time) { told({.filling = false, .done = done, .seconds = time}); });
  if (report) report->members = *members;
  return report;
}

}  // namespace conclave::load
