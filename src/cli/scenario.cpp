// conclave scenario: questions answered by runs that one can watch.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "scenario/scenario.hpp"
#include "trace/diagram.hpp"
#include "trace/json.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
using scenario::Played;
using scenario::Run;
using scenario::Scenario;

struct Flags {
  std::string name;
  std::size_t run = 0;  // 0: all
  std::string svg;
  std::string trace;
  bool brief = false;
  bool json = false;
  bool markdown = false;
};

// Breaks a text into lines that fit, each with the margin.
std::string wrapped(std::string_view text, std::size_t margin) {
  const std::size_t width = std::max<std::size_t>(40, std::min<std::size_t>(110, terminal_width())) - margin;
  std::string out;
  std::string line;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!line.empty() && columns(line) + 1 + columns(word) > width) {
      out += std::string(margin, ' ') + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + std::string(margin, ' ') + line + '\n';
}

// docs/scenarios.md
void print_markdown() {
  fmt::print(
      "# Scenarios\n\n"
      "Questions about coordination, each answered by runs that one can watch: `conclave scenario NAME` "
      "prints "
      "the question,\n"
      "the runs as space-time diagrams, the verdicts of the monitor, and why it is so. It fails if the runs "
      "do "
      "not show what\n"
      "the answer says. This page is what `conclave scenario --markdown` prints.\n\n"
      "| scenario | question | answer | source |\n|---|---|---|---|\n");
  for (const Scenario& scenario : scenario::scenarios())
    fmt::print("| `{}` | {} | {} | {} |\n", scenario.name, scenario.question, scenario.answer,
               scenario.source);
}

int list(const Flags& flags) {
  if (flags.markdown) {
    print_markdown();
    return ok;
  }
  if (flags.json) {
    Json all = Json::array();
    for (const Scenario& scenario : scenario::scenarios())
      all.push_back({{"name", scenario.name},
                     {"question", scenario.question},
                     {"answer", scenario.answer},
                     {"source", scenario.source}});
    fmt::print("{}\n", all.dump(2));
    return ok;
  }
  std::size_t width = 0;
  for (const Scenario& scenario : scenario::scenarios()) width = std::max(width, scenario.name.size());
  for (const Scenario& scenario : scenario::scenarios()) {
    const std::string question = wrapped(scenario.question, width + 2);
    fmt::print("{}{}{}", paint(scenario.name, Colour::bold),
               std::string(width + 2 - scenario.name.size(), ' '), question.substr(width + 2));
  }
  fmt::print("\nconclave scenario NAME plays one.\n");
  return ok;
}

void print_run(const Run& run, std::size_t number, bool brief) {
  fmt::print("{}\n", paint(fmt::format("Run {}  {}", number, run.title), Colour::bold));
  if (!brief)
    fmt::print(
        "\n{}\n",
        trace::draw_text(run.trace.header, run.to_draw(),
                         {.colour = use_colour(), .width = terminal_width(), .most_rows = run.rows_to_draw}));
  if (run.messages() > 0) fmt::print("  messages: {}\n", with_commas(run.messages()));
  for (const trace::Fact& fact : run.facts) fmt::print("  {}: {}\n", fact.name, fact.text);
  std::vector<std::string> held;
  for (const trace::Verdict& verdict : run.verdicts) {
    if (verdict.holds) {
      held.push_back(verdict.property);
    } else {
      fmt::print("  {} {}: {}{}\n", verdict.property, paint("violated", Colour::red), verdict.why,
                 verdict.step ? fmt::format(" (step {})", *verdict.step) : "");
    }
  }
  if (!held.empty())
    fmt::print("  {} {}\n", fmt::join(held, ", "), paint(held.size() == 1 ? "holds" : "hold", Colour::green));
  fmt::print("\n");
}

bool chosen(const Flags& flags, std::size_t number) { return flags.run == 0 || flags.run == number; }

void print(const Flags& flags, const Scenario& scenario, const Played& played) {
  fmt::print("{}\n{}  {}\n\n", paint(scenario.name, Colour::bold), wrapped(scenario.question, 2),
             paint(scenario.source, Colour::dim));
  for (std::size_t i = 0; i < played.runs.size(); ++i) {
    if (chosen(flags, i + 1)) print_run(played.runs[i], i + 1, flags.brief);
  }
  fmt::print("{}\n", paint("What was to be seen", Colour::bold));
  for (const scenario::Observation& observation : played.observed)
    fmt::print("  {} {}\n",
               observation.seen ? paint("seen    ", Colour::green) : paint("NOT SEEN", Colour::red),
               observation.what);
  fmt::print("\n{}\n{}{}", paint("Answer", Colour::bold), wrapped(scenario.answer, 2),
             wrapped(scenario.explanation, 2));
}

