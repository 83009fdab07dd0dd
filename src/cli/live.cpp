// conclave live: run one algorithm between real processes, judge what they did, and repeat it in the
// simulator.
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catalogue/directed.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "live/children.hpp"
#include "live/register_tally.hpp"
#include "sim/direct.hpp"
#include "trace/diagram.hpp"
#include "trace/merge.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_processes = 64;
constexpr std::int64_t most_entries = 1'000'000;
constexpr std::int64_t most_seconds = 3600;
constexpr std::uint32_t register_entries = 500;  // per process: an entry takes a microsecond or so
constexpr std::uint32_t usual_processes = 3;
// What is set unless the user says otherwise. Time-outs of elections are in ticks of a millisecond: processes
// share processors with whoever else is there. And what a simulated Raft draws from its seed is not left to
// chance here.
struct Usual {
  std::string_view family;
  std::string_view name;
  std::string_view value;
};
constexpr std::array<Usual, 5> usual_settings = {{{"election", "T_t", "100"},
                                                  {"election", "hop", "100"},
                                                  {"log", "patience", "300"},
                                                  {"log", "batch", "64"},
                                                  {"log", "extras", "1"}}};

struct Flags {
  std::string name;
  std::string variant = "canonical";
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> entries;
  std::optional<std::int64_t> patience;
  std::vector<std::string> set;
  std::string kill;
  std::uint64_t seed = 1;
  std::string trace;
  bool diagram = false;
  bool json = false;
};

struct Plan {
  const catalogue::Entry* entry = nullptr;
  sim::Options options = {};
  catalogue::Setting setting = {};
  std::vector<std::string> set = {};
  std::optional<NodeId> killed = {};
  std::uint32_t killed_after = 0;
  std::int64_t seconds = 20;
  std::vector<std::string> beyond = {};

  bool over_registers() const { return entry->family == "registers"; }
};

std::optional<std::string> parse_kill(const std::string& text, Plan& plan) {
  if (text.empty()) return std::nullopt;
  unsigned node = 0;
  unsigned after = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%9u@%9u%n", &node, &after, &used) != 2 ||
      static_cast<std::size_t>(used) != text.size())
    return fmt::format("--kill {}: write a process and after how many of its entries, as 2@1", text);
  if (!plan.setting.members.contains({node})) return fmt::format("--kill {}: there is no p{}", text, node);
  if (plan.over_registers())
    return "--kill: dead processes over shared registers are a matter of the lock file; see docs/live.md";
  plan.killed = NodeId{node};
  plan.killed_after = after;
  if (plan.entry->assumes.crashes == Crashes::none) plan.beyond.emplace_back("crash");
  return std::nullopt;
}

std::expected<Plan, std::string> make_plan(const Flags& flags) {
  Plan plan = {.entry = catalogue::find(flags.name), .set = flags.set};
  const catalogue::Entry& entry = *plan.entry;
  if (!entry.play)
    return std::unexpected(
        fmt::format("{} does not run like this; conclave catalogue --world live lists what does, or has a "
                    "verb of its own",
                    entry.name));
  if (const auto wrong = check_variant(entry, flags.variant)) return std::unexpected(*wrong);
  if (plan.over_registers() && flags.variant != "canonical")
    return std::unexpected("memory is what it is: over shared registers only 'canonical' runs");
  if (plan.over_registers() && (flags.diagram || !flags.trace.empty()))
    return std::unexpected(
        "instructions on real memory leave no trace: --trace and --diagram are for messages");
  sim::Options& options = plan.options;
  if (entry.usual) entry.usual(options);
  options.nodes = usual_processes;
  if (plan.over_registers()) options.entries = register_entries;
  options.starters = 0;
  options.seed = flags.seed;
  if (const auto wrong = set_number(flags.nodes, options.nodes, "--nodes", 1, most_processes))
    return std::unexpected(*wrong);
  if (const auto wrong = check_nodes(entry, options.nodes)) return std::unexpected(*wrong);
  if (const auto wrong = set_number(flags.entries, options.entries, "--entries", 0, most_entries))
    return std::unexpected(*wrong);
  if (const auto wrong = set_number(flags.patience, plan.seconds, "--patience", 1, most_seconds))
    return std::unexpected(*wrong);
  plan.setting = {.protocol = flags.name,
                  .variant = flags.variant,
                  .members = entry.members(options.nodes),
                  .seed = flags.seed};
  for (const auto& [family, name, value] : usual_settings) {
    if (family != entry.family) continue;
    if (std::ranges::find(entry.parameters, name, &catalogue::Parameter::name) != entry.parameters.end())
      plan.set.insert(plan.set.begin(), fmt::format("{}={}", name, value));
  }
  for (const std::string& assignment : plan.set) {
    if (const auto wrong = set_parameter(entry, plan.setting, assignment)) return std::unexpected(*wrong);
  }
  if (entry.refuse) {
    if (const auto wrong = entry.refuse(options, plan.setting)) return std::unexpected(*wrong);
  }
  if (const auto wrong = parse_kill(flags.kill, plan)) return std::unexpected(*wrong);
  return plan;
}

