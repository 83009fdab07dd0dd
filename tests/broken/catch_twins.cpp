// Every broken twin must be caught: by an exploration of a small configuration in which the original keeps
// all it claims, or, where the algorithm is not for the checker, by the simulator within 1,000 seeds, or as
// many as it names. Prints where, by which property, and in how many steps.
//
//   catch_twins [PART [NEEDS]]    only those whose name contains it, as in ricart-agrawala/deaf_clock; by
//                                 exploring another configuration than each of them names (ladder.hpp)
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "catalogue/judge.hpp"
#include "ladder.hpp"
#include "sim/seeds.hpp"

namespace {

using namespace conclave;
using broken::Configuration;
using broken::Twin;

struct Caught {
  std::string configuration = {};
  std::string states = "-";
  std::string property = {};
  std::string after = {};     // how many steps, or with which seed
  bool original_too = false;  // the algorithm itself fails there: no proof of anything
};

// --- By the checker ----------------------------------------------------------------------------------------

constexpr std::uint64_t most_states = 2'000'000;         // of one configuration
constexpr std::uint64_t most_states_in_all = 8'000'000;  // of a twin

struct Complaint {
  std::string property = {};
  std::optional<std::uint32_t> steps = {};  // none: it is about all runs together
};

// The shortest first.
std::vector<Complaint> complaints(const check::Report& report, const Configuration& configuration) {
  std::vector<Complaint> all;
  for (const check::Finding& finding : report.findings) all.push_back({finding.property, finding.steps});
  if (!report.complete) return all;
  const auto sent = report.figures.find("messages at most");
  if (configuration.most_messages && sent != report.figures.end() &&
      sent->second > *configuration.most_messages)
    all.push_back({fmt::format("messages<={}", *configuration.most_messages)});
  for (const auto& [what, seen] : report.sometimes) {
    if (!seen) all.push_back({"never: " + what});
  }
  return all;
}

// In the same configuration, as deep as the twin's mistake lies there and among about as many states.
bool original_fails_too(const Twin& twin, Configuration configuration, const Complaint& caught,
                        std::uint64_t states) {
  check::Options& options = configuration.plan.options;
  options.max_states = 10 * most_states;
  if (caught.steps && !options.starvation) {
    options.max_depth = *caught.steps;
    options.max_states = std::max<std::uint64_t>(2 * states, 100'000);
  }
  const check::Report report = catalogue::explore(*catalogue::find(twin.entry.name), configuration.plan);
  return std::ranges::any_of(complaints(report, configuration), [&](const Complaint& other) {
    return other.steps.has_value() || other.property == caught.property;
  });
}

// What never happens may not happen for want of budget: then it is no complaint about the twin.
std::optional<Caught> judge(const Twin& twin, const Configuration& configuration,
                            const check::Report& report) {
  for (const Complaint& complaint : complaints(report, configuration)) {
    const bool original_too = original_fails_too(twin, configuration, complaint, report.states);
    if (original_too && !complaint.steps) continue;
    return Caught{.configuration = configuration.words,
                  .states = fmt::format("{}", report.states),
                  .property = complaint.property,
                  .after = complaint.steps ? fmt::format("{} steps", *complaint.steps) : "all runs",
                  .original_too = original_too};
  }
  return std::nullopt;
}

std::optional<Caught> explore_twin(const Twin& twin) {
  std::uint64_t in_all = 0;
  for (Configuration& configuration : configurations(twin)) {
    if (in_all >= most_states_in_all) break;
    configuration.plan.options.max_states = twin.needs.empty() ? most_states : 10 * most_states;
    const check::Report report = catalogue::explore(twin.entry, configuration.plan);
    in_all += report.states;
    if (auto caught = judge(twin, configuration, report)) return caught;
  }
  return std::nullopt;
}

// --- By the simulator --------------------------------------------------------------------------------------

struct Runs {
  std::vector<std::uint32_t> sizes = {2, 3, 5, 8, 1};  // small ones first: a failure there is easy to read
  std::uint64_t first = 1;                             // seed
  std::uint64_t seeds = 1000;                          // of each
  std::string variant = {};
  std::string faults = "all";
  bool fifo = false;
  std::map<std::string, std::string> parameters = {};
};

Runs runs_of(const Twin& twin) {
  Runs runs;
  if (twin.needs.empty()) return runs;
  std::istringstream words(twin.needs);
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "nodes") {
      runs.sizes = {static_cast<std::uint32_t>(std::stoul(value))};
    } else if (name == "seeds") {
      runs.seeds = std::stoull(value);
    } else if (name == "from") {
      runs.first = std::stoull(value);
    } else if (name == "variant") {
      runs.variant = value;
    } else if (name == "faults") {
      runs.faults = value;
    } else if (name == "fifo") {
      runs.fifo = value == "1";
    } else if (name.starts_with("set:")) {
      runs.parameters[name.substr(4)] = value;
    } else {
      throw std::invalid_argument(
          "a simulated twin needs nodes=N from=SEED seeds=N variant=NAME faults=LIST fifo=1 set:NAME=VALUE, "
          "not '" +
          twin.needs + "'");
    }
  }
  return runs;
}

