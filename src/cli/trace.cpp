// conclave trace: read a trace or a log of vector clocks, check it, answer questions about it and draw it.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "causality/lattice.hpp"
#include "causality/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "sim/slowness.hpp"
#include "trace/diagram.hpp"
#include "trace/json.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::cli {
namespace {

using causality::Cut;
using causality::EventId;
using causality::Execution;
using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  std::string regex;
  std::string delimiter;
  std::uint32_t execution = 0;
  std::vector<std::string> cuts;
  std::vector<std::string> before;
  std::string checkpoints;
  std::string svg;
  std::string shiviz;
  bool diagram = false;
  bool json = false;

  bool asks() const { return !cuts.empty() || !before.empty() || !checkpoints.empty(); }
};

// What the user did wrong, for one line of complaint.
struct Refused {
  std::string why;
};

// What a file turned out to be.
struct Source {
  std::optional<trace::Run> run = {};  // a trace of ours
  causality::LogSummary log = {};      // else a log
  std::vector<std::unique_ptr<Execution>> executions = {};
};

// Says how far reading has come, if it takes long and somebody is watching.
class Progress : public causality::LogSink {
 public:
  ~Progress() override {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  void execution(std::string_view) override {}
  void event(const causality::LogEvent&, const causality::Hosts&) override {
    if (++events_ % 262'144 != 0 || !on_terminal(stderr)) return;
    if (std::chrono::steady_clock::now() - began_ < std::chrono::seconds(2)) return;
    fmt::print(stderr, "\r{} events read", with_commas(events_));
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::uint64_t events_ = 0;
  bool shown_ = false;
};

// Lines of JSON without a header are more likely a damaged trace of ours than a log of somebody else.
bool is_json_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.starts_with('{') && line.find("\"step\"") != std::string_view::npos;
}

Source read(const Flags& flags) {
  std::error_code problem;
  if (std::filesystem::is_directory(flags.file, problem))
    throw Refused{fmt::format("'{}' is a directory", flags.file)};
  std::ifstream file(flags.file == "-" ? "/dev/stdin" : flags.file, std::ios::binary);
  if (!file) throw Refused{fmt::format("cannot read '{}': {}", flags.file, std::strerror(errno))};
  std::string head(1 << 16, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));

  Source source;
  causality::Collector collector;
  Progress progress;
  std::vector<causality::LogSink*> sinks = {&collector, &progress};
  std::optional<OutputFile> exported;
  std::optional<causality::ShivizWriter> writer;
  if (!flags.shiviz.empty()) {
    exported.emplace(flags.shiviz);
    sinks.push_back(&writer.emplace(exported->stream()));
  }
  causality::LogTee sink(sinks);
  const auto refuse = [&](const std::string& why) { throw Refused{fmt::format("{}: {}", flags.file, why)}; };
  if (flags.regex.empty() && (trace::begins_trace(head) || is_json_line(head))) {
    std::stringstream whole(std::move(head), std::ios::in | std::ios::out | std::ios::ate);
    file.clear();
    if (file.peek() != std::ifstream::traits_type::eof()) whole << file.rdbuf();
    auto run = trace::read(whole);
    if (!run) refuse(run.error());
    causality::replay(*run, sink);
    source.run = std::move(*run);
  } else {
    file.clear();
    auto summary =
        causality::read_log(file, head, {.regex = flags.regex, .delimiter = flags.delimiter}, sink);
    if (!summary) refuse(summary.error());
    source.log = std::move(*summary);
  }
  if (exported) {
    writer->finish();
    if (const auto written = exported->finish(); !written) throw Refused{written.error()};
  }
  source.executions = collector.finish();
  return source;
}

// --- What a trace of ours says of its algorithm ------------------------------------------------------------

struct Judgement {
  const catalogue::Entry* entry = nullptr;
  std::unique_ptr<trace::Monitor> monitor = {};
  std::map<std::string, std::uint64_t> sent = {};
  std::uint64_t messages = 0;
  bool failed = false;