// --- The processes -----------------------------------------------------------------------------------------

// What the processes of a run leave behind.
struct Workshop : TemporaryFolder {
  std::string part(NodeId node) const { return file(fmt::format("p{}.jsonl", node.value)); }
  std::string data(NodeId node) const { return file(fmt::format("p{}.data", node.value)); }
  std::string said(NodeId node) const { return file(fmt::format("p{}.said", node.value)); }
};

std::vector<std::string> arguments_of(const Plan& plan, NodeId node, const std::vector<std::uint16_t>& ports,
                                      const Workshop& workshop) {
  std::vector<std::string> arguments = {"live-process", plan.setting.protocol,
                                        "--self",       std::to_string(node.value),
                                        "--ports",      fmt::format("{}", fmt::join(ports, ",")),
                                        "--variant",    plan.setting.variant,
                                        "--entries",    std::to_string(plan.options.entries),
                                        "--seed",       std::to_string(plan.setting.seed),
                                        "--patience",   std::to_string(plan.seconds),
                                        "--part",       workshop.part(node),
                                        "--shared",     workshop.file("registers"),
                                        "--data",       workshop.data(node)};
  for (const std::string& assignment : plan.set) arguments.insert(arguments.end(), {"--set", assignment});
  if (plan.killed == node)
    arguments.insert(arguments.end(), {"--dies-after", std::to_string(plan.killed_after)});
  if (plan.killed && plan.killed != node) arguments.emplace_back("--others-die");
  return arguments;
}

// Runs them all, and says what went wrong.
std::string run_processes(const Plan& plan, const Workshop& workshop) {
  const NodeSet& members = plan.setting.members;
  const auto ports = live::free_ports(members.size());
  if (!ports) return ports.error();
  live::Children children;
  std::size_t spared = live::Children::nobody;
  std::size_t next = 0;
  for (NodeId node : members) {
    if (plan.killed == node) spared = next;
    if (const auto started = children.start(arguments_of(plan, node, *ports, workshop), workshop.said(node));
        !started)
      return started.error();
    ++next;
  }
  constexpr auto grace = std::chrono::seconds(2);
  const auto departures = children.wait(std::chrono::seconds(plan.seconds) + grace, grace, spared);
  std::string problem;
  for (std::size_t i = 0; i < departures.size(); ++i) {
    const auto& [exited, status] = departures[i];
    if (i == spared || (exited && status == 0)) continue;
    const NodeId node = *std::next(members.begin(), static_cast<std::ptrdiff_t>(i));
    std::string why = read_file(workshop.said(node)).value_or("");
    while (!why.empty() && why.back() == '\n') why.pop_back();
    if (why.empty())
      why = exited ? fmt::format("it exited with {}", status) : fmt::format("signal {} ended it", status);
    // Who stopped first knows why; the others only waited for it.
    if (problem.empty() || !exited || status == property_failed)
      problem = fmt::format("p{}: {}", node.value, why);
  }
  return problem;
}

// --- What they did -----------------------------------------------------------------------------------------

std::expected<trace::Merged, std::string> collect(const Plan& plan, const Workshop& workshop) {
  std::vector<trace::Part> parts;
  for (NodeId node : plan.setting.members) {
    std::ifstream file(workshop.part(node), std::ios::binary);
    auto read = trace::read_parts(file, workshop.part(node));
    if (!read) return std::unexpected(read.error());
    std::ranges::move(*read, std::back_inserter(parts));
  }
  return trace::merge(parts, plan.killed ? NodeSet{*plan.killed} : NodeSet{});
}

