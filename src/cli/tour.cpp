// conclave tour: five real members on this machine, under every algorithm in turn. What `make run` shows.
#include <signal.h>

#include <chrono>
#include <thread>

#include "catalogue/compare.hpp"
#include "catalogue/engines.hpp"
#include "cli/bench.hpp"
#include "cli/desks.hpp"
#include "cli/local_group.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Error = std::unexpected<std::string>;

struct Flags {
  std::uint32_t members = 5;
  std::uint64_t entries = 100;
  std::vector<std::string> engines;
  bool ends = false;
};

std::vector<std::uint32_t> everybody(const LocalGroup& group, std::uint32_t but = 0) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t member = 1; member <= group.size(); ++member) {
    if (member != but) members.push_back(member);
  }
  return members;
}

ServerFlags desks(const LocalGroup& group, const std::vector<std::uint32_t>& members) {
  ServerFlags flags = {.endpoints = ""};
  for (const std::uint32_t member : members) flags.endpoints += group.endpoint(member) + ",";
  return flags;
}

// Of the algorithm, by all members since their start.
std::uint64_t messages(const LocalGroup& group) {
  std::uint64_t sum = 0;
  for (const Asked& asked : ask_status(desks(group, everybody(group)))) {
    if (asked.status) sum += asked.status->messages();
  }
  return sum;
}

std::string after(Clock::time_point begin) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(Clock::now() - begin).count());
}

// ---- locks

// The greatest member dies: it runs the server of algorithms that have one, and may have the token.
std::string kill_one(LocalGroup& group, bool goes_on) {
  const std::uint32_t victim = group.size();
  group.kill(victim);
  const auto begin = Clock::now();
  if (!goes_on) return "the others wait for it";
  const auto load = load_group(group, {1}, 1, "after");
  if (!load) return paint("nobody gets in: " + load.error(), Colour::red);
  return "goes on after " + after(begin);
}

std::expected<void, std::string> tour_lock(const Flags& flags, const catalogue::Entry& entry, Table& table) {
  const live::Engine engine = catalogue::engine_of(entry, {});
  const bool alone = entry.name == "maekawa";  // several at once may deadlock, as published
  const auto simulated = catalogue::compare(entry, flags.members, alone, !alone, 1);
  auto group = LocalGroup::start(std::string(entry.name), flags.members, {"--down-after", "0.5"});
  if (!group) return Error(group.error());
  const auto warm = load_group(**group, {1}, 1, "warm");  // the links stand
  if (!warm) return Error(warm.error());
  const std::uint64_t before = messages(**group);
  const auto load = load_group(**group, alone ? std::vector<std::uint32_t>{1} : everybody(**group),
                               alone ? flags.entries * flags.members : flags.entries, "tour");
  if (!load) return Error(load.error());
  // Each client's first entry is not among those that it timed, and sends messages all the same.
  const auto entries = static_cast<double>(load->entries + (alone ? 1 : flags.members));
  const double per_entry = static_cast<double>(messages(**group) - before) / entries;
  const auto& foretold = alone ? simulated.light : simulated.heavy;
  table.add({std::string(entry.name),
             foretold && foretold->messages ? fmt::format("{:.2f}", foretold->messages->value) : "-",
             fmt::format("{:.2f}", per_entry), fmt::format("{:.0f}", load->per_second),
             fmt::format("{:.0f}", load->acquire_p50), fmt::format("{:.0f}", load->acquire_p99),
             load->fences_grow ? paint("grow", Colour::green) : paint("FELL", Colour::red),
             kill_one(**group, engine.regenerates)});
  return load->fences_grow ? std::expected<void, std::string>() : Error("a fence fell");
}

// ---- elections

// The one whom all of these members take for the leader.
std::optional<std::uint64_t> agreed(const LocalGroup& group, const std::vector<std::uint32_t>& members) {
  std::optional<std::uint64_t> leader;
  for (const Asked& asked : ask_status(desks(group, members))) {
    if (!asked.status || asked.status->names_size() == 0) return {};
    const std::uint64_t theirs = asked.status->names(0).leader().member();
    if (theirs == 0 || (leader && *leader != theirs)) return {};
    leader = theirs;
  }
  return leader;
}

std::optional<std::uint64_t> wait_for_leader(const LocalGroup& group,
                                             const std::vector<std::uint32_t>& members) {
  const auto end = Clock::now() + 30s;
  while (Clock::now() < end) {
    if (const auto leader = agreed(group, members)) return leader;
    std::this_thread::sleep_for(20ms);
  }
  return {};
}