std::optional<Caught> simulate_twin(const Twin& twin) {
  const Runs runs = runs_of(twin);
  for (const std::uint32_t nodes : runs.sizes) {
    if (nodes < twin.entry.least_nodes) continue;
    sim::Options options = {.nodes = nodes, .entries = 3, .chatter = 0.5, .step_limit = 1'000'000};
    options.think = {sim::Delay::Shape::uniform, 0, 60};
    if (twin.entry.usual) twin.entry.usual(options);
    options.faults = sim::Faults::parse(runs.faults, twin.entry.assumes, false).value();
    if (runs.fifo) options.fifo = true;
    catalogue::Setting setting = {.protocol = std::string(twin.entry.name),
                                  .members = twin.entry.members(nodes)};
    if (!runs.variant.empty()) setting.variant = runs.variant;
    setting.parameters = runs.parameters;
    const auto run = [&](std::uint64_t seed) {
      options.seed = setting.seed = seed;
      return catalogue::judge(twin.entry, options, setting);
    };
    const auto outcome = sim::run_seeds(
        runs.first, runs.seeds, 1, [&](std::uint64_t seed) { return run(seed).failure; },
        [](std::uint64_t) {});
    if (!outcome.failure) continue;
    return Caught{
        .configuration = fmt::format("N={}{}{}", nodes, runs.variant.empty() ? "" : " ", runs.variant),
        .property = run(outcome.failure->seed).failed,
        .after = fmt::format("seed {}", outcome.failure->seed)};
  }
  return std::nullopt;
}

// --- All of them -------------------------------------------------------------------------------------------

struct Row {
  const Twin* twin = nullptr;
  std::optional<Caught> caught = {};
  std::string error = {};
};

std::string name_of(const Twin& twin) { return fmt::format("{}/{}", twin.entry.name, twin.name); }

void fill(Row& row) {
  try {
    row.caught = row.twin->is_checked() ? explore_twin(*row.twin) : simulate_twin(*row.twin);
  } catch (const std::exception& wrong) {
    row.error = wrong.what();
  }
}

void fill_all(std::vector<Row>& rows) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) fill(rows[i]);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
}

// Whether it is as it should be.
bool print(const Row& row) {
  const Twin& twin = *row.twin;
  std::string verdict = "NOT CAUGHT";
  if (!row.error.empty()) verdict = "ERROR " + row.error;
  if (row.caught) {
    const Caught& caught = *row.caught;
    verdict =
        fmt::format("{:<52} {:>7}  {:<35} {:>8}{}", caught.configuration, caught.states, caught.property,
                    caught.after, caught.original_too ? "  THE ORIGINAL FAILS TOO" : "");
  }
  fmt::print("{:<46} {:<60} {:<5} {}\n", name_of(twin), twin.what, twin.is_checked() ? "check" : "sim",
             verdict);
  return row.caught && !row.caught->original_too;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  std::vector<Twin> twins = broken::all_twins();
  std::vector<Row> rows;
  for (Twin& twin : twins) {
    if (argc > 2) twin.needs = argv[2];
    if (name_of(twin).find(part) != std::string::npos) rows.push_back({&twin});
  }
  fill_all(rows);
  fmt::print("{:<46} {:<60} {:<5} {:<52} {:>7}  {:<35} {:>8}\n", "twin", "what it does wrong", "world",
             "configuration", "states", "caught by", "after");
  std::size_t missed = 0;
  for (const Row& row : rows) {
    if (!print(row)) ++missed;
  }
  fmt::print("{} twins, {} caught, {} missed\n", rows.size(), rows.size() - missed, missed);
  return missed == 0 && !rows.empty() ? 0 : 1;
}
