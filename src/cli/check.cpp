// conclave check: every interleaving of a small configuration, and the shortest way to what goes wrong.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <sstream>

#include "catalogue/directed.hpp"
#include "cli/check_report.hpp"
#include "cli/plan.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "trace/diagram.hpp"
#include "trace/json.hpp"
#include "trace/tee.hpp"

namespace conclave::cli {
namespace {

// Beside those that all verbs have.
constexpr int only_bounded = 3;   // nothing went wrong in what was seen, but not everything was seen
constexpr int contradiction = 4;  // the monitor does not see what the checker found

struct Flags {
  std::string name;
  bool all = false;
  bool long_ones = false;
  // What is not given is as the standard configuration has it.
  std::optional<std::string> variant;
  std::vector<std::string> set;
  std::optional<std::int64_t> nodes;
  std::optional<std::string> entries;
  std::optional<std::int64_t> crashes;
  std::optional<std::int64_t> recoveries;
  std::optional<std::int64_t> losses;
  std::optional<std::int64_t> duplications;
  std::optional<std::int64_t> timeouts;
  std::optional<std::int64_t> partitions;
  std::optional<std::int64_t> tells;
  std::optional<std::int64_t> max_depth;
  std::int64_t workers = 2;
  bool fifo = false;
  bool unordered = false;
  bool for_ever = false;
  bool starvation = false;
  bool no_starvation = false;
  std::vector<std::string> properties;
  bool exact = false;
  bool no_partial_order = false;
  bool no_symmetry = false;
  std::string max_states;
  std::string memory;
  std::string trace;
  std::string svg;
  bool json = false;
  std::vector<std::string> given = {};  // the names of those that the user gave
};

constexpr std::uint64_t most_entries = 1000;
constexpr std::int64_t most_faults = 15;  // of one kind, in one run
constexpr std::int64_t most_timeouts = 255;
constexpr std::uint32_t most_members = 24;
constexpr std::uint32_t most_members_cut = 8;  // every way to cut links is tried

using Wrong = std::optional<std::string>;

std::vector<const catalogue::Entry*> explorable() {
  std::vector<const catalogue::Entry*> rows;
  for (const catalogue::Entry& entry : catalogue::entries()) {
    if (entry.check) rows.push_back(&entry);
  }
  return rows;
}

// --- From flags to a plan ----------------------------------------------------------------------------------

Wrong set_budget(const Flags& flags, const catalogue::Entry& entry, check::Budget& budget) {
  struct Item {
    const std::optional<std::int64_t>& given;
    std::uint8_t& field;
    const char* flag;
    std::int64_t most = most_faults;
  };
  const std::array items = {Item{flags.crashes, budget.crashes, "--crashes"},
                            Item{flags.recoveries, budget.recoveries, "--recoveries"},
                            Item{flags.losses, budget.losses, "--losses"},
                            Item{flags.duplications, budget.duplications, "--duplications"},
                            Item{flags.timeouts, budget.timeouts, "--timeouts", most_timeouts},
                            Item{flags.partitions, budget.partitions, "--partitions"},
                            Item{flags.tells, budget.tells, "--tells"}};
  for (const Item& item : items) {
    if (auto wrong = set_number(item.given, item.field, item.flag, 0, item.most)) return wrong;
    const bool about_messages = item.flag != std::string_view("--crashes");
    if (item.given.value_or(0) > 0 && about_messages && entry.assumes.links == Links::none)
      return fmt::format("{}: the processes of {} share registers and send no messages", item.flag,
                         entry.name);
  }
  if (flags.timeouts && entry.assumes.timing == Timing::synchronous)
    return fmt::format("--timeouts: {} is synchronous, its time-outs are free; leave the flag out",
                       entry.name);
  if (flags.recoveries.value_or(0) > 0 && budget.crashes == 0)
    return fmt::format("--recoveries {}: nobody comes back who did not crash; add --crashes",
                       *flags.recoveries);
  return std::nullopt;
}

// "2": each of them twice; "1,0,0": the first once, the others not at all.
Wrong set_entries(const std::string& text, catalogue::CheckPlan& plan) {
  check::Options& options = plan.options;
  options.entries_of.clear();
  std::vector<std::uint32_t> each;
  std::istringstream in(text + ",");
  for (std::string word; std::getline(in, word, ',');) {
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc{} || end != word.data() + word.size() || count > most_entries)
      return fmt::format("--entries {}: must lie between 0 and {}; 1,0,0 says it of each", text,
                         with_commas(most_entries));
    each.push_back(count);
  }
  options.entries = each.front();
  if (each.size() == 1) return std::nullopt;
  if (each.size() != options.nodes)
    return fmt::format("--entries {}: one number for all, or one for each of {} processes", text,
                       options.nodes);
  options.entries = 0;
  // A server, which asks for nothing, is the first of the members.
  const std::size_t servers = plan.setting.members.size() - each.size();
  std::size_t place = 0;
  for (const NodeId node : plan.setting.members) {
    if (place >= servers && each[place - servers] > 0) options.entries_of[node] = each[place - servers];
    ++place;
  }
  return std::nullopt;
}

Wrong set_links(const Flags& flags, const catalogue::Entry& entry, check::Options& options) {
  if (!flags.fifo && !flags.unordered) return std::nullopt;
  if (flags.fifo && flags.unordered) return "--fifo keeps the order of links, --unordered does not: give one";
  if (entry.assumes.links == Links::none)
    return fmt::format("{}: the processes of {} share registers, there are no links",
                       flags.fifo ? "--fifo" : "--unordered", entry.name);
  options.fifo = flags.fifo;
  return std::nullopt;
}

Wrong set_properties(const Flags& flags, const catalogue::Entry& entry, check::Options& options) {
  for (const std::string& property : flags.properties) {
    if (std::ranges::find(entry.checkable, property) == entry.checkable.end())
      return fmt::format("--property {}: of {} can be checked {}", property, entry.name,
                         fmt::join(entry.checkable, ", "));
  }
  options.properties = flags.properties;
  return std::nullopt;
}

// How to search; the same for one and for all.
Wrong set_search(const Flags& flags, check::Options& options) {
  if (auto wrong = set_number(std::optional(flags.workers), options.workers, "--workers", 1, 256))
    return wrong;
  if (auto wrong = set_number(flags.max_depth, options.max_depth, "--max-depth", 1, 1'000'000)) return wrong;
  if (!flags.max_states.empty()) {
    const auto count = parse_count(flags.max_states);
    if (!count) return "--max-states: " + count.error();
    options.max_states = *count;
  }
  if (!flags.memory.empty()) {
    const auto bytes = parse_size(flags.memory);
    if (!bytes) return "--memory: " + bytes.error();
    options.max_bytes = *bytes;
  } else {
    // A search without end would take the machine with it.
    options.max_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
  }
  options.exact = flags.exact;
  options.partial_order = !flags.no_partial_order;
  options.symmetry = !flags.no_symmetry;
  return std::nullopt;
}

Wrong check_members(const catalogue::CheckPlan& plan) {
  const std::uint32_t members = plan.setting.members.size();
  if (members > most_members)
    return fmt::format("--nodes {}: explorations have up to {} processes, and few end with more than 5",
                       plan.options.nodes, most_members);
  if (plan.options.budget.partitions > 0 && members > most_members_cut)
    return fmt::format("--partitions: every cut is tried, with up to {} processes", most_members_cut);
  return std::nullopt;
}

// What a simulation of the same configuration is told: monitors and refusals ask for it.
sim::Options simulated(const catalogue::Entry& entry, const check::Options& options) {
  sim::Options run = {.nodes = options.nodes};
  if (entry.usual) entry.usual(run);
  run.nodes = options.nodes;
  run.members = options.members;
  run.entries = options.entries;
  return run;
}

std::expected<catalogue::CheckPlan, std::string> make_plan(const Flags& flags,
                                                           const catalogue::Entry& entry) {
  if (flags.variant) {
    if (const auto wrong = check_variant(entry, *flags.variant)) return std::unexpected(*wrong);
  }
  if (flags.nodes) {
    if (const auto wrong = check_nodes(entry, *flags.nodes)) return std::unexpected(*wrong);
    // Before a setup is worked out for so many.
    if (*flags.nodes > most_members)
      return std::unexpected(
          fmt::format("--nodes {}: explorations have up to {} processes", *flags.nodes, most_members));
  }
  catalogue::CheckPlan plan =
      flags.nodes ? usual_check(entry, static_cast<std::uint32_t>(*flags.nodes)) : usual_check(entry);
  if (flags.variant) plan.setting.variant = *flags.variant;
  check::Options& options = plan.options;
  if (flags.entries) {
    if (const auto wrong = set_entries(*flags.entries, plan)) return std::unexpected(*wrong);
  }
  options.for_ever = options.for_ever || flags.for_ever;
  if (flags.starvation && flags.no_starvation)
    return std::unexpected("--starvation and --no-starvation: give one of them");
  options.starvation = (options.starvation || flags.starvation) && !flags.no_starvation;
  if (const auto wrong = set_budget(flags, entry, options.budget)) return std::unexpected(*wrong);
  if (const auto wrong = set_links(flags, entry, options)) return std::unexpected(*wrong);
  if (const auto wrong = set_properties(flags, entry, options)) return std::unexpected(*wrong);
  if (const auto wrong = set_search(flags, options)) return std::unexpected(*wrong);
  if (const auto wrong = check_members(plan)) return std::unexpected(*wrong);
  for (const std::string& assignment : flags.set) {
    if (const auto wrong = set_parameter(entry, plan.setting, assignment)) return std::unexpected(*wrong);
  }
  if (options.for_ever && catalogue::has_tokens(entry, plan.setting))
    return std::unexpected(
        "--for-ever: fencing tokens grow for ever, and with them the number of states; add --set tokens=0");
  if (entry.refuse) {
    if (const auto wrong = entry.refuse(simulated(entry, options), plan.setting))
      return std::unexpected(*wrong);
  }
  return plan;
}

// What may happen in this configuration although the algorithm takes for granted that it does not.
std::vector<std::string> beyond_assumptions(const catalogue::Entry& entry, const check::Options& options) {
  const check::Budget& budget = options.budget;
  const sim::Faults faults = {.partition = budget.partitions > 0,
                              .crash = budget.crashes > 0,
                              .loss = budget.losses > 0 ? 1.0 : 0.0,
                              .duplicate = budget.duplications > 0 ? 1.0 : 0.0};
  std::vector<std::string> names = faults.beyond(entry.assumes);
  if (budget.recoveries > 0 && entry.assumes.crashes == Crashes::stop) names.emplace_back("recovery");
  if (options.fifo == false && entry.assumes.links == Links::reliable_fifo)
    names.emplace_back("unordered links");
  return names;
}

// --- Counterexamples ---------------------------------------------------------------------------------------

// Monitors do not judge these while something is under way.
bool shows_in_the_end(std::string_view property) {
  static constexpr std::array<std::string_view, 6> names = {"EM2", "ND",          "E2",
                                                            "I2",  "termination", "complete"};
  return std::ranges::find(names, property) != names.end();
}

// Whether the monitor of the family sees in the play what the checker found.
void compare(Played& played, const check::Finding& finding, const catalogue::Directed& directed) {
  const auto contradict = [&](std::string what) {
    played.confirmed = false;
    played.contradiction = std::move(what);
  };
  if (!directed.problem.empty())
    return contradict(fmt::format("the stage cannot follow: {}", directed.problem));
  if (!directed.judged.report.broken.empty()) {
    if (finding.property == "own rules")
      played.confirmed = true;
    else
      contradict(fmt::format("on the stage a rule breaks first: {}", directed.judged.report.broken));
    return;
  }
  if (finding.property == "own rules") return contradict("on the stage no rule breaks");
  // What never happens shows in no run that ends.
  if (!finding.cycle.empty()) return;
  const auto& verdicts = directed.judged.verdicts;
  const auto verdict = std::ranges::find(verdicts, finding.property, &trace::Verdict::property);
  if (verdict == verdicts.end()) return;
  if (!verdict->holds) {
    played.confirmed = true;
  } else if (directed.judged.report.quiet || !shows_in_the_end(finding.property)) {
    contradict(fmt::format("the monitor of the {} family says that it holds in the same run",
                           catalogue::find(played.header.protocol)->family));
  }
}

Played play(const catalogue::Entry& entry, const catalogue::CheckPlan& plan, const check::Finding& finding,
            trace::Observer* writer) {
  constexpr std::size_t most_steps_kept = 100'000;
  trace::Keeper keeper(most_steps_kept);
  std::vector<trace::Observer*> observers = {&keeper};
  if (writer) observers.push_back(writer);
  trace::Tee tee(observers);
  trace::Directions directions = finding.way;
  std::ranges::copy(finding.cycle, std::back_inserter(directions));
  const catalogue::Directed directed =
      direct(entry, simulated(entry, plan.options), plan.setting, directions, &tee);
  Played played = {.header = keeper.header(), .steps = keeper.steps()};
  played.header.protocol = plan.setting.protocol;
  // Every direction is one step, after those with which every process starts.
  const std::size_t round = std::min(finding.cycle.size(), played.steps.size());
  played.steps_on_the_way = played.steps.size() - round;
  compare(played, finding, directed);
  return played;
}

std::string replay_commands(const Flags& flags, const catalogue::Setting& setting) {
  std::string set;
  for (const auto& [name, value] : setting.parameters) set += fmt::format(" --set {}={}", name, value);
  return fmt::format("  replay: conclave sim {}{} --script {}\n  draw:   conclave trace {} --diagram\n",
                     flags.name, set, flags.trace, flags.trace);
}

// --- While it runs -----------------------------------------------------------------------------------------

// One line for whoever sits at the terminal, at most five times a second.
class LiveLine {
 public:
  explicit LiveLine(std::string name) : name_(std::move(name)) {}
  void show(const check::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    shown_ = true;
    const double rate = static_cast<double>(progress.states) / std::max(progress.seconds, 1e-9);
    fmt::print(stderr, "\r\033[K{}: {} states, {} states/s, depth {}, {}", name_,
               with_commas(progress.states), with_commas(static_cast<std::uint64_t>(rate)), progress.depth,
               size_text(static_cast<double>(progress.bytes)));
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

check::Report explore_watched(const catalogue::Entry& entry, catalogue::CheckPlan plan) {
  LiveLine line{std::string(entry.name)};
  if (on_terminal(stderr)) plan.options.progress = [&](const check::Progress& now) { line.show(now); };
  check::Report report = explore(entry, std::move(plan));
  line.clear();
  return report;
}

int status_of(const check::Report& report, const std::vector<Played>& played) {
  if (std::ranges::any_of(played, [](const Played& one) { return !one.contradiction.empty(); }))
    return contradiction;
  if (!report.holds()) return property_failed;
  return report.complete ? ok : only_bounded;
}

// --- One, all, the list ------------------------------------------------------------------------------------

int check_one(const Flags& flags) {
  const catalogue::Entry* const entry = entry_or_complain(flags.name);
  if (!entry) return usage_error;
  if (!entry->check)
    return complain(fmt::format("{} is not explored; conclave check lists what is", entry->name));
  const auto plan = make_plan(flags, *entry);
  if (!plan) return complain(plan.error());
  std::optional<OutputFile> file;
  std::optional<trace::JsonWriter> writer;
  if (!flags.trace.empty()) {
    file.emplace(flags.trace);
    if (!file->stream()) return complain(file->finish().error());
    writer.emplace(file->stream());
  }
  const check::Report report = explore_watched(*entry, *plan);
  const std::vector<std::string> beyond = beyond_assumptions(*entry, plan->options);
  Explored explored = {.entry = *entry, .plan = *plan, .report = report, .beyond = beyond};
  for (const check::Finding& finding : report.findings)
    explored.played.push_back(
        play(*entry, *plan, finding, explored.played.empty() && writer ? &*writer : nullptr));
  const bool found = !explored.played.empty();
  if (file && found) {
    if (const auto written = file->finish(); !written) return complain(written.error());
  }
  if (!flags.svg.empty() && found) {
    const Played& first = explored.played.front();
    const auto written = write_file(flags.svg, trace::draw_svg(first.header, first.steps, {}));
    if (!written) return complain(written.error());
  }
  if (flags.json) {
    fmt::print("{}\n", exploration_json(explored).dump(2));
  } else {
    fmt::print("{}", exploration_text(explored));
    if (file && found) fmt::print("{}", replay_commands(flags, plan->setting));
    if (!found && (file || !flags.svg.empty()))
      fmt::print("There is no counterexample: nothing was written.\n");
  }
  return status_of(report, explored.played);
}

std::string painted(const std::string& verdict) {
  if (verdict == "holds") return paint(verdict, Colour::green);
  return paint(verdict, verdict == "bounded" ? Colour::yellow : Colour::red);
}

// A line as soon as it is known: the rows take from milliseconds to many seconds.
void print_line(const catalogue::Entry& entry, const check::Report& report, std::size_t width) {
  std::string why;
  for (const check::Finding& finding : report.findings)
    why += fmt::format("{} {}: {}", why.empty() ? "" : ";", finding.property, finding.why);
  fmt::print("{:<{}}  {:>13}  {:>8.2f}  {:>11}  {}{}\n", entry.name, width, with_commas(report.states),
             report.seconds, with_commas(static_cast<std::uint64_t>(states_per_second(report))),
             painted(verdict(report)), why);
  std::fflush(stdout);
}

int check_all(const Flags& flags) {
  check::Options search;
  if (const auto wrong = set_search(flags, search)) return complain(*wrong);
  std::size_t width = 0;
  for (const catalogue::Entry* entry : explorable()) width = std::max(width, entry->name.size());
  if (!flags.json)
    fmt::print("{:<{}}  {:>13}  {:>8}  {:>11}  verdict\n", "name", width, "states", "seconds", "states/s");
  int worst = ok;
  std::size_t left_out = 0;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const catalogue::Entry* entry : explorable()) {
    if (entry->long_check && !flags.long_ones) {
      ++left_out;
      continue;
    }
    const auto plan = make_plan(
        [&] {
          Flags one = flags;
          one.name = entry->name;
          return one;
        }(),
        *entry);
    if (!plan) return complain(plan.error());
    const check::Report report = explore_watched(*entry, *plan);
    const std::vector<std::string> beyond = beyond_assumptions(*entry, plan->options);
    Explored explored = {.entry = *entry, .plan = *plan, .report = report, .beyond = beyond};
    for (const check::Finding& finding : report.findings)
      explored.played.push_back(play(*entry, *plan, finding, nullptr));
    if (flags.json)
      reports.push_back(exploration_json(explored));
    else
      print_line(*entry, report, width);
    // A failure weighs more than a bound, and a contradiction more than both.
    static constexpr std::array by_weight = {ok, only_bounded, property_failed, contradiction};
    const int status = status_of(report, explored.played);
    if (std::ranges::find(by_weight, status) > std::ranges::find(by_weight, worst)) worst = status;
  }
  if (flags.json)
    fmt::print("{}\n", reports.dump(2));
  else if (left_out > 0)
    fmt::print("{} that take longer were left out; --long explores them too.\n", left_out);
  return worst;
}

int list(const Flags& flags) {
  const auto rows = explorable();
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  Table table(std::vector(7, Table::Align::left));
  table.add({"name", "family", "nodes", "entries", "links", "budget", "checked"});
  table.add_rule();
  for (const catalogue::Entry* entry : rows) {
    const catalogue::CheckPlan plan = usual_check(*entry);
    const auto properties = catalogue::claimed_and_checkable(*entry, plan.setting);
    const std::string budget = budget_text(plan.options.budget);
    table.add({std::string(entry->name), std::string(entry->family), std::to_string(plan.options.nodes),
               entries_text(plan.options), links_text(*entry, plan.options), budget,
               fmt::format("{}{}", fmt::join(properties, ", "), entry->long_check ? " (--long)" : "")});
    json.push_back({{"name", entry->name},
                    {"family", entry->family},
                    {"nodes", plan.options.nodes},
                    {"entries", plan.options.entries},
                    {"links", links_text(*entry, plan.options)},
                    {"budget", budget},
                    {"properties", properties},
                    {"checkable", entry->checkable},
                    {"long", entry->long_check}});
  }
  if (flags.json) {
    fmt::print("{}\n", json.dump(2));
    return ok;
  }
  fmt::print("{}\n{} algorithms; conclave check NAME explores one, --all all of them.\n", table.to_string(),
             rows.size());
  return ok;
}

int run(const Flags& flags) {
  if (flags.all) {
    if (!flags.name.empty())
      return complain("--all explores every algorithm: give a name or --all, not both");
    static constexpr std::array understood = {
        "--all",  "--long",      "--workers",          "--exact",      "--memory", "--max-states",
        "--json", "--max-depth", "--no-partial-order", "--no-symmetry"};
    for (const std::string& flag : flags.given) {
      if (std::ranges::find(understood, flag) == understood.end())
        return complain(fmt::format("{} is for one algorithm, --all explores standard configurations", flag));
    }
    return check_all(flags);
  }
  if (flags.long_ones)
    return complain("--long goes with --all; one algorithm is explored however long it takes");
  if (!flags.name.empty()) return check_one(flags);
  for (const std::string& flag : flags.given) {
    if (flag != "--json")
      return complain(fmt::format("{}: say of which algorithm; conclave check lists them", flag));
  }
  return list(flags);
}

void add_configuration(CLI::App& verb, Flags& flags) {
  verb.add_option("--variant", flags.variant, "a variant or a named deviation of it");
  verb.add_option("--set", flags.set, "a parameter of the algorithm, as name=value")->allow_extra_args(false);
  verb.add_option("--nodes", flags.nodes, "how many processes take part");
  verb.add_option("--entries", flags.entries,
                  "how often each enters, starts or proposes, at any moment;\n1,0,0: how often the first "
                  "does, the second, …");
  verb.add_flag("--for-ever", flags.for_ever,
                "each enters again and again; for algorithms that do not count");
  verb.add_option("--crashes", flags.crashes, "how many processes may crash in one run, at any moment");
  verb.add_option("--recoveries", flags.recoveries, "how many of them may come back");
  verb.add_option("--losses", flags.losses, "how many messages may be lost");
  verb.add_option("--duplications", flags.duplications, "how many messages may arrive twice");
  verb.add_option("--timeouts", flags.timeouts, "how often a timer of an asynchronous algorithm may fire");
  verb.add_option("--partitions", flags.partitions, "how often links may be cut, in all ways");
  verb.add_option("--tells", flags.tells, "how many messages the application may send (for EM3)");
  verb.add_flag("--fifo", flags.fifo, "links keep the order, even if the algorithm does not need it");
  verb.add_flag("--unordered", flags.unordered, "links do not keep the order, even if it needs that");
  verb.add_option("--property", flags.properties, "check this one (repeat for more); else all that it claims")
      ->allow_extra_args(false);
  verb.add_flag("--no-starvation", flags.no_starvation, "do not, where the standard configuration would");
  verb.add_flag("--starvation", flags.starvation,
                "look for a fair cycle in which somebody waits for ever, too;\nmost telling with --for-ever");
}

void add_search(CLI::App& verb, Flags& flags) {
  verb.add_option("--workers", flags.workers, "threads; the result does not depend on them")
      ->capture_default_str();
  verb.add_flag("--exact", flags.exact, "keep whole states instead of 128 bits of each");
  verb.add_flag("--no-partial-order", flags.no_partial_order, "try all orders of independent steps");
  verb.add_flag("--no-symmetry", flags.no_symmetry, "tell states apart that differ in names only");
  verb.add_option("--max-states", flags.max_states, "stop after so many states: 10000000 or 1e7");
  verb.add_option("--max-depth", flags.max_depth, "stop after so many steps");
  verb.add_option("--memory", flags.memory,
                  "stop when so much is in use: 500M or 2G;\nhalf of what the machine has, if not given");
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "check", "Explore every interleaving of a small configuration, or list what can be explored");
  verb->add_option("NAME", flags->name, "the algorithm; without it: the standard configurations of all");
  verb->add_flag("--all", flags->all, "explore the standard configuration of every algorithm");
  verb->add_flag("--long", flags->long_ones, "… and those that take more than a few seconds");
  add_configuration(*verb, *flags);
  add_search(*verb, *flags);
  verb->add_option("--trace", flags->trace, "write the counterexample to this file; see docs/trace.md");
  verb->add_option("--svg", flags->svg, "the same, as a picture");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->footer(
      "Examples:\n"
      "  conclave check\n"
      "  conclave check ricart-agrawala --nodes 3 --entries 2\n"
      "  conclave check maekawa --property ND --trace deadlock.jsonl\n"
      "  conclave check lamport --unordered\n"
      "  conclave check central-server --crashes 1 --max-states 1e6 --memory 2G\n"
      "  conclave check --all\n\n"
      "docs/checker.md says what a state and a step are, and how to read a counterexample.\n"
      "Exit status: 0 everything holds, 1 a property is violated, 2 wrong usage, 3 nothing is violated\n"
      "in what was seen, but a bound ended the search, 4 checker and monitor disagree.");
  verb->callback([flags, verb, &action] {
    for (const CLI::Option* option : verb->get_options()) {
      if (option->count() > 0) flags->given.push_back(option->get_name());
    }
    action = [flags] { return run(*flags); };
  });
}

}  // namespace conclave::cli