  bool claims(const std::string& property) const { return entry->claims_property(property); }
  std::string status(const trace::Verdict& verdict) const {
    if (verdict.holds) return claims(verdict.property) ? "holds" : "not claimed";
    return claims(verdict.property) ? "violated" : "not claimed, violated";
  }
  const trace::MutexMonitor* mutex() const { return dynamic_cast<const trace::MutexMonitor*>(monitor.get()); }
};

Judgement judged(const trace::Run& run) {
  Judgement judgement = {.entry = catalogue::find(run.header.protocol), .failed = !run.end.broken.empty()};
  for (const trace::Step& step : run.steps) {
    for (const trace::Sent& sent : step.sends) {
      if (step.kind == trace::Kind::tell) continue;
      ++judgement.sent[sent.what.type];
      ++judgement.messages;
    }
  }
  if (!judgement.entry || !judgement.entry->monitor) return judgement;
  sim::Options options;
  if (judgement.entry->usual) judgement.entry->usual(options);
  options.nodes = run.header.nodes.size();
  const catalogue::Setting setting = {.protocol = run.header.protocol,
                                      .variant = run.header.variant,
                                      .members = run.header.nodes,
                                      .seed = run.header.seed};
  judgement.monitor = judgement.entry->monitor(sim::of_unknown_slowness(options), setting);
  judgement.monitor->begin(run.header);
  for (const trace::Step& step : run.steps) judgement.monitor->see(step);
  judgement.monitor->end(run.end);
  for (const trace::Verdict& verdict : judgement.monitor->verdicts())
    judgement.failed = judgement.failed || (!verdict.holds && judgement.claims(verdict.property));
  return judgement;
}

void print_judgement(const trace::Run& run, const Judgement& judgement) {
  fmt::print("{} ({}), world {}, seed {}: {} nodes, {} steps, {} messages",
             paint(run.header.protocol, Colour::bold), run.header.variant, run.header.world, run.header.seed,
             run.header.nodes.size(), with_commas(run.steps.size()), with_commas(judgement.messages));
  if (const auto* mutex = judgement.mutex())
    fmt::print(", {} entries", with_commas(mutex->summary().entries.size()));
  fmt::print("\n\n");
  if (!judgement.monitor) {
    fmt::print("  the catalogue has no judge for '{}': only causality is looked at\n", run.header.protocol);
    return;
  }
  std::size_t widest = 6;
  for (const trace::Verdict& verdict : judgement.monitor->verdicts())
    widest = std::max(widest, verdict.property.size());
  for (const trace::Verdict& verdict : judgement.monitor->verdicts()) {
    const bool mine = judgement.claims(verdict.property);
    fmt::print("  {:<{}} {}{}\n", verdict.property, widest,
               paint(judgement.status(verdict), !mine           ? Colour::dim
                                                : verdict.holds ? Colour::green
                                                                : Colour::red),
               verdict.holds ? "" : fmt::format(": {} (step {})", verdict.why, verdict.step.value_or(0)));
  }
  for (const trace::Fact& fact : judgement.monitor->facts()) fmt::print("  {}: {}\n", fact.name, fact.text);
  if (!run.end.broken.empty()) fmt::print("  broken: {}\n", run.end.broken);
}

Json judgement_json(const trace::Run& run, const Judgement& judgement) {
  Json report = {{"protocol", run.header.protocol}, {"variant", run.header.variant},
                 {"world", run.header.world},       {"nodes", run.header.nodes.size()},
                 {"steps", run.steps.size()},       {"messages", judgement.sent}};
  if (const auto* mutex = judgement.mutex()) report["entries"] = mutex->summary().entries.size();
  Json properties = Json::object();
  if (judgement.monitor) {
    for (const trace::Verdict& verdict : judgement.monitor->verdicts())
      properties[verdict.property] = judgement.status(verdict);
    for (const trace::Fact& fact : judgement.monitor->facts())
      report[fact.name] = Json::parse(fact.json, nullptr, false);
  }
  report["properties"] = properties;
  report["broken"] = run.end.broken;
  return report;
}

// --- What the clocks say -----------------------------------------------------------------------------------

constexpr std::uint64_t most_cuts_counted = 1'000'000;
constexpr std::uint64_t most_events_for_lattice = 2'000;
constexpr std::uint64_t most_events_drawn = 200'000;

// None: too many for counting them in passing.
std::optional<std::uint64_t> consistent_cuts(const Execution& execution) {
  if (execution.history.events() > most_events_for_lattice || execution.names.size() > 64)
    return std::nullopt;
  return causality::Lattice(execution.history, most_cuts_counted).count();
}

std::uint64_t all_pairs(const Execution& execution) {
  const std::uint64_t events = execution.history.events();
  return events == 0 ? 0 : events * (events - 1) / 2;
}

std::string flaw_in_words(const Execution& execution) {
  const causality::Flaw& flaw = *execution.history.flaw();
  std::string text = fmt::format("line {}: {}", flaw.line, causality::in_words(flaw, execution.names));
  if (flaw.kind == causality::Flaw::Kind::never_happened &&
      execution.history.events_of(flaw.other.process) == 0)
    text += fmt::format(": the file has no events of {}; join the logs of all hosts",
                        execution.names[flaw.other.process]);
  return text;
}

std::string with_line(EventId event, const Execution& execution) {
  return fmt::format("{} (line {})", execution.name(event), execution.history.line(event));
}

std::string with_words(EventId event, const Execution& execution) {
  const std::string_view text = execution.text(event);
  std::string shown(text.substr(0, 60));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text.empty()
             ? with_line(event, execution)
             : fmt::format("{}: {}{}", with_line(event, execution), shown, text.size() > 60 ? "…" : "");
}

Json path_json(const std::vector<causality::Stretch>& path, const Execution& execution) {
  Json list = Json::array();
  for (const causality::Stretch& stretch : path)
    list.push_back(
        {{"host", execution.names[stretch.process]}, {"first", stretch.first}, {"last", stretch.last}});
  return list;
}

Json cut_json(const Cut& cut, const Execution& execution) {
  Json object = Json::object();
  for (std::uint32_t process = 0; process < cut.size(); ++process)
    object[execution.names[process]] = cut[process];
  return object;
}

void print_hosts(const Execution& execution) {
  constexpr std::uint32_t most = 20;
  Table table({Table::Align::left, Table::Align::right});
  for (std::uint32_t process = 0; process < execution.names.size() && process < most; ++process)
    table.add({"  " + execution.names[process], with_commas(execution.history.events_of(process))});
  fmt::print("{}", table.to_string());
  if (execution.names.size() > most) fmt::print("  … and {} more hosts\n", execution.names.size() - most);
}

void print_clocks(const Execution& execution) {
  const causality::History& history = execution.history;
  if (history.flaw()) {
    fmt::print("  clocks            {}: {}\n", paint("wrong", Colour::red), flaw_in_words(execution));
    if (history.flaws() > 1)
      fmt::print("                    and {} more after it; what follows from wrong clocks is not computed\n",
                 with_commas(history.flaws() - 1));
    return;
  }
  const std::uint64_t pairs = all_pairs(execution);
  fmt::print("  clocks            {}\n", paint("right", Colour::green));
  fmt::print("  messages          {}\n", with_commas(history.messages()));
  fmt::print("  concurrent pairs  {} of {} ({:.3g} %)\n", with_commas(history.concurrent_pairs()),
             with_commas(pairs),
             pairs == 0
                 ? 0.0
                 : 100.0 * static_cast<double>(history.concurrent_pairs()) / static_cast<double>(pairs));
  fmt::print("  longest chain     {} events: {}\n", with_commas(history.longest_chain()),
             causality::to_text(history.longest_chain_path(), execution, 4));
  if (const auto cuts = consistent_cuts(execution)) {
    fmt::print("  consistent cuts   {}\n", with_commas(*cuts));
  } else {
    fmt::print("  consistent cuts   not counted: more than {}\n", with_commas(most_cuts_counted));
  }
}

Json clocks_json(const Execution& execution) {
  const causality::History& history = execution.history;
  Json hosts = Json::object();
  for (std::uint32_t process = 0; process < execution.names.size(); ++process)
    hosts[execution.names[process]] = history.events_of(process);
  Json report = {{"label", execution.label}, {"events", history.events()}, {"hosts", hosts}};
  if (history.flaw()) {
    report["clocks"] = {{"right", false},
                        {"line", history.flaw()->line},
                        {"why", causality::in_words(*history.flaw(), execution.names)},
                        {"flaws", history.flaws()}};
    return report;
  }
  report["clocks"] = {{"right", true}};
  report["messages"] = history.messages();
  report["pairs"] = all_pairs(execution);
  report["concurrent_pairs"] = history.concurrent_pairs();
  report["longest_chain"] = {{"length", history.longest_chain()},
                             {"path", path_json(history.longest_chain_path(), execution)}};
  const auto cuts = consistent_cuts(execution);
  report["consistent_cuts"] = cuts ? Json(*cuts) : Json();
  return report;
}

// --- Questions ---------------------------------------------------------------------------------------------

// An answer for people and for programs, and whether it is the good one.
struct Answer {
  std::string text;
  Json json;
  bool good = true;
};

template <class T>
T understood(std::expected<T, std::string> parsed) {
  if (!parsed) throw Refused{parsed.error()};
  return std::move(*parsed);
}

Answer answer_before(const Flags& flags, const Execution& execution) {
  const EventId a = understood(causality::parse_event(flags.before[0], execution));
  const EventId b = understood(causality::parse_event(flags.before[1], execution));
  Answer answer = {.json = {{"a", execution.name(a)}, {"b", execution.name(b)}}};
  const auto path = execution.history.path(a, b);
  answer.good = !path.empty();
  answer.json["before"] = answer.good;
  if (answer.good) {
    answer.text = fmt::format("{} happened before {}\n  {}\n", execution.name(a), execution.name(b),
                              causality::to_text(path, execution));
    answer.json["path"] = path_json(path, execution);
  } else if (a == b) {
    answer.text = fmt::format("{} did not happen before itself\n", execution.name(a));
  } else {
    const auto back = execution.history.path(b, a);
    answer.json["concurrent"] = back.empty();
    answer.text = back.empty() ? fmt::format("{} and {} are concurrent: neither happened before the other\n",
                                             execution.name(a), execution.name(b))
                               : fmt::format("no, {} happened before {}\n  {}\n", execution.name(b),
                                             execution.name(a), causality::to_text(back, execution));
  }
  answer.text += fmt::format("  {}\n  {}\n", with_words(a, execution), with_words(b, execution));
  return answer;
}

Answer answer_cut(const std::string& text, const Execution& execution) {
  const Cut cut = understood(causality::parse_cut(text, execution));
  const auto found = causality::contradictions(execution.history, cut);
  Answer answer = {.json = {{"cut", cut_json(cut, execution)}, {"consistent", found.empty()}},
                   .good = found.empty()};
  if (found.empty()) {
    answer.text = fmt::format("cut {}: {}\n", text, paint("consistent", Colour::green));
    return answer;
  }
  answer.text = fmt::format("cut {}: {}\n", text, paint("not consistent", Colour::red));
  Json offending = Json::array();
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& [knows, of, direct] = found[i];
    offending.push_back({{"inside", execution.name(knows)},
                         {"inside_line", execution.history.line(knows)},
                         {"outside", execution.name(of)},
                         {"outside_line", execution.history.line(of)},
                         {"message", direct}});
    if (i < most)
      answer.text +=
          fmt::format("  {} is inside and {} {}, which is outside\n", with_line(knows, execution),
                      direct ? "received from" : "knows, through others,", with_line(of, execution));
  }
  if (found.size() > most) answer.text += fmt::format("  … and {} more\n", found.size() - most);
  const Cut least = causality::least_consistent_containing(execution.history, cut);
  const Cut greatest = causality::greatest_consistent_inside(execution.history, cut);
  answer.text += fmt::format("  least consistent cut that contains it: {}\n  greatest one inside it: {}\n",
                             causality::to_text(least, execution), causality::to_text(greatest, execution));
  answer.json["offending"] = offending;
  answer.json["least_containing"] = cut_json(least, execution);
  answer.json["greatest_inside"] = cut_json(greatest, execution);
  return answer;
}

