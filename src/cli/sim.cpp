// conclave sim: run one algorithm in the simulated world.
#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catalogue/directed.hpp"
#include "cli/figure.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "plot/figure.hpp"
#include "sim/seeds.hpp"
#include "trace/diagram.hpp"
#include "trace/json.hpp"
#include "trace/tee.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::string name;
  std::string variant = "canonical";
  // What is not given is as the algorithm's runs usually have it.
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> entries;
  std::optional<std::int64_t> starters;
  std::optional<std::int64_t> until;
  std::optional<std::string> think;
  std::optional<std::string> hold;
  std::optional<std::string> delay;
  std::vector<std::string> set;
  std::string faults = "none";
  std::string script;
  double chatter = 0;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 0;
  std::uint64_t first_seed = 1;
  std::int64_t jobs = 2;
  std::string trace;
  std::string svg;
  std::string plot;
  std::string save_script;
  std::string figure;
  std::optional<std::int64_t> trials;
  bool diagram = false;
  bool json = false;
  bool beyond = false;
  bool unordered = false;
  bool fifo = false;
  std::vector<std::string> given = {};  // the names of those that the user gave

  bool gave(std::string_view flag) const { return std::ranges::find(given, flag) != given.end(); }
};

constexpr std::int64_t most_entries = 1'000'000;
constexpr std::int64_t most_jobs = 256;
constexpr const char* wrong_jobs = "--jobs must lie between 1 and 256";
constexpr std::int64_t most_ticks = std::int64_t{1} << 50;

// What to run, once the flags have been found right.
struct Plan {
  const catalogue::Entry* entry = nullptr;
  sim::Options options = {};
  catalogue::Setting setting = {};
  std::vector<std::string> beyond = {};  // faults that the algorithm rules out
  std::optional<trace::Run> shown = {};  // to be repeated, instead of a run of its own
};

std::expected<sim::Delay, std::string> duration(const std::string& text, const char* flag) {
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const auto delay = sim::Delay::parse(bare ? "fixed:" + text : text);
  if (!delay) return std::unexpected(fmt::format("{}: {}", flag, delay.error()));
  return *delay;
}

// What --script names: a script, or a trace to be repeated.
struct Scripted {
  std::string text = {};
  std::optional<trace::Run> shown = {};
};

std::expected<Scripted, std::string> read_script(const std::string& file) {
  Scripted scripted;
  if (file.empty()) return scripted;
  auto text = read_file(file);
  if (!text) return std::unexpected(text.error());
  scripted.text = std::move(*text);
  if (!trace::begins_trace(scripted.text)) return scripted;
  std::istringstream lines(scripted.text);
  auto run = trace::read(lines);
  if (!run) return std::unexpected(fmt::format("{}: {}", file, run.error()));
  scripted.shown = std::move(*run);
  return scripted;
}

// How many clients make these nodes; none if no number does.
std::optional<std::uint32_t> clients_among(const catalogue::Entry& entry, const NodeSet& nodes) {
  for (const std::uint32_t clients : {nodes.size(), nodes.size() - 1}) {
    if (clients >= entry.least_nodes && clients <= entry.most_nodes && entry.members(clients) == nodes)
      return clients;
  }
  return std::nullopt;
}