std::expected<void, std::string> tour_election(const Flags& flags, const catalogue::Entry& entry,
                                               Table& table) {
  auto group = LocalGroup::start(std::string(entry.name), flags.members, {"--down-after", "0.5"});
  if (!group) return Error(group.error());
  // Whoever asks who leads makes its member take part.
  for (const std::uint32_t member : everybody(**group)) {
    const auto asks = (*group)->run({"leader", "tour", "--endpoints", (*group)->endpoint(member)},
                                    (*group)->folder() + "/leader");
    if (asks) (void)(*group)->wait(*asks, 20s);
  }
  const auto first = wait_for_leader(**group, everybody(**group));
  if (!first) return Error("the members do not agree on a leader");
  const auto victim = static_cast<std::uint32_t>(*first);
  (*group)->kill(victim);
  const auto begin = Clock::now();
  const std::vector<std::uint32_t> left = everybody(**group, victim);
  std::optional<std::uint64_t> second = first;
  while (second && second == first && Clock::now() - begin < 30s) second = wait_for_leader(**group, left);
  if (!second || second == first) return Error("the members do not agree on another leader");
  table.add({std::string(entry.name), fmt::format("member {}", *first), fmt::format("member {}", *second),
             after(begin)});
  return {};
}

// ---- all of it

void say(std::string_view what) {
  if (on_terminal(stderr)) fmt::print(stderr, "\r\x1b[K{}", what);
}

// Stays up until somebody has seen enough.
int stay(const Flags& flags) {
  auto group = LocalGroup::start("ricart-agrawala", flags.members);
  if (!group) return complain(group.error());
  const std::string first = (*group)->endpoint(1);
  fmt::print(
      "\n{} members are up, ricart-agrawala. In other terminals:\n\n"
      "  export CONCLAVE_ENDPOINTS={}\n"
      "  build/release/conclave lock printer -- sh -c 'echo I have it, fence $CONCLAVE_FENCE; sleep 10'\n"
      "  build/release/conclave status --endpoints {}\n\n"
      "Press Ctrl-C to end.\n",
      flags.members, first, (*group)->all_endpoints());
  std::fflush(stdout);
  sigset_t signals;  // the members do not inherit this: they were started before
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  int received = 0;
  ::sigwait(&signals, &received);
  fmt::print("\n");
  return ok;
}

int tour(const Flags& flags) {
  const std::vector<std::string> engines = flags.engines.empty() ? catalogue::engines() : flags.engines;
  using enum Table::Align;
  Table locks({left, right, right, right, right, right, left, left});
  locks.add(
      {"lock", "messages sim", "live", "entries/s", "p50 µs", "p99 µs", "fences", "after kill -9 of one"});
  locks.add_rule();
  Table elections({left, left, left, left});
  elections.add({"election", "leader", "after kill -9 of it", "within"});
  elections.add_rule();
  bool fine = true;
  bool any_lock = false;
  bool any_election = false;
  for (const std::string& name : engines) {
    const catalogue::Entry* entry = entry_or_complain(name);
    if (!entry) return usage_error;
    if (!entry->engine) return complain(fmt::format("{} does not run as a service", name));
    say(fmt::format("{}: {} members, real processes", name, flags.members));
    const bool lock = entry->family == "mutex";
    (lock ? any_lock : any_election) = true;
    const auto done = lock ? tour_lock(flags, *entry, locks) : tour_election(flags, *entry, elections);
    if (done) continue;
    say("");
    fmt::print(stderr, "conclave: {}: {}\n", name, done.error());
    fine = false;
  }
  say("");
  fmt::print(
      "{} members on this machine, each a process; a client process at each takes the lock {} times.\n\n",
      flags.members, flags.entries);
  if (any_lock) fmt::print("{}\n", locks.to_string());
  if (any_lock)
    fmt::print(
        "Messages per entry between members, beside those of the simulator under heavy load. A server runs\n"
        "beside one of the members, and what those two say to each other is not counted. p50 and p99 are "
        "from\n"
        "asking until entering, at the slowest client. maekawa has one client: several may deadlock.\n\n");
  if (any_election) fmt::print("{}", elections.to_string());
  if (!fine) return property_failed;
  if (flags.ends || !on_terminal(stdout) || !on_terminal(stdin)) return ok;
  return stay(flags);
}

}  // namespace

void add_tour(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "tour",
      "start real members under every algorithm in turn, contend, kill one, and show what came of it");
  verb->add_option("--members", flags->members, "of each group (5)")->check(CLI::Range(3, 15));
  verb->add_option("--entries", flags->entries, "of each client (100)")->check(CLI::Range(1, 100'000));
  verb->add_option("--engines", flags->engines, "only these")->delimiter(',');
  verb->add_flag("--end", flags->ends,
                 "end when the tables are printed; on a terminal a group stays up otherwise");
  verb->footer("Example:\n  conclave tour --engines token-ring,bully --end");
  verb->callback([flags, &action] { action = [flags] { return tour(*flags); }; });
}

}  // namespace conclave::cli