Answer answer_recovery(const Flags& flags, const Execution& execution) {
  const auto checkpoints = understood(causality::parse_checkpoints(flags.checkpoints, execution));
  const auto line = causality::recovery_line(execution.history, checkpoints);
  Answer answer = {.text = fmt::format("recovery line: {}\n", causality::to_text(line.line, execution)),
                   .json = {{"recovery_line", cut_json(line.line, execution)},
                            {"rolled_back", cut_json(line.rolled_back, execution)},
                            {"lost_events", cut_json(line.lost, execution)}}};
  for (const causality::Rollback& step : line.steps)
    answer.text += fmt::format("  {} goes back from {} to {}: {} knows {}, which is undone\n",
                               execution.names[step.process], step.from, step.to,
                               execution.name(step.received), execution.name(step.sent));
  for (std::uint32_t process = 0; process < execution.names.size(); ++process)
    answer.text +=
        fmt::format("  {}: {} checkpoint{} given up, {} event{} to do again\n", execution.names[process],
                    line.rolled_back[process], line.rolled_back[process] == 1 ? "" : "s", line.lost[process],
                    line.lost[process] == 1 ? "" : "s");
  return answer;
}

struct Answers {
  std::string text;
  Json json = Json::object();
  bool good = true;
};

Answers answered(const Flags& flags, const Execution& execution) {
  Answers answers;
  const auto add = [&](const Answer& answer) {
    answers.text += answer.text;
    answers.good = answers.good && answer.good;
  };
  if (!flags.before.empty()) {
    const Answer answer = answer_before(flags, execution);
    add(answer);
    answers.json["before"] = answer.json;
  }
  Json cuts = Json::array();
  for (const std::string& cut : flags.cuts) {
    const Answer answer = answer_cut(cut, execution);
    add(answer);
    cuts.push_back(answer.json);
  }
  if (!cuts.empty()) answers.json["cuts"] = cuts;
  if (!flags.checkpoints.empty()) {
    const Answer answer = answer_recovery(flags, execution);
    add(answer);
    answers.json["recovery"] = answer.json;
  }
  return answers;
}