// A trace says by itself what was run. Sets the flags accordingly; what is wrong, if something is.
std::optional<std::string> adopt(Flags& flags, const catalogue::Entry& entry, const trace::Run& shown) {
  const trace::Header& header = shown.header;
  const auto wrong = [&](const std::string& what) { return fmt::format("{}: {}", flags.script, what); };
  if (header.protocol != entry.name)
    return wrong(fmt::format("this is a trace of {}, not of {}", header.protocol, entry.name));
  // Readings of hardware clocks are inputs that a trace does not show.
  if (!entry.stage || entry.family == "timesync")
    return wrong(fmt::format("{} cannot be directed step by step; replay it by its seed, --seed {}",
                             entry.name, header.seed));
  static constexpr std::array decided = {"--entries",    "--starters", "--think",      "--hold", "--delay",
                                         "--until",      "--chatter",  "--unordered",  "--fifo", "--seeds",
                                         "--first-seed", "--jobs",     "--save-script"};
  for (const char* flag : decided) {
    if (flags.gave(flag))
      return wrong(fmt::format("a trace is repeated step by step; {} has no say in it, leave it out", flag));
  }
  const auto clients = clients_among(entry, header.nodes);
  if (!clients)
    return wrong(
        fmt::format("{} nodes that are not those of any run of {}, which has {} to {} and numbers "
                    "them itself",
                    header.nodes.size(), entry.name, entry.least_nodes, with_commas(entry.most_nodes)));
  const auto contradicts = [&](const char* flag, const auto& said, const auto& shows) {
    return fmt::format("{} {}: the trace {} has {}; leave the flag out", flag, said, flags.script, shows);
  };
  if (flags.gave("--nodes") && *flags.nodes != *clients)
    return contradicts("--nodes", *flags.nodes, *clients);
  if (flags.gave("--variant") && flags.variant != header.variant)
    return contradicts("--variant", flags.variant, header.variant);
  if (flags.gave("--seed") && flags.seed != header.seed)
    return contradicts("--seed", flags.seed, header.seed);
  flags.nodes = *clients;
  flags.variant = header.variant;
  flags.seed = header.seed;
  return std::nullopt;
}

// The faults of a run, as a script has them. What a crash makes of messages is no fault of the links.
sim::Script faults_of(const trace::Run& run) {
  using What = sim::Action::What;
  static const std::map<trace::Kind, What> faults = {
      {trace::Kind::crash, What::crash},         {trace::Kind::pause, What::pause},
      {trace::Kind::partition, What::partition}, {trace::Kind::disk, What::stall},
      {trace::Kind::lose, What::lose},           {trace::Kind::duplicate, What::duplicate}};
  sim::Script script;
  for (const trace::Step& step : run.steps) {
    const bool of_its_own = step.kind != trace::Kind::lose || step.input.type == "on the way";
    const auto fault = faults.find(step.kind);
    if (fault != faults.end() && of_its_own) script.push_back({.what = fault->second, .at = step.at});
    if (step.kind == trace::Kind::clock) {
      const bool jumps = step.input.type.starts_with("jump");
      const bool jitters = step.input.type.starts_with("jitter");
      script.push_back({.what = jumps ? What::jump : jitters ? What::jitter : What::drift, .at = step.at});
    }
  }
  return script;
}

// How often that client asked for the same that asked most often.
std::uint32_t most_requests(const trace::Run& run) {
  std::map<std::pair<NodeId, std::string>, std::uint32_t> asked;
  std::uint32_t most = 0;
  for (const trace::Step& step : run.steps) {
    if (step.kind == trace::Kind::command) most = std::max(most, ++asked[{*step.node, step.input.type}]);
  }
  return most;
}