Json run_json(const Run& run) {
  Json nodes = Json::array();
  for (NodeId node : run.trace.header.nodes) nodes.push_back(node.value);
  Json properties = Json::object();
  for (const trace::Verdict& verdict : run.verdicts) {
    Json property = {{"status", verdict.holds ? "holds" : "violated"}};
    if (!verdict.holds) {
      property["why"] = verdict.why;
      property["step"] = verdict.step ? Json(*verdict.step) : Json();
    }
    properties[verdict.property] = property;
  }
  Json facts = Json::object();
  for (const trace::Fact& fact : run.facts) facts[fact.name] = Json::parse(fact.json);
  return {{"title", run.title},
          {"protocol", run.trace.header.protocol},
          {"variant", run.trace.header.variant},
          {"nodes", nodes},
          {"steps", run.trace.steps.size()},
          {"messages", run.messages()},
          {"properties", properties},
          {"facts", facts}};
}

Json to_json(const Scenario& scenario, const Played& played) {
  Json runs = Json::array();
  for (const Run& run : played.runs) runs.push_back(run_json(run));
  Json observed = Json::array();
  for (const scenario::Observation& observation : played.observed)
    observed.push_back({{"what", observation.what}, {"seen", observation.seen}});
  return {{"scenario", scenario.name},
          {"question", scenario.question},
          {"source", scenario.source},
          {"runs", runs},
          {"observed", observed},
          {"answer", scenario.answer},
          {"explanation", scenario.explanation},
          {"holds", played.holds()}};
}

// Several runs go to several files: run.svg becomes run-1.svg, run-2.svg, …
std::string file_of(const std::string& path, std::size_t number, bool several) {
  if (!several) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() /
          fmt::format("{}-{}{}", whole.stem().string(), number, whole.extension().string()))
      .string();
}

std::string trace_text(const Run& run) {
  std::ostringstream out;
  trace::JsonWriter writer(out);
  writer.begin(run.trace.header);
  for (const trace::Step& step : run.trace.steps) writer.see(step);
  writer.end(run.trace.end);
  return out.str();
}

std::expected<void, std::string> write_files(const Flags& flags, const Played& played) {
  const bool several = flags.run == 0 && played.runs.size() > 1;
  for (std::size_t i = 0; i < played.runs.size(); ++i) {
    if (!chosen(flags, i + 1)) continue;
    const Run& run = played.runs[i];
    if (!flags.svg.empty()) {
      const std::string picture = trace::draw_svg(run.trace.header, run.to_draw(), {});
      if (auto written = write_file(file_of(flags.svg, i + 1, several), picture); !written) return written;
    }
    if (!flags.trace.empty()) {
      if (auto written = write_file(file_of(flags.trace, i + 1, several), trace_text(run)); !written)
        return written;
    }
  }
  return {};
}

int unknown(const std::string& name) {
  std::vector<std::string> near;
  for (const Scenario& scenario : scenario::scenarios()) {
    if (scenario.name.find(name) != std::string_view::npos) near.emplace_back(scenario.name);
  }
  return complain(fmt::format("there is no scenario '{}'; {}", name,
                              near.empty() ? "conclave scenario lists them"
                                           : fmt::format("did you mean {}?", fmt::join(near, ", "))));
}

int run(const Flags& flags) {
  if (flags.name.empty()) {
    if (flags.run > 0 || flags.brief || !flags.svg.empty() || !flags.trace.empty())
      return complain("say which scenario to play: conclave scenario lists them");
    return list(flags);
  }
  if (flags.markdown) return complain("--markdown is the list of all: give no name");
  const Scenario* const scenario = scenario::find(flags.name);
  if (!scenario) return unknown(flags.name);
  const Played played = scenario::play(*scenario);
  if (flags.run > played.runs.size())
    return complain(fmt::format("--run {}: {} has {} run{}", flags.run, flags.name, played.runs.size(),
                                played.runs.size() == 1 ? "" : "s"));
  if (const auto written = write_files(flags, played); !written) return complain(written.error());
  if (flags.json) {
    fmt::print("{}\n", to_json(*scenario, played).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print(flags, *scenario, played);
  }
  if (!played.holds()) fmt::print(stderr, "conclave: {} did not show what it says\n", flags.name);
  return played.holds() ? ok : property_failed;
}

}  // namespace

void add_scenario(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "scenario", "Questions about coordination, each answered by a run that one can watch");
  verb->add_option("NAME", flags->name, "the scenario; without it, a list of all with their questions");
  verb->add_option("--run", flags->run, "only this one of several runs, from 1")->check(CLI::PositiveNumber);
  verb->add_flag("--brief", flags->brief, "without the diagrams");
  verb->add_option("--svg", flags->svg,
                   "the diagram as a picture in this file; of several runs, FILE-1.svg, FILE-2.svg, …");
  verb->add_option("--trace", flags->trace,
                   "write one JSON line per step to this file; of several runs, FILE-1, FILE-2, …");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->add_flag("--markdown", flags->markdown, "the list as docs/scenarios.md has it");
  verb->footer(
      "Exit status: 0 the runs show what the scenario says, 1 they do not, 2 wrong usage.\n\n"
      "Examples:\n"
      "  conclave scenario\n"
      "  conclave scenario maekawa-deadlock\n"
      "  conclave scenario bully-take-over --run 2 --svg polite.svg\n"
      "  conclave scenario flp --brief");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