// --- The verb ----------------------------------------------------------------------------------------------

// The execution that questions and drawings are about.
const Execution& chosen(const Flags& flags, const Source& source) {
  const std::size_t count = source.executions.size();
  if (flags.execution > count)
    throw Refused{fmt::format("there {} {} execution{} in the file", count == 1 ? "is" : "are", count,
                              count == 1 ? "" : "s")};
  if (flags.execution == 0 && count > 1)
    throw Refused{fmt::format("the file holds {} executions: say which one with --execution", count)};
  const Execution& execution = *source.executions[flags.execution == 0 ? 0 : flags.execution - 1];
  if (execution.history.flaw())
    throw Refused{
        fmt::format("the clocks are wrong, so nothing follows from them: {}", flaw_in_words(execution))};
  return execution;
}

void draw(const Flags& flags, const Source& source) {
  if (!flags.diagram && flags.svg.empty()) return;
  causality::Drawable from_log;
  if (!source.run) {
    const Execution& execution = chosen(flags, source);
    if (execution.history.events() > most_events_drawn)
      throw Refused{fmt::format("{} events are too many to draw; {} are possible",
                                with_commas(execution.history.events()), with_commas(most_events_drawn))};
    from_log = causality::drawable(execution, std::filesystem::path(flags.file).filename().string());
  }
  const trace::Header& header = source.run ? source.run->header : from_log.header;
  const std::vector<trace::Step>& steps = source.run ? source.run->steps : from_log.steps;
  if (!flags.svg.empty())
    if (const auto written = write_file(flags.svg, trace::draw_svg(header, steps, {})); !written)
      throw Refused{written.error()};
  if (flags.diagram && !flags.json)
    fmt::print("{}\n", trace::draw_text(header, steps, {.colour = use_colour(), .width = terminal_width()}));
}