std::expected<Plan, std::string> make_plan(const Flags& flags, Scripted scripted) {
  Plan plan = {.entry = catalogue::find(flags.name)};
  const catalogue::Entry& entry = *plan.entry;
  if (const auto wrong = check_variant(entry, flags.variant)) return std::unexpected(*wrong);
  sim::Options& options = plan.options;
  // What is usual may depend on how many there are.
  const bool sensible = flags.nodes && *flags.nodes > 0 && *flags.nodes <= entry.most_nodes;
  if (sensible) options.nodes = static_cast<std::uint32_t>(*flags.nodes);
  if (entry.usual) entry.usual(options);
  const std::int64_t nodes = flags.nodes.value_or(options.nodes);
  if (const auto wrong = check_nodes(entry, nodes)) return std::unexpected(*wrong);
  options.nodes = static_cast<std::uint32_t>(nodes);
  if (auto wrong = set_number(flags.entries, options.entries, "--entries", 0, most_entries))
    return std::unexpected(*wrong);
  if (auto wrong = set_number(flags.starters, options.starters, "--starters", 1, nodes))
    return std::unexpected(*wrong);
  if (auto wrong = set_number(flags.until, options.until.count, "--until", 1, most_ticks))
    return std::unexpected(*wrong);
  if (!(flags.chatter >= 0 && flags.chatter <= 1))
    return std::unexpected("--chatter is a chance between 0 and 1");
  if (flags.jobs < 1 || flags.jobs > most_jobs) return std::unexpected(wrong_jobs);

  if (flags.think) {
    const auto think = duration(*flags.think, "--think");
    if (!think) return std::unexpected(think.error());
    options.think = *think;
  }
  if (flags.hold) {
    const auto hold = duration(*flags.hold, "--hold");
    if (!hold) return std::unexpected(hold.error());
    options.hold = *hold;
  }
  if (flags.delay) {
    const auto delay = sim::DelayModel::parse(*flags.delay);
    if (!delay) return std::unexpected("--delay: " + delay.error());
    options.delay = *delay;
  }
  const auto faults = sim::Faults::parse(flags.faults, entry.assumes, flags.beyond);
  if (!faults) return std::unexpected("--faults: " + faults.error());
  options.faults = *faults;
  // Only logs wait for their disk before they tell their clients. What the others tell at once, a disk that
  // stands still until it loses power makes them tell again.
  if (flags.faults == "all" && !flags.beyond && entry.family != "log") options.faults.stall = false;
  options.chatter = flags.chatter;
  options.seed = flags.seed;
  // Far above what any of the algorithms needs: a run that gets there will not end.
  options.step_limit += 50 * std::uint64_t{options.nodes} * options.nodes * options.entries;
  if (flags.fifo) {
    if (flags.unordered)
      return std::unexpected("--fifo keeps the order of links, --unordered does not: give one");
    if (flags.faults == "all") options.faults.reorder = 0;
    if (options.faults.reorder > 0)
      return std::unexpected("--fifo keeps the order of links, the fault reorder does not: give one");
    options.fifo = true;
  }
  plan.beyond = options.faults.beyond(entry.assumes);
  if (flags.unordered) {
    if (entry.assumes.links != Links::reliable_fifo)
      return std::unexpected(
          fmt::format("--unordered: {} does not assume FIFO links, they are unordered already", entry.name));
    if (!flags.beyond)
      return std::unexpected(
          fmt::format("--unordered: {} assumes FIFO links; add --beyond-assumptions", entry.name));
    options.fifo = false;
    plan.beyond.emplace_back("unordered links");
  }

  plan.setting = {.protocol = flags.name, .variant = flags.variant, .members = entry.members(options.nodes)};
  for (const std::string& assignment : flags.set) {
    const auto wrong = set_parameter(entry, plan.setting, assignment);
    if (wrong) return std::unexpected(*wrong);
  }
  if (entry.refuse) {
    if (const auto wrong = entry.refuse(options, plan.setting)) return std::unexpected(*wrong);
  }
  if (scripted.shown) {
    plan.beyond = scripted_beyond(faults_of(*scripted.shown), entry.assumes);
    options.entries = most_requests(*scripted.shown);
    plan.shown = std::move(scripted.shown);
  } else if (!flags.script.empty()) {
    auto script = sim::parse_script(scripted.text, plan.setting.members);
    if (!script) return std::unexpected(fmt::format("{}: {}", flags.script, script.error()));
    for (const auto& what : scripted_beyond(*script, entry.assumes)) {
      if (!flags.beyond)
        return std::unexpected(fmt::format(
            "{}: the algorithm assumes that there is no '{}'; add --beyond-assumptions", flags.script, what));
      plan.beyond.push_back(what);
    }
    options.script = std::move(*script);
  }
  return plan;
}

// The command that repeats a run of that seed.
std::string replay_command(const Flags& flags, const std::string& seed_or_script) {
  std::string command = fmt::format("conclave sim {}", flags.name);
  const auto add = [&](const char* flag, const auto& value) {
    if (value) command += fmt::format(" {} {}", flag, *value);
  };
  if (flags.variant != "canonical") command += " --variant " + flags.variant;
  add("--nodes", flags.nodes);
  add("--entries", flags.entries);
  add("--starters", flags.starters);
  add("--until", flags.until);
  add("--think", flags.think);
  add("--hold", flags.hold);
  add("--delay", flags.delay);
  for (const std::string& assignment : flags.set) command += fmt::format(" --set {}", assignment);
  if (flags.chatter > 0) command += fmt::format(" --chatter {}", flags.chatter);
  if (flags.unordered) command += " --unordered";
  if (flags.fifo) command += " --fifo";
  if (flags.beyond) command += " --beyond-assumptions";
  return command + seed_or_script;
}

