// conclave bench: what locks cost on this machine, beside what its network costs by itself.
#include "cli/bench.hpp"

#include <nlohmann/json.hpp>

#include "catalogue/engines.hpp"
#include "cli/servers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- one lock

struct LockFlags {
  ServerFlags servers;
  std::string name = "bench";
  std::uint64_t entries = 1000;
  std::uint32_t ttl = 10;
  std::string fences;
  bool json = false;
};

int bench_lock(const LockFlags& flags) {
  const auto client = connect_to(flags.servers);
  if (!client) return complain_of("bench", client.error());
  const auto load =
      load_lock(*client, flags.name, flags.entries, std::chrono::seconds(flags.ttl), flags.fences);
  if (!load) {
    fmt::print(stderr, "conclave: {}\n", load.error());
    return no_service;
  }
  if (flags.json) {
    const Json out = {
        {"entries", load->entries},
        {"seconds", load->seconds},
        {"acquire_us",
         {{"p50", load->acquire_p50}, {"p99", load->acquire_p99}, {"most", load->acquire_most}}},
        {"entry_us", load->entry_p50},
        {"first_fence", load->first_fence},
        {"last_fence", load->last_fence}};
    fmt::print("{}\n", out.dump());
  } else {
    fmt::print(
        "{} entries, {:.0f} per second; to get in: {:.0f} µs (median), {:.0f} µs (99 of 100), {:.0f} µs at "
        "most\n",
        load->entries, static_cast<double>(load->entries) / load->seconds, load->acquire_p50,
        load->acquire_p99, load->acquire_most);
  }
  return ok;
}

// ---- every engine

struct LiveFlags {
  std::vector<std::string> engines;
  std::vector<std::uint32_t> members = {3, 5};
  std::uint64_t entries = 2000;
  bool json = false;
};

struct Row {
  std::string engine;
  std::uint32_t members;
  GroupLoad alone;
  GroupLoad all;
  double hops;
  double limit;  // microseconds that the hops of an entry take by themselves
  double ratio() const { return limit / alone.entry_p50; }
};

std::expected<Row, std::string> measure(const std::string& engine, std::uint32_t members,
                                        std::uint64_t entries) {
  // The network first and in the same minute: it is not the same machine all day.
  const auto round_trip = tcp_round_trip(64);
  if (!round_trip) return std::unexpected(round_trip.error());
  auto group = LocalGroup::start(engine, members);
  if (!group) return std::unexpected(group.error());
  const auto alone = load_group(**group, {1}, entries, "alone");
  if (!alone) return std::unexpected(alone.error());
  // Plain Maekawa may deadlock when several ask at once.
  GroupLoad together;
  if (engine != "maekawa") {
    std::vector<std::uint32_t> everybody;
    for (std::uint32_t member = 1; member <= members; ++member) everybody.push_back(member);
    const auto all = load_group(**group, everybody, entries / members, "together");
    if (!all) return std::unexpected(all.error());
    together = *all;
  }
  // Lock and Unlock are a call each, there and back; in between the algorithm speaks.
  const double hops = 4 + client_delay(*catalogue::find(engine), members);
  return Row{engine, members, *alone, together, hops, hops * *round_trip / 2};
}

Json to_json(const Row& row) {
  return {{"engine", row.engine},
          {"members", row.members},
          {"hops", row.hops},
          {"limit_us", row.limit},
          {"alone",
           {{"per_second", row.alone.per_second},
            {"entry_us", row.alone.entry_p50},
            {"of_limit", row.ratio()},
            {"acquire_p50_us", row.alone.acquire_p50},
            {"acquire_p99_us", row.alone.acquire_p99}}},
          {"together", {{"per_second", row.all.per_second}, {"acquire_p99_us", row.all.acquire_p99}}}};
}