void show(const trace::Run& run, trace::Observer& observer) {
  observer.begin(run.header);
  for (const trace::Step& step : run.steps) observer.see(step);
  observer.end(run.end);
}

std::string per_entry(const catalogue::Judged& judged) {
  if (judged.summary.entries.empty()) return "";
  return fmt::format(", {:.2f} per entry", static_cast<double>(judged.report.messages) /
                                               static_cast<double>(judged.summary.entries.size()));
}

struct Outcome {
  sim::Options options;  // as the judge sees them
  trace::Merged merged;
  std::string problem;  // of a process
  catalogue::Judged judged;
  catalogue::Directed replay;
  catalogue::Judged simulated;

  bool agrees() const { return replay.problem.empty(); }
  bool failed() const { return !problem.empty() || judged.failure || !agrees(); }
};

Outcome examine(const Plan& plan, trace::Merged merged, std::string problem) {
  Outcome outcome = {.options = plan.options, .merged = std::move(merged), .problem = std::move(problem)};
  const trace::Run& run = outcome.merged.run;
  sim::Options& options = outcome.options;
  // Messages take as long as they take.
  options.delay.usual = {sim::Delay::Shape::fixed, 0, 0};
  outcome.judged =
      catalogue::judge_run(*plan.entry, options, plan.setting, nullptr, [&](trace::Observer* observer) {
        sim::Tally tally;
        show(run, tally);
        show(run, *observer);
        return tally.report();
      });
  outcome.judged.seconds = static_cast<double>(run.end.at.count) / 1e6;
  outcome.replay = catalogue::repeat(*plan.entry, options, plan.setting, run);
  outcome.simulated = catalogue::judge(*plan.entry, plan.options, plan.setting);
  return outcome;
}

std::string parity(const Outcome& outcome) {
  if (!outcome.agrees())
    return fmt::format("{}: the simulator departs at {}", paint("differs", Colour::red),
                       outcome.replay.problem);
  return fmt::format("{}: the simulator took the same {} steps, and all states agree",
                     paint("holds", Colour::green), with_commas(outcome.merged.run.steps.size()));
}

std::string replay_command(const Flags& flags, const Plan& plan) {
  std::string command =
      fmt::format("conclave sim {} --script {}", flags.name, flags.trace.empty() ? "TRACE" : flags.trace);
  for (const std::string& assignment : plan.set) command += fmt::format(" --set {}", assignment);
  return command;
}

void print_outcome(const Flags& flags, const Plan& plan, const Outcome& outcome) {
  const trace::Run& run = outcome.merged.run;
  if (flags.diagram)
    fmt::print("{}\n",
               trace::draw_text(run.header, run.steps, {.colour = use_colour(), .width = terminal_width()}));
  std::string conditions =
      fmt::format("{} real processes on 127.0.0.1; a tick is a microsecond", plan.setting.members.size());
  for (const auto& [name, value] : plan.setting.parameters) conditions += fmt::format(", {} {}", name, value);
  if (plan.killed)
    conditions += fmt::format("; p{} was killed after {} of its own", plan.killed->value, plan.killed_after);
  const RunFacts facts = {
      .entry = *plan.entry, .options = outcome.options, .judged = outcome.judged, .beyond = plan.beyond};
  fmt::print("{}", report_text(facts, plan.setting.variant, conditions));
  fmt::print("\n  simulated  {} messages{}\n", with_commas(outcome.simulated.report.messages),
             per_entry(outcome.simulated));
  fmt::print("  parity     {}\n", parity(outcome));
  for (const std::string& remark : outcome.merged.remarks) fmt::print("  remark     {}\n", remark);
  if (!outcome.problem.empty()) fmt::print("  {}     {}\n", paint("problem", Colour::red), outcome.problem);
  if (!flags.trace.empty()) fmt::print("  replay     {}\n", replay_command(flags, plan));
}