std::string replay_by_seed(const Flags& flags, std::uint64_t seed) {
  std::string faults = flags.faults == "none" ? "" : " --faults " + flags.faults;
  if (!flags.script.empty()) faults = " --script " + flags.script;
  return replay_command(flags, fmt::format("{} --seed {}", faults, seed));
}

std::string described_run(const Plan& plan) {
  const sim::Options& options = plan.options;
  if (plan.shown)
    return fmt::format("as a trace of {} steps shows it", with_commas(plan.shown->steps.size()));
  std::string out =
      fmt::format("delay {}, think {}", options.delay.usual.to_string(), options.think.to_string());
  if (plan.entry->family == "mutex") out += fmt::format(", hold {}", options.hold.to_string());
  for (const auto& [name, value] : plan.setting.parameters) out += fmt::format(", {} {}", name, value);
  out += options.script ? fmt::format(", {} scripted actions", options.script->size())
                        : fmt::format(", faults {}", options.faults.to_string());
  if (options.fifo == true) out += ", FIFO links";
  return out;
}

std::optional<std::string> save_script(const Flags& flags, const sim::Script& script) {
  if (flags.save_script.empty()) return std::nullopt;
  const auto written = write_file(flags.save_script, to_json(script));
  return written ? std::nullopt : std::optional(written.error());
}

// Says how far a long run is, for whoever sits at the terminal.
class Progress : public trace::Observer {
 public:
  void see(const trace::Step& step) override {
    if ((++steps_ & 0xffff) != 0) return;
    fmt::print(stderr, "\r{} steps, time {}", with_commas(steps_), with_commas(step.at.count));
  }
  void end(const trace::End&) override {
    if (steps_ > 0xffff) fmt::print(stderr, "\r\033[K");
  }
  bool wants_vectors() const override { return false; }

 private:
  std::uint64_t steps_ = 0;
};

plot::Figure figure_of(const trace::Chart& chart, std::string_view name) {
  plot::Figure figure = {.title = fmt::format("{}: {}", name, chart.title), .x = {chart.x}, .y = {chart.y}};
  for (const trace::Chart::Curve& curve : chart.curves) {
    plot::Series series = {.name = curve.name};
    for (const auto& point : curve.points) series.points.push_back({point.x, point.y});
    figure.series.push_back(std::move(series));
  }
  // Every curve has a bound of its own; that of the first shows the shape without hiding the rest.
  const bool bounded = !chart.curves.empty() && !chart.curves.front().points.empty() &&
                       chart.curves.front().points.front().bound > 0;
  if (bounded) {
    plot::Band band = {.name = "bound of " + chart.curves.front().name};
    for (const auto& point : chart.curves.front().points)
      band.spans.push_back({point.x, -point.bound, point.bound});
    figure.bands.push_back(std::move(band));
  }
  return figure;
}

// A trace does not say with which parameters its run was made.
std::string hint_at_parameters(const catalogue::Entry& entry) {
  if (entry.parameters.empty()) return "";
  std::string names;
  for (const auto& parameter : entry.parameters)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  return fmt::format("\n  if it was made with --set ({}), give the same here", names);
}