void print_log(const Flags& flags, const Source& source) {
  fmt::print("{}: {} lines, {}{}\n\n", paint(flags.file, Colour::bold), with_commas(source.log.lines),
             source.log.form,
             source.log.skipped == 0 ? "" : fmt::format("; {} skipped", with_commas(source.log.skipped)));
}

void print_causality(const Flags& flags, const Source& source) {
  for (std::size_t i = 0; i < source.executions.size(); ++i) {
    const Execution& execution = *source.executions[i];
    if (flags.execution != 0 && flags.execution != i + 1) continue;
    if (source.executions.size() > 1)
      fmt::print("execution {}{}\n", i + 1, execution.label.empty() ? "" : ": " + execution.label);
    fmt::print("  {} host{}, {} events\n", execution.names.size(), execution.names.size() == 1 ? "" : "s",
               with_commas(execution.history.events()));
    if (!source.run) print_hosts(execution);
    print_clocks(execution);
    if (i + 1 < source.executions.size()) fmt::print("\n");
  }
}

Json causality_json(const Source& source) {
  Json list = Json::array();
  for (const auto& execution : source.executions) list.push_back(clocks_json(*execution));
  return list;
}

int run(const Flags& flags) {
  try {
    const Source source = read(flags);
    const Judgement judgement = source.run ? judged(*source.run) : Judgement{};
    bool failed = judgement.failed;
    for (const auto& execution : source.executions) failed = failed || execution->history.flaw().has_value();
    // Answers first: a question that makes no sense is refused before anything is printed or written.
    Answers answers;
    if (flags.asks()) {
      answers = answered(flags, chosen(flags, source));
      failed = !answers.good;
    }
    draw(flags, source);
    if (flags.json) {
      Json report = source.run ? judgement_json(*source.run, judgement)
                               : Json{{"file", flags.file},
                                      {"lines", source.log.lines},
                                      {"skipped", source.log.skipped},
                                      {"form", source.log.form}};
      report["executions"] = causality_json(source);
      report.update(answers.json);
      fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
    } else if (flags.asks()) {
      fmt::print("{}", answers.text);
    } else {
      if (source.run) {
        print_judgement(*source.run, judgement);
        fmt::print("\n");
      } else {
        print_log(flags, source);
      }
      print_causality(flags, source);
    }
    return failed ? property_failed : ok;
  } catch (const Refused& refused) {
    return complain(refused.why);
  }
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "trace",
      "Read a trace or a log of vector clocks: what held, what happened before what, the diagram of it");
  verb->add_option("FILE", flags->file,
                   "as written by conclave sim --trace, or a log as ShiViz and GoVector have them; - is the "
                   "standard input; docs/trace.md describes both");
  verb->add_option("--regex", flags->regex,
                   "how an event of the log looks, with groups (?<host>…), (?<clock>…) and (?<event>…)");
  verb->add_option("--delimiter", flags->delimiter,
                   "what separates executions, a regular expression that may have a group (?<trace>…)");
  verb->add_option("--execution", flags->execution, "only this one of several, from 1");
  verb->add_option("--before", flags->before, "did A happen before B? Events are host.number; status 1: no")
      ->expected(2)
      ->type_name("A B");
  verb->add_option("--cut", flags->cuts, "is the cut host=3,host2=5 consistent? Status 1: no")
      ->allow_extra_args(false)
      ->type_name("CUT");
  verb->add_option("--checkpoints", flags->checkpoints,
                   "where to recover, if states were saved after the events host=2,host=5,host2=3");
  verb->add_flag("--diagram", flags->diagram, "draw it as a space-time diagram");
  verb->add_option("--svg", flags->svg, "the same, as a picture in this file");
  verb->add_option("--shiviz", flags->shiviz, "write the events to this file in the form that ShiViz reads");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->footer(
      "Examples:\n  conclave sim lamport --nodes 3 --trace run.jsonl\n  conclave trace run.jsonl --svg "
      "run.svg\n  conclave trace run.jsonl --before p1.3 p2.5\n  conclave trace tests/logs/letters.log --cut "
      "alice=2,bob=3");
  add_trace_merge(*verb, action);
  verb->callback([flags, verb, &action] {
    if (!verb->get_subcommands().empty()) return;
    if (flags->file.empty()) throw CLI::RequiredError("FILE");
    action = [flags] { return run(*flags); };
  });
}

}  // namespace conclave::cli
