// conclave trace: read a trace file, judge it and draw it.
#include "trace/diagram.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "trace/json.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  std::string svg;
  bool diagram = false;
  bool json = false;
};

int run(const Flags& flags) {
  std::ifstream file(flags.file);
  if (!file) return complain(fmt::format("cannot read '{}'", flags.file));
  const auto run = trace::read(file);
  if (!run) return complain(fmt::format("{}: {}", flags.file, run.error()));

  trace::MutexMonitor monitor;
  for (const trace::Step& step : run->steps) monitor.see(step);
  monitor.end(run->end);
  const catalogue::Entry* entry = catalogue::find(run->header.protocol);
  const auto claimed = [&](const std::string& property) {
    return !entry || entry->claims_property(property);
  };
  bool failed = !run->end.broken.empty();
  for (const trace::Verdict& verdict : monitor.verdicts())
    failed = failed || (!verdict.holds && claimed(verdict.property));

  if (!flags.svg.empty()) {
    const auto written = write_file(flags.svg, trace::draw_svg(run->header, run->steps, {}));
    if (!written) return complain(written.error());
  }
  if (flags.json) {
    Json properties = Json::object();
    for (const trace::Verdict& verdict : monitor.verdicts())
      properties[verdict.property] = verdict.holds               ? "holds"
                                     : claimed(verdict.property) ? "violated"
                                                                 : "not claimed, violated";
    fmt::print("{}\n", Json{{"protocol", run->header.protocol},
                            {"variant", run->header.variant},
                            {"world", run->header.world},
                            {"nodes", run->header.nodes.size()},
                            {"steps", run->steps.size()},
                            {"messages", monitor.summary().sent},
                            {"entries", monitor.summary().entries.size()},
                            {"properties", properties},
                            {"broken", run->end.broken}}
                           .dump(2));
    return failed ? property_failed : ok;
  }
  if (flags.diagram)
    fmt::print("{}\n", trace::draw_text(run->header, run->steps,
                                        {.colour = use_colour(), .width = terminal_width()}));
  fmt::print("{} ({}), world {}, seed {}: {} nodes, {} steps, {} messages, {} entries\n\n",
             paint(run->header.protocol, Colour::bold), run->header.variant, run->header.world,
             run->header.seed, run->header.nodes.size(), with_commas(run->steps.size()),
             with_commas(monitor.summary().messages), with_commas(monitor.summary().entries.size()));
  for (const trace::Verdict& verdict : monitor.verdicts()) {
    const bool mine = claimed(verdict.property);
    const std::string state = verdict.holds ? (mine ? "holds" : "not claimed")
                              : mine        ? "violated"
                                            : "not claimed, violated";
    fmt::print("  {:<6} {}{}\n", verdict.property,
               paint(state, !mine           ? Colour::dim
                            : verdict.holds ? Colour::green
                                            : Colour::red),
               verdict.holds ? "" : fmt::format(": {} (step {})", verdict.why, verdict.step.value_or(0)));
  }
  if (!run->end.broken.empty()) fmt::print("  broken: {}\n", run->end.broken);
  return failed ? property_failed : ok;
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("trace", "Read a trace file: which properties held, and the diagram of it");
  verb->add_option("FILE", flags->file,
                   "as written by conclave sim --trace; docs/trace.md describes the format")
      ->required();
  verb->add_flag("--diagram", flags->diagram, "draw it as a space-time diagram");
  verb->add_option("--svg", flags->svg, "the same, as a picture in this file");
  verb->add_flag("--json", flags->json, "the report for programs");
  verb->footer(
      "Example:\n  conclave sim lamport --nodes 3 --trace run.jsonl\n  conclave trace run.jsonl --svg "
      "run.svg");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