int run_one(const Flags& flags, Plan plan) {
  std::optional<OutputFile> file;
  std::optional<trace::JsonWriter> writer;
  std::optional<trace::Keeper> keeper;
  std::vector<trace::Observer*> observers;
  if (!flags.trace.empty()) {
    file.emplace(flags.trace);
    if (!file->stream()) return complain(file->finish().error());
    observers.push_back(&writer.emplace(file->stream()));
  }
  constexpr std::size_t most_steps_drawn = 5000;
  if (flags.diagram || !flags.svg.empty()) observers.push_back(&keeper.emplace(most_steps_drawn));
  Progress progress;
  if (on_terminal(stderr)) observers.push_back(&progress);
  plan.options.record = !flags.save_script.empty();
  trace::Tee tee(observers);
  trace::Observer* const also = observers.empty() ? nullptr : &tee;
  catalogue::Judged judged;
  if (plan.shown) {
    catalogue::Directed directed =
        catalogue::repeat(*plan.entry, plan.options, plan.setting, *plan.shown, also);
    if (!directed.problem.empty())
      return complain(fmt::format("{}: the replay departs from the trace at {}{}", flags.script,
                                  directed.problem, hint_at_parameters(*plan.entry)));
    judged = std::move(directed.judged);
  } else {
    judged = catalogue::judge(*plan.entry, plan.options, plan.setting, also);
  }

  if (file) {
    if (const auto written = file->finish(); !written) return complain(written.error());
  }
  if (const auto problem = save_script(flags, judged.report.done)) return complain(*problem);
  if (!flags.svg.empty()) {
    const auto written = write_file(flags.svg, trace::draw_svg(keeper->header(), keeper->steps(), {}));
    if (!written) return complain(written.error());
  }
  if (!flags.plot.empty()) {
    if (!judged.chart)
      return complain(
          fmt::format("--plot: a run of {} has no curve; cristian and berkeley have, and conclave "
                      "compare FAMILY --plot draws costs against N",
                      plan.entry->name));
    const auto written = write_file(flags.plot, plot::to_svg(figure_of(*judged.chart, plan.entry->name)));
    if (!written) return complain(written.error());
  }
  const RunFacts facts = {
      .entry = *plan.entry, .options = plan.options, .judged = judged, .beyond = plan.beyond};
  if (flags.json) {
    fmt::print("{}\n", report_json(facts, flags.variant, replay_by_seed(flags, flags.seed)));
  } else {
    if (flags.diagram)
      fmt::print("{}\n", trace::draw_text(keeper->header(), keeper->steps(),
                                          {.colour = use_colour(), .width = terminal_width()}));
    if (keeper && keeper->dropped_some())
      fmt::print("The diagram knows the first {} steps only.\n\n", with_commas(most_steps_drawn));
    fmt::print("{}", report_text(facts, flags.variant, described_run(plan)));
    if (judged.failure) fmt::print("\n  replay: {}\n", replay_by_seed(flags, flags.seed));
  }
  return judged.failure ? property_failed : ok;
}

int run_many(const Flags& flags, const Plan& plan) {
  std::atomic<std::uint64_t> ticks = 0;
  const auto run = [&](std::uint64_t seed) {
    sim::Options options = plan.options;
    options.seed = seed;
    const catalogue::Judged judged = catalogue::judge(*plan.entry, options, plan.setting);
    ticks += judged.report.end.count;
    return judged.failure;
  };
  const bool show_progress = on_terminal(stderr) && !flags.json;
  const auto progress = [&](std::uint64_t done) {
    if (show_progress)
      fmt::print(stderr, "\r{}: {} of {} seeds", flags.name, with_commas(done), with_commas(flags.seeds));
  };
  const sim::SeedsOutcome outcome =
      sim::run_seeds(flags.first_seed, flags.seeds, static_cast<unsigned>(flags.jobs), run, progress);
  if (show_progress) fmt::print(stderr, "\r\033[K");

  if (!outcome.failure) {
    if (flags.json) {
      fmt::print("{}\n", nlohmann::ordered_json{{"protocol", flags.name},
                                                {"variant", flags.variant},
                                                {"seeds", outcome.ran},
                                                {"ticks", ticks.load()},
                                                {"beyond_assumptions", plan.beyond},
                                                {"failure", nullptr}}
                             .dump(2));
    } else {
      fmt::print("{}: {} seeds, {} ticks, all claimed properties {} ({})\n", flags.name,
                 with_commas(outcome.ran), with_commas(ticks), paint("hold", Colour::green),
                 described_run(plan));
    }
    return ok;
  }

  sim::Options failing = plan.options;
  failing.seed = outcome.failure->seed;
  const auto shrunk = catalogue::shrink_failure(*plan.entry, failing, plan.setting);
  const std::string replay = replay_by_seed(flags, failing.seed);
  if (shrunk) {
    if (const auto problem = save_script(flags, *shrunk)) return complain(*problem);
  }
  const std::string replay_script =
      flags.save_script.empty()
          ? ""
          : replay_command(flags, fmt::format(" --script {} --seed {}", flags.save_script, failing.seed));
  if (flags.json) {
    nlohmann::ordered_json failure = {
        {"seed", failing.seed}, {"why", outcome.failure->why}, {"replay", replay}};
    failure["script"] = shrunk ? nlohmann::ordered_json::parse(to_json(*shrunk)) : nlohmann::ordered_json();
    fmt::print("{}\n", nlohmann::ordered_json{{"protocol", flags.name},
                                              {"variant", flags.variant},
                                              {"seeds", outcome.ran},
                                              {"beyond_assumptions", plan.beyond},
                                              {"failure", failure}}
                           .dump(2));
    return property_failed;
  }
  fmt::print("{}: seed {} {}: {}\n", flags.name, failing.seed, paint("fails", Colour::red),
             outcome.failure->why);
  if (!plan.beyond.empty())
    fmt::print("  beyond what the algorithm assumes: {}\n", fmt::join(plan.beyond, ", "));
  fmt::print("  replay: {}\n", replay);
  if (shrunk) {
    fmt::print("\nThe {} actions that the failure needs:\n{}", shrunk->size(), to_json(*shrunk));
    if (!replay_script.empty()) fmt::print("\n  replay: {}\n", replay_script);
  } else {
    fmt::print("  It does not shrink: two things that happen in the same tick change places.\n");
  }
  return property_failed;
}