void print_json(const Flags& flags, const Plan& plan, const Outcome& outcome) {
  const RunFacts facts = {
      .entry = *plan.entry, .options = outcome.options, .judged = outcome.judged, .beyond = plan.beyond};
  Json report = Json::parse(report_json(facts, plan.setting.variant, replay_command(flags, plan)));
  report["world"] = "live";
  report["processes"] = plan.setting.members.size();
  report["simulated"] = {{"messages", outcome.simulated.report.messages},
                         {"entries", outcome.simulated.summary.entries.size()}};
  report["parity"] = {{"steps", outcome.merged.run.steps.size()},
                      {"agrees", outcome.agrees()},
                      {"departure", outcome.agrees() ? Json() : Json(outcome.replay.problem)}};
  report["remarks"] = outcome.merged.remarks;
  report["problem"] = outcome.problem.empty() ? Json() : Json(outcome.problem);
  fmt::print("{}\n", report.dump(2));
}

int run_messages(const Flags& flags, const Plan& plan, const Workshop& workshop) {
  std::string problem = run_processes(plan, workshop);
  auto merged = collect(plan, workshop);
  if (!merged) {
    fmt::print(stderr, "conclave: {}\n", problem.empty() ? merged.error() : problem);
    return property_failed;
  }
  if (merged->run.steps.empty() && !problem.empty()) return complain(problem);  // nobody began
  if (!flags.trace.empty()) {
    OutputFile file(flags.trace);
    if (file.stream()) {
      trace::JsonWriter writer(file.stream());
      show(merged->run, writer);
    }
    if (const auto written = file.finish(); !written) return complain(written.error());
  }
  const Outcome outcome = examine(plan, std::move(*merged), std::move(problem));
  flags.json ? print_json(flags, plan, outcome) : print_outcome(flags, plan, outcome);
  return outcome.failed() ? property_failed : ok;
}

// Over shared memory nobody sees the order of instructions; what they protect says whether it was right.
int run_registers(const Flags& flags, const Plan& plan, const Workshop& workshop) {
  const std::string problem = run_processes(plan, workshop);
  const auto tally = live::RegisterTally::open(live::tally_of(workshop.file("registers")));
  if (!tally) return complain(tally.error());
  const std::uint64_t wanted = std::uint64_t{plan.options.nodes} * plan.options.entries;
  const std::uint64_t counted = (*tally)->entries();
  const bool exclusive =
      (*tally)->overlaps() == 0 && (problem.empty() ? counted == wanted : counted <= wanted);
  const bool fenced = (*tally)->stale_fences() == 0;
  const bool failed = !problem.empty() || !exclusive || !fenced;
  if (flags.json) {
    Json report = {{"protocol", plan.setting.protocol},
                   {"world", "live"},
                   {"processes", plan.options.nodes},
                   {"entries", counted},
                   {"entries_wanted", wanted},
                   {"overlaps", (*tally)->overlaps()},
                   {"stale_fences", (*tally)->stale_fences()},
                   {"last_fence", (*tally)->last_fence()},
                   {"problem", problem.empty() ? Json() : Json(problem)}};
    fmt::print("{}\n", report.dump(2));
    return failed ? property_failed : ok;
  }
  const auto verdict = [](bool holds) {
    return holds ? paint("holds", Colour::green) : paint("violated", Colour::red);
  };
  fmt::print("{}: {} real processes over shared memory, {} entries each\n\n", paint(flags.name, Colour::bold),
             plan.options.nodes, with_commas(plan.options.entries));
  fmt::print("  entries  {} of {}, as counted inside\n", with_commas(counted), with_commas(wanted));
  fmt::print("  EM1      {}: {} times two were inside\n", verdict(exclusive),
             with_commas((*tally)->overlaps()));
  fmt::print("  fence    {}: {} did not grow; the last is {}\n", verdict(fenced),
             with_commas((*tally)->stale_fences()), with_commas((*tally)->last_fence()));
  if (!problem.empty()) fmt::print("  {}  {}\n", paint("problem", Colour::red), problem);
  return failed ? property_failed : ok;
}

int run(const Flags& flags) {
  if (!entry_or_complain(flags.name)) return usage_error;
  if (flags.json && flags.diagram)
    return complain("--diagram is for people, --json for programs: give one of them");
  const auto plan = make_plan(flags);
  if (!plan) return complain(plan.error());
  const Workshop workshop;
  if (!workshop.there()) return complain("there is no folder for temporary files; set TMPDIR");
  return plan->over_registers() ? run_registers(flags, *plan, workshop)
                                : run_messages(flags, *plan, workshop);
}

// --- One of the processes ----------------------------------------------------------------------------------

