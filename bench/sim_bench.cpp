// How fast the simulator is, beside what the same work costs elsewhere in the same run of this program:
// on the least event loop one would write by hand, and on ns-3's bare scheduler. And what it allocates per
// message once warm, and what an idle node weighs. See RESULTS.md.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "counted_new.hpp"
#include "minimal_loop.hpp"
#include "ns3_loop.hpp"
#include "protocols/mutex/ricart_agrawala.hpp"
#include "protocols/mutex/token_ring.hpp"
#include "sim/world.hpp"
#include "workload.hpp"

namespace conclave::bench {
namespace {

constexpr unsigned rounds = 5;
constexpr double least_of_minimal = 1.0 / 3;
constexpr double most_megabytes_of_100k_ring = 30;

// The simulator.

sim::Options options_for(const Workload& workload) {
  const sim::Delay at_once = {sim::Delay::Shape::fixed, 0, 0};
  const sim::Delay delay = workload.spread ? sim::Delay{sim::Delay::Shape::uniform, least_delay, most_delay}
                                           : sim::Delay{sim::Delay::Shape::fixed, fixed_delay, fixed_delay};
  const bool ring = workload.kind == Workload::Kind::ring;
  sim::Options options = {.nodes = workload.nodes,
                          .entries = ring ? 0u : 1u,
                          .think = at_once,
                          .hold = at_once,
                          .delay = {.usual = delay},
                          .seed = seed,
                          .run_on = ring};
  // The ring's first step is no message: the timer by which the first node lets go of the token.
  if (ring) options.step_limit = workload.messages + 1;
  return options;
}

// Steps that deliver no message: that timer; of a client, one to ask and one to leave.
std::uint64_t other_steps(const Workload& workload) {
  return workload.kind == Workload::Kind::ring ? 1 : 2 * workload.nodes;
}

template <Protocol P>
Outcome run_world(const Workload& workload) {
  const auto world = std::make_unique<sim::World<P>>(options_for(workload), typename P::Setup{}, nullptr);
  world->begin();
  const Stopwatch watch;
  const sim::Report report = world->run();
  const double seconds = watch.seconds();
  ensure(report.broken.empty() && report.content, "the run went well");
  return {report.steps - other_steps(workload), seconds};
}

Outcome run_ours(const Workload& workload) {
  return workload.kind == Workload::Kind::ring ? run_world<mutex::TokenRing>(workload)
                                               : run_world<mutex::RicartAgrawala>(workload);
}

// Speed.

struct Contender {
  std::string name;
  std::function<Outcome(const Workload&)> run;
  double best_seconds = 1e300;  // of all rounds
};

struct Row {
  Workload workload;
  double ours;  // millions of messages per second, here and below
  double heap;
  double wheel;
  double ns3;  // 0 if it is not installed
  std::string ns3_scheduler;