// The runs of a figure are set up as the paper says.
int run_figure(const Flags& flags) {
  static constexpr std::array has_a_say = {"NAME",   "--figure", "--trials", "--set",
                                           "--seed", "--jobs",   "--plot",   "--json"};
  for (const std::string& flag : flags.given) {
    if (std::ranges::find(has_a_say, flag) == has_a_say.end())
      return complain(
          fmt::format("--figure sets up its runs itself; {} has no say in it, leave it out", flag));
  }
  if (flags.jobs < 1 || flags.jobs > most_jobs) return complain(wrong_jobs);
  return show_figure({.row = flags.name,
                      .name = flags.figure,
                      .trials = flags.trials,
                      .seed = flags.seed,
                      .jobs = static_cast<unsigned>(flags.jobs),
                      .set = flags.set,
                      .plot = flags.plot,
                      .json = flags.json});
}

int run(Flags flags) {
  const catalogue::Entry* const entry = entry_or_complain(flags.name);
  if (!entry) return usage_error;
  if (flags.gave("--figure")) return run_figure(flags);
  if (flags.trials)
    return complain("--trials is how often a figure repeats its runs: give --figure, or --seeds");
  if (!entry->simulate)
    return complain(fmt::format("{} is a {}, not a protocol: there is nothing to simulate. {}", entry->name,
                                entry->worlds.front(), entry->remark));
  if (flags.seeds > 0) {
    if (flags.gave("--seed")) return complain("--seed runs one seed, --seeds many: give one of them");
    if (flags.diagram || !flags.trace.empty() || !flags.svg.empty() || !flags.plot.empty())
      return complain("--diagram, --svg, --plot and --trace show one run: give --seed instead of --seeds");
  }
  if (!flags.script.empty() && flags.gave("--faults"))
    return complain("--script says which faults happen, --faults draws them: give one of them");
  if (flags.json && flags.diagram)
    return complain("--diagram is for people, --json for programs: give one of them");
  auto scripted = read_script(flags.script);
  if (!scripted) return complain(scripted.error());
  if (scripted->shown) {
    if (const auto wrong = adopt(flags, *entry, *scripted->shown)) return complain(*wrong);
  }
  const auto plan = make_plan(flags, std::move(*scripted));
  if (!plan) return complain(plan.error());
  return flags.seeds > 0 ? run_many(flags, *plan) : run_one(flags, *plan);
}

}  // namespace