struct ProcessFlags {
  Flags common = {};
  std::uint32_t self = 0;
  std::vector<std::uint16_t> ports = {};
  std::string part = {};
  std::string shared = {};
  std::string data = {};
  std::optional<std::uint32_t> dies_after = {};
  bool others_die = false;
};

int play(const ProcessFlags& flags) {
  const catalogue::Entry* const entry = entry_or_complain(flags.common.name);
  if (!entry || !entry->play) return usage_error;
  live::Casting casting = {.self = {flags.self},
                           .entries = static_cast<std::uint32_t>(flags.common.entries.value_or(0)),
                           .seed = flags.common.seed,
                           .dies_after = flags.dies_after,
                           .others_die = flags.others_die,
                           .patience = std::chrono::seconds(flags.common.patience.value_or(1)),
                           .shared = flags.shared,
                           .data = flags.data};
  catalogue::Setting setting = {
      .protocol = flags.common.name, .variant = flags.common.variant, .seed = flags.common.seed};
  // A server has the least id and is none of the clients.
  const bool with_server = entry->members(1).size() > 1;
  setting.members = entry->members(static_cast<std::uint32_t>(flags.ports.size()) - (with_server ? 1 : 0));
  for (std::size_t i = 0; NodeId node : setting.members)
    casting.members.push_back({node, "127.0.0.1", flags.ports[i++]});
  for (const std::string& assignment : flags.common.set) {
    if (const auto wrong = set_parameter(*entry, setting, assignment)) return complain(*wrong);
  }
  // Unbuffered: what a step sends leaves after the step is written, even if the process is killed in between.
  std::ofstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  file.open(flags.part, std::ios::binary);
  if (!file) return complain(fmt::format("cannot write '{}'", flags.part));
  trace::JsonWriter writer(file);
  const live::Played played = entry->play(casting, setting, writer);
  if (!played.problem.empty()) fmt::print(stderr, "{}\n", played.problem);
  return played.problem.empty() ? ok : property_failed;
}

void add_process(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ProcessFlags>();
  CLI::App* verb = app.add_subcommand("live-process", "One of the processes of conclave live")->group("");
  verb->add_option("NAME", flags->common.name)->required();
  verb->add_option("--self", flags->self)->required();
  verb->add_option("--ports", flags->ports)->delimiter(',')->required();
  verb->add_option("--variant", flags->common.variant);
  verb->add_option("--entries", flags->common.entries);
  verb->add_option("--seed", flags->common.seed);
  verb->add_option("--patience", flags->common.patience);
  verb->add_option("--set", flags->common.set)->allow_extra_args(false);
  verb->add_option("--part", flags->part)->required();
  verb->add_option("--shared", flags->shared);
  verb->add_option("--data", flags->data);
  verb->add_option("--dies-after", flags->dies_after);
  verb->add_flag("--others-die", flags->others_die);
  verb->callback([flags, &action] { action = [flags] { return play(*flags); }; });
}

}  // namespace

void add_live(CLI::App& app, Action& action) {
  add_process(app, action);
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "live", "Run an algorithm between real processes, judge it, and repeat the run in the simulator");
  verb->add_option("NAME", flags->name, "the algorithm; conclave catalogue --world live lists them")
      ->required();
  verb->add_option("--variant", flags->variant, "a variant or a named deviation of it")
      ->capture_default_str();
  verb->add_option("--nodes", flags->nodes, "how many processes take part; 3 unless told otherwise");
  verb->add_option("--entries", flags->entries, "how often each enters, starts or pays");
  verb->add_option("--set", flags->set, "a parameter of the algorithm, as name=value")
      ->allow_extra_args(false);
  verb->add_option("--seed", flags->seed, "of thinking and holding times, timers and coins")
      ->capture_default_str();
  verb->add_option("--patience", flags->patience, "seconds until a run that does not end is stopped; 20");
  verb->add_option("--kill", flags->kill, "process I kills itself after ENTRIES of its own")
      ->type_name("I@ENTRIES");
  verb->add_option("--trace", flags->trace, "write the merged trace to this file; see docs/trace.md");
  verb->add_flag("--diagram", flags->diagram, "draw the run as a space-time diagram");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->footer(
      "Examples:\n"
      "  conclave live ricart-agrawala --nodes 5 --entries 10\n"
      "  conclave live bully --kill 3@1 --trace run.jsonl\n"
      "  conclave live bakery --nodes 4 --entries 100000");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
