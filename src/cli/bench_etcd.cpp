// conclave bench etcd: load on running servers of etcd's API, ours or others'.
#include <nlohmann/json.hpp>

#include "cli/servers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "client/background.hpp"
#include "load/plan.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
using load::Latencies;
using load::Workload;

struct Flags {
  ServerFlags servers;
  std::string workload;
  std::optional<std::uint32_t> clients;
  std::optional<double> seconds;
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> slice;
  std::uint32_t first = 1;
  load::Plan plan;
  bool json = false;
};

constexpr double busy = 0.9;  // of a thread: servers may be quicker than that shows

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Workload& workload : load::workloads()) names.emplace_back(workload.name);
  return names;
}

load::Plan plan_of(const Flags& flags) {
  load::Plan plan = flags.plan;
  plan.workload = load::workload_named(flags.workload);
  Options options = flags.servers.options;
  options.endpoints = endpoints_of(flags.servers);
  plan.channel = channel_options(options);
  std::vector<std::string>& endpoints = plan.channel.endpoints;
  if (!endpoints.empty())
    std::ranges::rotate(
        endpoints, endpoints.begin() + static_cast<std::ptrdiff_t>((flags.first - 1) % endpoints.size()));
  plan.clients = flags.clients.value_or(plan.workload->clients);
  plan.threads = std::min(plan.threads, plan.clients);
  plan.seconds = flags.seconds.value_or(5);
  plan.count = flags.count.value_or(flags.seconds ? 0 : plan.workload->count);
  plan.slice = flags.slice.value_or(flags.seconds || flags.count ? 0 : plan.workload->slice);
  return plan;
}

// ---- what came of it

double per_second(const load::Report& report) {
  return report.seconds > 0 ? static_cast<double>(report.latencies.count()) / report.seconds : 0;
}

Json to_json(const Latencies& latencies) {
  return {{"p50", latencies.at(0.5)},
          {"p99", latencies.at(0.99)},
          {"p999", latencies.at(0.999)},
          {"most", latencies.most()},
          {"mean", latencies.mean()}};
}

Json to_json(const load::Plan& plan, const load::Report& report) {
  Json members = Json::array();
  for (const load::Member& member : report.members)
    members.push_back({{"endpoint", member.endpoint}, {"version", member.version}, {"leads", member.leads}});
  Json slices = Json::array();
  for (const load::Slice& slice : report.slices) {
    const auto count = static_cast<double>(slice.latencies.count());
    slices.push_back({{"per_second", slice.seconds > 0 ? count / slice.seconds : 0},
                      {"latency_us", to_json(slice.latencies)}});
  }
  Json parts = Json::object();
  for (const auto& [what, latencies] : report.parts) {
    parts[what] = to_json(latencies);
    parts[what]["count"] = latencies.count();
  }
  Json counts = Json::object();
  for (const auto& [what, times] : report.counts)
    counts[what] = {{"count", times}, {"per_second", static_cast<double>(times) / report.seconds}};
  const auto operations = static_cast<double>(std::max<std::uint64_t>(1, report.latencies.count()));
  return {{"workload", plan.workload->name},
          {"members", std::move(members)},
          {"clients", plan.clients},
          {"seconds", report.seconds},
          {"operations", report.latencies.count()},
          {"per_second", per_second(report)},
          {"latency_us", to_json(report.latencies)},
          {"parts_us", std::move(parts)},
          {"counts", std::move(counts)},
          {"failed", report.failed()},
          {"errors", report.errors},
          {"slices", std::move(slices)},
          {"load",
           {{"threads", plan.threads},
            {"cpu_us", report.processor_seconds * 1e6 / operations},
            {"busiest", report.busiest},
            {"kept_waiting", report.kept_waiting}}}};
}

std::string in_milliseconds(double microseconds) { return fmt::format("{:.2f}", microseconds / 1e3); }

std::vector<std::string> row_of(std::string what, double rate, const Latencies& latencies) {
  return {std::move(what),
          fmt::format("{:.0f}", rate),
          in_milliseconds(latencies.at(0.5)),
          in_milliseconds(latencies.at(0.99)),
          in_milliseconds(latencies.at(0.999)),
          in_milliseconds(latencies.most())};
}