  double to_minimal() const { return ours / std::max(heap, wheel); }
  double to_ns3() const { return ns3 == 0 ? 0 : ours / ns3; }
  bool good() const { return to_minimal() >= least_of_minimal && (ns3 == 0 || to_ns3() > 1); }
};

double measure(const Contender& contender, const Workload& workload) {
  double seconds = 0;
  for (std::uint32_t i = 0; i < workload.runs; ++i) {
    const Outcome outcome = contender.run(workload);
    ensure(outcome.delivered == workload.messages, "every contender delivers the same messages");
    seconds += outcome.seconds;
  }
  return seconds;
}

// The fastest in one run each: only that one goes on to the rounds.
std::string_view best_ns3_scheduler(const Workload& workload) {
  std::string_view best;
  double best_seconds = 1e300;
  for (const std::string_view scheduler : ns3_schedulers(workload)) {
    const double seconds = run_ns3(workload, scheduler).seconds;
    if (seconds < best_seconds) {
      best_seconds = seconds;
      best = scheduler;
    }
  }
  return best;
}

// Turn about, so that a slow spell of the machine hits all alike; the best of several rounds, since
// whatever else runs here only ever makes a round slower.
Row compare(const Workload& workload) {
  const std::string_view scheduler = best_ns3_scheduler(workload);
  std::vector<Contender> contenders = {
      {"ours", run_ours}, {"heap", run_minimal_on_heap}, {"wheel", run_minimal_on_wheel}};
  if (has_ns3) contenders.push_back({"ns-3", [&](const Workload& w) { return run_ns3(w, scheduler); }});
  for (unsigned round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders)
      contender.best_seconds = std::min(contender.best_seconds, measure(contender, workload));
  }
  const double millions = static_cast<double>(workload.messages * workload.runs) / 1e6;
  const auto rate = [&](std::size_t i) { return millions / contenders[i].best_seconds; };
  return {workload, rate(0), rate(1), rate(2), has_ns3 ? rate(3) : 0, std::string(scheduler)};
}

std::vector<Workload> workloads(std::uint64_t share) {
  std::vector<Workload> all;
  for (const std::uint32_t nodes : {1'000u, 100'000u, 1'000'000u})
    all.push_back({Workload::Kind::ring, nodes, 20'000'000 / share, 1});
  for (const bool spread : {false, true}) {
    for (const std::uint32_t nodes : {100u, 1'000u}) {
      const auto runs = static_cast<std::uint32_t>(nodes == 100 ? 200 / share : 1);
      all.push_back({Workload::Kind::burst, nodes, 2ull * nodes * (nodes - 1), runs, spread});
    }
  }
  return all;
}

// Allocations. A run cannot be watched from within, so two runs of different length are: what the longer
// one allocates more, it allocates in steady state.

struct SteadyState {
  std::string name;
  std::uint64_t messages = 0;     // by which the longer run is longer
  std::uint64_t allocations = 0;  // that it makes more
  std::uint64_t warming_up = 0;   // allocations of the shorter run: not 0, or the counting is broken
};

struct Tally {
  std::uint64_t messages;
  std::uint64_t allocations;
};

template <Protocol P>
Tally tally(const sim::Options& options) {
  const auto world = std::make_unique<sim::World<P>>(options, typename P::Setup{}, nullptr);
  start_counting();
  const sim::Report report = world->run();
  const std::uint64_t count = counted().count;
  stop_counting();
  return {report.messages, count};
}

SteadyState difference(std::string name, const Tally& longer, const Tally& shorter) {
  ensure(shorter.allocations > 0, "a run that starts cold allocates something");
  return {std::move(name), longer.messages - shorter.messages, longer.allocations - shorter.allocations,
          shorter.allocations};
}

SteadyState steady_ring(std::uint64_t messages) {
  Workload workload = {Workload::Kind::ring, 1'000, messages, 1};
  const Tally shorter = tally<mutex::TokenRing>(options_for(workload));
  workload.messages *= 2;
  return difference("token ring, 1000 nodes", tally<mutex::TokenRing>(options_for(workload)), shorter);
}

SteadyState steady_burst(std::uint32_t nodes, bool spread) {
  const Workload workload = {Workload::Kind::burst, nodes, 0, 1, spread};
  sim::Options options = options_for(workload);
  options.entries = 4;
  const Tally shorter = tally<mutex::RicartAgrawala>(options);
  options.entries = 8;
  return difference(workload.name(), tally<mutex::RicartAgrawala>(options), shorter);
}

// Memory.

struct Weight {
  std::uint32_t nodes;
  double heap_bytes;      // that operator new handed out, and that are still in use after a lap
  double resident_bytes;  // by which the process grew
  double process_bytes;   // all that is resident, ns-3's library included
};

double resident_now() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Weight weigh_ring(std::uint32_t nodes) {
  const double before = resident_now();
  start_counting();
  const Workload one_lap = {Workload::Kind::ring, nodes, nodes, 1};
  const auto world = std::make_unique<sim::World<mutex::TokenRing>>(options_for(one_lap),
                                                                    mutex::TokenRing::Setup{}, nullptr);
  world->run();
  const auto bytes = static_cast<double>(counted().live_bytes);
  stop_counting();
  const double after = resident_now();
  return {nodes, bytes, after - before, after};
}

// The whole.

struct Results {
  std::vector<Weight> weights;
  std::vector<SteadyState> steady;
  std::vector<Row> rows;
};

Results run_all(std::uint64_t share) {
  Results results;
  // Memory first: later, the process keeps what earlier runs have freed.
  for (const std::uint32_t nodes : {100'000u, 1'000'000u}) results.weights.push_back(weigh_ring(nodes));
  // From here on, freed memory stays with the process. Otherwise every run of a burst would begin with
  // page faults, for all contenders alike, and much of what we compare would be the kernel.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  results.steady.push_back(steady_ring(2'000'000 / share));
  for (const bool spread : {false, true}) results.steady.push_back(steady_burst(100, spread));
  for (const Workload& workload : workloads(share)) results.rows.push_back(compare(workload));
  return results;
}

bool allocates_nothing(const Results& results) {
  return std::ranges::all_of(results.steady, [](const SteadyState& s) { return s.allocations == 0; });
}

const char* mark(bool good) { return good ? "ok" : "BELOW GOAL"; }

void print_table(const Results& results) {
  fmt::print("Millions of messages per second, best of {} rounds taken turn about\n", rounds);
  fmt::print("{:<48} {:>10} {:>7} {:>7} {:>7} {:>7} {:>10} {:>13}\n", "workload", "messages", "ours", "heap",
             "wheel", "ns-3", "ours/ns-3", "ours/minimal");
  for (const Row& row : results.rows) {
    fmt::print("{:<48} {:>10} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>10.2f} {:>13.2f}  {}\n",
               row.workload.name(), row.workload.messages * row.workload.runs, row.ours, row.heap, row.wheel,
               row.ns3, row.to_ns3(), row.to_minimal(), mark(row.good()));
  }
  fmt::print("Goals: ours/ns-3 above 1, ours/minimal at least 1/3 of the better of heap and wheel.\n");
  if (!has_ns3) fmt::print("ns-3 is not installed (Debian: libns3-dev): its columns are empty.\n");
  for (const Row& row : results.rows) {
    if (has_ns3) fmt::print("  ns-3's fastest for {}: {}\n", row.workload.name(), row.ns3_scheduler);
  }
  fmt::print("\nAllocations in steady state\n");
  for (const SteadyState& steady : results.steady) {
    fmt::print("{:<48} {:>4} in {} messages, after {} to warm up  {}\n", steady.name, steady.allocations,
               steady.messages, steady.warming_up, mark(steady.allocations == 0));
  }
  fmt::print("\nMemory of an idle ring after one lap\n");
  for (const Weight& weight : results.weights) {
    const bool good = weight.nodes > 100'000 || weight.process_bytes <= most_megabytes_of_100k_ring * 1e6;
    fmt::print(
        "{:>9} nodes: {:.1f} MB on the heap, {:.0f} bytes per node; process {:+.1f} to {:.1f} MB  {}\n",
        weight.nodes, weight.heap_bytes / 1e6, weight.heap_bytes / weight.nodes, weight.resident_bytes / 1e6,
        weight.process_bytes / 1e6, mark(good));
  }
}

void print_json(const Results& results) {
  nlohmann::ordered_json out;
  for (const Row& row : results.rows) {
    out["speed"].push_back({{"workload", row.workload.name()},
                            {"messages", row.workload.messages * row.workload.runs},
                            {"ours", row.ours},
                            {"heap", row.heap},
                            {"wheel", row.wheel},
                            {"ns3", row.ns3},
                            {"ns3_scheduler", row.ns3_scheduler},
                            {"ours_to_ns3", row.to_ns3()},
                            {"ours_to_minimal", row.to_minimal()},
                            {"ok", row.good()}});
  }
  for (const SteadyState& steady : results.steady)
    out["allocations"].push_back({{"workload", steady.name},
                                  {"messages", steady.messages},
                                  {"allocations", steady.allocations},
                                  {"warming_up", steady.warming_up}});
  for (const Weight& weight : results.weights)
    out["memory"].push_back({{"nodes", weight.nodes},
                             {"heap_bytes", weight.heap_bytes},
                             {"resident_bytes", weight.resident_bytes},
                             {"process_bytes", weight.process_bytes}});
  fmt::print("{}\n", out.dump(2));
}

int main_with(const std::vector<std::string_view>& arguments) {
  bool json = false;
  std::uint64_t share = 1;  // the ring's messages and the bursts' repetitions are divided by it
  for (const std::string_view argument : arguments) {
    if (argument == "--json") {
      json = true;
    } else if (argument == "--quick") {
      share = 10;
    } else {
      fmt::print(stderr, "sim_bench: '{}' is unknown; use --quick (a tenth of the work), --json\n", argument);
      return 2;
    }
  }
  const Results results = run_all(share);
  json ? print_json(results) : print_table(results);
  return allocates_nothing(results) ? 0 : 1;
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) { return conclave::bench::main_with({argv + 1, argv + argc}); }