int bench_live(const LiveFlags& flags) {
  const std::vector<std::string> engines = flags.engines.empty() ? catalogue::lock_engines() : flags.engines;
  for (const std::string& name : engines) {
    const catalogue::Entry* entry = entry_or_complain(name);
    if (!entry) return usage_error;
    if (!entry->engine || entry->family != "mutex") return complain(fmt::format("{} is no lock", name));
  }
  std::vector<Row> rows;
  for (const std::uint32_t members : flags.members) {
    for (const std::string& engine : engines) {
      if (on_terminal(stderr)) fmt::print(stderr, "\r\x1b[K{} with {} members", engine, members);
      auto row = measure(engine, members, flags.entries);
      if (!row) {
        fmt::print(stderr, "conclave: {}: {}\n", engine, row.error());
        return property_failed;
      }
      rows.push_back(std::move(*row));
    }
  }
  if (on_terminal(stderr)) fmt::print(stderr, "\r\x1b[K");
  if (flags.json) {
    Json all = Json::array();
    for (const Row& row : rows) all.push_back(to_json(row));
    fmt::print("{}\n", all.dump(2));
  } else {
    using enum Table::Align;
    Table table({left, right, right, right, right, right, right, right, right});
    table.add(
        {"engine", "members", "hops", "limit µs", "entry µs", "of limit", "p99 µs", "alone/s", "together/s"});
    table.add_rule();
    for (const Row& row : rows)
      table.add({row.engine, std::to_string(row.members), fmt::format("{:g}", row.hops),
                 fmt::format("{:.0f}", row.limit), fmt::format("{:.0f}", row.alone.entry_p50),
                 fmt::format("{:.2f}", row.ratio()), fmt::format("{:.0f}", row.alone.acquire_p99),
                 fmt::format("{:.0f}", row.alone.per_second),
                 row.all.entries > 0 ? fmt::format("{:.0f}", row.all.per_second) : "-"});
    fmt::print("{}", table.to_string());
    fmt::print(
        "\nOne client enters again and again: its way in and out is so many messages one after the other.\n"
        "The limit is as many hops of a bare TCP ping-pong of 64 bytes between two processors, measured "
        "before\n"
        "each row; both are medians. p99 is from asking to entering. Together: one client at each member.\n");
  }
  const bool fences = std::ranges::all_of(rows, [](const Row& row) { return row.alone.fences_grow; });
  if (!fences) fmt::print(stderr, "conclave: a fence fell\n");
  return fences ? ok : property_failed;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("bench", "measure locks and servers, beside what the network costs");
  verb->require_subcommand(1);
  auto lock = std::make_shared<LockFlags>();
  CLI::App* one = verb->add_subcommand("lock", "take and give back one lock of a running group, or of etcd");
  one->add_option("--name", lock->name, "the lock");
  one->add_option("--entries", lock->entries, "how often")->check(CLI::Range(1, 10'000'000));
  one->add_option("--ttl", lock->ttl, "seconds of the lease (10)")->check(CLI::Range(1, 3600));
  one->add_option("--fences", lock->fences, "append every fence to this file while inside");
  one->add_flag("--json", lock->json, "for programs");
  add_server_flags(*one, lock->servers);
  one->footer("Example:\n  conclave bench lock --endpoints 127.0.0.1:2379 --entries 5000");
  one->callback([lock, &action] { action = [lock] { return bench_lock(*lock); }; });
  auto live = std::make_shared<LiveFlags>();
  CLI::App* all = verb->add_subcommand("live", "start groups on this machine, and measure every engine");
  all->add_option("--engines", live->engines, "only these")->delimiter(',');
  all->add_option("--members", live->members, "sizes of groups (3,5)")
      ->delimiter(',')
      ->check(CLI::Range(1, 31));
  all->add_option("--entries", live->entries, "for each measurement")->check(CLI::Range(10, 1'000'000));
  all->add_flag("--json", live->json, "for programs");
  all->footer("Example:\n  conclave bench live --engines ricart-agrawala,maekawa --members 3,5,7");
  all->callback([live, &action] { action = [live] { return bench_live(*live); }; });
  add_bench_raft(*verb, action);
  add_bench_failover(*verb, action);
  add_bench_etcd(*verb, action);
}

}  // namespace conclave::cli