void print_report(const load::Plan& plan, const load::Report& report) {
  using enum Table::Align;
  Table table({left, right, right, right, right, right});
  table.add({"", "per second", "p50 ms", "p99 ms", "p99.9 ms", "most ms"});
  table.add_rule();
  table.add(row_of(std::string(plan.workload->name), per_second(report), report.latencies));
  for (const auto& [what, latencies] : report.parts)
    table.add(row_of("  " + what, static_cast<double>(latencies.count()) / report.seconds, latencies));
  for (std::size_t i = 0; i < report.slices.size(); ++i) {
    const load::Slice& slice = report.slices[i];
    table.add(row_of(fmt::format("  until {}", with_commas((i + 1) * plan.slice)),
                     static_cast<double>(plan.slice) / slice.seconds, slice.latencies));
  }
  fmt::print("{}: {}\n{} clients of {} members for {:.1f} s, {} operations, {} failed\n\n",
             plan.workload->name, plan.workload->operation, plan.clients, report.members.size(),
             report.seconds, with_commas(report.latencies.count()), with_commas(report.failed()));
  fmt::print("{}", table.to_string());
  for (const auto& [what, times] : report.counts)
    fmt::print("\n{} {}, {:.0f} per second\n", with_commas(times), what,
               static_cast<double>(times) / report.seconds);
  for (const auto& [what, times] : report.errors) fmt::print("{} times: {}\n", with_commas(times), what);
  const auto operations = static_cast<double>(std::max<std::uint64_t>(1, report.latencies.count()));
  fmt::print(
      "\nThe load itself took {:.1f} µs of CPU an operation; its busiest thread worked {:.0f} % of the time",
      report.processor_seconds * 1e6 / operations, report.busiest * 100);
  fmt::print(" and waited\nfor a processor {:.0f} %.", report.kept_waiting * 100);
  if (report.busiest + report.kept_waiting > busy)
    fmt::print(" {}", paint("The servers may be quicker than that: it was the load that could do no more.",
                            Colour::yellow));
  fmt::print("\n");
}

int bench_etcd(const Flags& flags) {
  const load::Plan plan = plan_of(flags);
  if (plan.channel.endpoints.empty()) return complain("bench: --endpoints names no server");
  if (plan.threads == 0) return complain("bench: --clients must be at least 1");
  if (plan.slice > 0 && plan.count / plan.slice > load::most_slices)
    return complain(fmt::format("bench: --slice makes more than {} slices of --count", load::most_slices));
  const bool tell = on_terminal(stderr);
  const auto report = load::run(plan, [&](const load::Progress& progress) {
    if (tell)
      fmt::print(stderr, "\r\x1b[K{}{}: {} after {:.0f} s", flags.workload,
                 progress.filling ? ", putting its keys there" : "", with_commas(progress.done),
                 progress.seconds);
  });
  if (tell) fmt::print(stderr, "\r\x1b[K");
  if (!report) {
    fmt::print(stderr, "conclave: bench: {}\n", report.error());
    return no_service;
  }
  if (flags.json)
    fmt::print("{}\n", to_json(plan, *report).dump());
  else
    print_report(plan, *report);
  return report->latencies.count() > 0 ? ok : property_failed;
}

std::string footer() {
  std::string text = "Workloads, and what is counted as an operation:\n";
  for (const Workload& workload : load::workloads())
    text += fmt::format("  {:26} {}\n", workload.name, workload.operation);
  return text +
         "\nExamples:\n"
         "  conclave bench etcd --workload put --clients 64 --endpoints 127.0.0.1:2379,127.0.0.1:3379\n"
         "  conclave bench etcd --workload watch --watchers 1000 --clients 16 --seconds 10\n"
         "  conclave bench etcd --workload lock-contended --clients 16 --json\n"
         "  conclave bench etcd --workload age --count 2000000 --slice 100000";
}

}  // namespace

void add_bench_etcd(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<Flags>();
  load::Plan& plan = flags->plan;
  CLI::App* verb = bench.add_subcommand(
      "etcd", "put load on running servers of etcd's API: keys, locks, elections, leases, watches");
  add_server_flags(*verb, flags->servers);
  verb->add_option("--workload", flags->workload, "what every client does")
      ->required()
      ->check(CLI::IsMember(names()));
  verb->add_option("--clients", flags->clients,
                   "a connection each, spread over the endpoints (what is usual for the workload)")
      ->check(CLI::Range(1, 10'000));
  CLI::Option* seconds = verb->add_option("--seconds", flags->seconds, "for how long (5)");
  seconds->check(CLI::Range(0.1, 86'400.0));
  verb->add_option("--count", flags->count, "so many operations instead")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->excludes(seconds);
  verb->add_option("--slice", flags->slice, "a figure for every so many operations as well")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  verb->add_option("--size", plan.value_bytes, "bytes of a value (256)")->check(CLI::Range(0, 1'000'000));
  verb->add_option("--keys", plan.keys, "that are put, got and walked over (100,000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
  verb->add_option("--key-size", plan.key_bytes, "bytes of a key, at least (as long as it must be)")
      ->check(CLI::Range(0, 4'096));
  verb->add_option("--leases", plan.leases, "of each client that keeps leases alive (100)")
      ->check(CLI::Range(1, 100'000));
  verb->add_option("--watchers", plan.watchers, "of the one key that is watched, a connection each (64)")
      ->check(CLI::Range(1, 10'000));
  verb->add_option("--page", plan.page, "keys of one (1,000)")->check(CLI::Range(1, 100'000));
  verb->add_option("--ttl", plan.ttl, "seconds of a lease (60)")->check(CLI::Range(5, 3'600));
  verb->add_option("--prefix", plan.prefix, "what all keys and names begin with (bench/)");
  verb->add_option("--first", flags->first, "the endpoint that the first client is at (1)")
      ->check(CLI::Range(1, 100));
  verb->add_option("--threads", plan.threads, "that the clients share (1)")->check(CLI::Range(1, 16));
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer(footer());
  verb->callback([flags, &action] { action = [flags] { return bench_etcd(*flags); }; });
}

}  // namespace conclave::cli