void add_sim(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("sim", "Run an algorithm in virtual time, with seeded delays and faults");
  verb->add_option("NAME", flags->name, "the algorithm; conclave catalogue lists them")->required();
  verb->add_option("--variant", flags->variant, "a variant or a named deviation of it")
      ->capture_default_str();
  verb->add_option("--nodes", flags->nodes, "how many processes take part");
  verb->add_option("--entries", flags->entries, "how often each enters, starts, proposes or reads");
  verb->add_option("--starters", flags->starters, "how many of them do, drawn from the seed; else all");
  verb->add_option("--set", flags->set,
                   "a parameter of the algorithm, as name=value; conclave catalogue NAME\n"
                   "lists them");
  verb->add_option("--think", flags->think,
                   "ticks before each acts (again): fixed:T, uniform:A-B, exponential:MEAN");
  verb->add_option("--hold", flags->hold, "ticks inside");
  verb->add_option("--delay", flags->delay, "of messages: as --think, or table:FILE");
  verb->add_option("--until", flags->until,
                   "ticks after the faults when a protocol that never rests is stopped");
  verb->add_option("--chatter", flags->chatter, "chance that a request is followed by an application message")
      ->capture_default_str();
  verb->add_option("--faults", flags->faults,
                   "none, all, or some of pause, partition, crash, drift, jump, jitter,\n"
                   "unsynced, stall, loss=P, duplicate=P, slow=P, reorder=P; with crash and jump\n"
                   "together, clocks also jump, stand still or start anew while a node is down")
      ->capture_default_str();
  verb->add_option("--script", flags->script,
                   "a file of requests and faults, each at its time (docs/scripts.md), or\n"
                   "a trace, to be repeated step by step (docs/trace.md)");
  verb->add_flag("--beyond-assumptions", flags->beyond, "allow faults that the algorithm rules out");
  verb->add_flag("--unordered", flags->unordered, "break the FIFO order of links (beyond assumptions)");
  verb->add_flag("--fifo", flags->fifo, "links keep the order, even if the algorithm does not need it");
  verb->add_option("--seed", flags->seed, "of the one run")->capture_default_str();
  verb->add_option("--seeds", flags->seeds, "run that many seeds and stop at the first failure")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  verb->add_option("--first-seed", flags->first_seed, "where --seeds begins")->capture_default_str();
  verb->add_option("--jobs", flags->jobs, "threads for --seeds and --figure")->capture_default_str();
  verb->add_option("--trace", flags->trace, "write one JSON line per step to this file; see docs/trace.md");
  verb->add_option("--save-script", flags->save_script,
                   "write what was done to the run (with --seeds: shrunk)");
  verb->add_flag("--diagram", flags->diagram, "draw the run as a space-time diagram");
  verb->add_option("--svg", flags->svg, "the same, as a picture in this file");
  verb->add_option("--plot", flags->plot,
                   "what the run measures over time, or the figure, as a picture in this\n"
                   "file");
  verb->add_option("--figure", flags->figure,
                   "measure a figure of the algorithm's paper again, next to what the paper\n"
                   "says: elections, of raft; --set sets its parameters (docs/raft.md)");
  verb->add_option("--trials", flags->trials, "of each line of a figure; else as many as in the paper");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->footer(
      "Examples:\n"
      "  conclave sim ricart-agrawala --nodes 3 --entries 1 --diagram\n"
      "  conclave sim lamport --seeds 1000 --faults all --chatter 0.5\n"
      "  conclave sim maekawa --nodes 3 --think 0 --seeds 100\n"
      "  conclave sim bully --faults crash --seeds 1000\n"
      "  conclave sim sync-crash-tolerant --set f=2 --faults crash --diagram\n"
      "  conclave sim token-ring --faults loss=0.01 --beyond-assumptions --seeds 100\n"
      "  conclave sim raft --figure elections --plot elections.svg\n"
      "  conclave sim lamport --trace run.jsonl, and again: conclave sim lamport --script run.jsonl");
  verb->callback([flags, verb, &action] {
    for (const CLI::Option* option : verb->get_options()) {
      if (option->count() > 0) flags->given.push_back(option->get_name());
    }
    action = [flags] { return run(*flags); };
  });
}

}  // namespace conclave::cli
