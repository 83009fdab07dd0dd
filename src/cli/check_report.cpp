#include "cli/check_report.hpp"

#include <algorithm>
#include <array>

#include "cli/terminal.hpp"
#include "trace/diagram.hpp"
#include "trace/drawing.hpp"
#include "trace/words.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", with_commas(count), count == 1 ? one : many);
}

double bytes_per_state(const check::Report& report) {
  return static_cast<double>(report.bytes) / static_cast<double>(std::max<std::uint64_t>(1, report.states));
}

// There is one at most: what sleeps has a name.
std::string_view reduction(const check::Report& report) {
  if (report.symmetry) return "symmetry";
  return report.partial_order ? "partial order" : "none";
}

std::string search_text(const check::Options& options, const check::Report& report) {
  return fmt::format("reduction: {}; {}, {}", reduction(report),
                     options.exact ? "whole states kept" : "96 bits of each state kept",
                     counted(options.workers, "worker", "workers"));
}

std::string configuration_text(const Explored& explored) {
  const auto& [entry, plan, report, beyond, played] = explored;
  const check::Options& options = plan.options;
  const std::string& variant = plan.setting.variant;
  std::string out =
      fmt::format("{}{}: {}, {}, {}, budget: {}", paint(entry.name, Colour::bold),
                  variant == "canonical" ? "" : " (" + variant + ")", counted(options.nodes, "node", "nodes"),
                  entries_text(options), links_text(entry, options), budget_text(options.budget));
  for (const auto& [name, value] : plan.setting.parameters) out += fmt::format(", {} {}", name, value);
  out += fmt::format("\n  {}\n", search_text(options, report));
  if (!beyond.empty())
    out += fmt::format("  {} the algorithm does not assume: {}\n",
                       paint("Beyond assumptions.", Colour::yellow), fmt::join(beyond, ", "));
  return out;
}

std::string figures_text(const check::Report& report) {
  Table table({Table::Align::left, Table::Align::left});
  table.add({"  states", with_commas(report.states)});
  table.add({"  edges", with_commas(report.edges)});
  table.add({"  depth", with_commas(report.depth)});
  table.add({"  final states", with_commas(report.final_states)});
  for (const auto& [what, figure] : report.figures) table.add({"  " + what, with_commas(figure)});
  table.add({"  time", fmt::format("{:.2f} s, {} states/s", report.seconds,
                                   with_commas(static_cast<std::uint64_t>(states_per_second(report))))});
  table.add({"  memory", fmt::format("{}, {:.0f} bytes per state",
                                     size_text(static_cast<double>(report.bytes)), bytes_per_state(report))});
  return table.to_string();
}

// Also of what went wrong without having been asked for: a protocol that broke its own rules.
std::vector<std::string> judged_properties(const check::Report& report) {
  std::vector<std::string> properties = report.properties;
  for (const check::Finding& finding : report.findings) {
    if (std::ranges::find(properties, finding.property) == properties.end())
      properties.push_back(finding.property);
  }
  return properties;
}

std::string verdicts_text(const check::Report& report) {
  Table table({Table::Align::left, Table::Align::left});
  for (const std::string& property : judged_properties(report)) {
    const check::Finding* finding = report.violation(property);
    if (finding)
      table.add({"  " + property, fmt::format("{} after {}: {}", paint("violated", Colour::red),
                                              counted(finding->steps, "step", "steps"), finding->why)});
    else
      table.add({"  " + property, report.complete ? paint("holds", Colour::green)
                                                  : paint("not violated in what was seen", Colour::yellow)});
  }
  for (const auto& [what, seen] : report.sometimes) {
    const Colour unseen = report.complete && report.findings.empty() ? Colour::red : Colour::dim;
    table.add({"  sometimes",
               fmt::format("{}: {}", what, seen ? paint("seen", Colour::green) : paint("not seen", unseen))});
  }
  return table.to_string();
}

std::string coverage_text(const check::Report& report, const check::Budget& budget) {
  if (report.complete)
    return fmt::format("Every state that is reachable{} was seen.",
                       budget == check::Budget{} ? "" : " within these budgets");
  if (!report.stopped_by.empty())
    return fmt::format("Bounded by {}: nothing is said about what lies beyond.", report.stopped_by);
  return "The search ended with the first violation.";
}

// Words in full where nobody's terminal has to be wide enough for them.
trace::TextStyle style_of(const Played& played) {
  constexpr std::size_t wide_file = 400;
  return {.colour = use_colour(),
          .width = on_terminal(stdout) ? terminal_width() : wide_file,
          .most_rows = played.steps.size()};
}

// The diagram has one row for each step worth drawing, below the names of the processes.
std::string diagram_text(const Played& played) {
  const std::string drawn = trace::draw_text(played.header, played.steps, style_of(played));
  if (played.steps_on_the_way >= played.steps.size()) return drawn;
  const std::vector<trace::Step> cycle(
      played.steps.begin() + static_cast<std::ptrdiff_t>(played.steps_on_the_way), played.steps.end());
  const std::size_t round = trace::first_rows(cycle, cycle.size()).steps.size();
  std::size_t at = drawn.size();
  for (std::size_t line = 0; line <= round && at != std::string::npos && at > 0; ++line)
    at = drawn.rfind('\n', at - 1);
  if (at == std::string::npos || at == 0) return drawn;
  return drawn.substr(0, at + 1) + "from here it goes round:\n" + drawn.substr(at + 1);
}

// Words only where the lanes do not fit.
std::string shown(const Played& played) {
  const std::size_t rows = trace::first_rows(played.steps, played.steps.size()).steps.size();
  const std::string drawn = diagram_text(played);
  const auto lines = static_cast<std::size_t>(std::ranges::count(drawn, '\n'));
  if (lines > rows || rows == 0) return drawn;
  return drawn + trace::as_lines(trace::in_words(played.header, played.steps));
}

std::string contradiction_text(const check::Finding& finding, const Played& played) {
  return fmt::format(
      "{} the checker found {} violated, and {}.\n"
      "One of them is wrong: this is a fault of conclave, please report it with the command.\n",
      paint("CHECKER AND MONITOR DISAGREE:", Colour::red), finding.property, played.contradiction);
}

std::string finding_text(const Explored& explored, std::size_t index) {
  const check::Finding& finding = explored.report.findings[index];
  std::string out = fmt::format("\n{} after {}: {}\n", paint(finding.property + " is violated", Colour::red),
                                counted(finding.steps, "step", "steps"), finding.why);
  if (index >= explored.played.size()) return out;
  const Played& played = explored.played[index];
  // Those that come later are longer, and each can be asked for.
  if (index == 0)
    out += "\n" + shown(played) + "\n";
  else
    out += fmt::format("  --property {} shows it\n", finding.property);
  if (!played.contradiction.empty()) out += contradiction_text(finding, played);
  return out;
}

}  // namespace

std::string size_text(double bytes) {
  static constexpr std::array units = {"bytes", "KB", "MB", "GB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

std::string budget_text(const check::Budget& budget) {
  std::string out;
  const auto add = [&](std::uint8_t count, std::string_view one, std::string_view many) {
    if (count > 0) out += (out.empty() ? "" : ", ") + counted(count, one, many);
  };
  add(budget.crashes, "crash", "crashes");
  add(budget.recoveries, "recovery", "recoveries");
  add(budget.losses, "loss", "losses");
  add(budget.duplications, "duplication", "duplications");
  add(budget.timeouts, "time-out", "time-outs");
  add(budget.partitions, "partition", "partitions");
  add(budget.tells, "application message", "application messages");
  return out.empty() ? "none" : out;
}

std::string entries_text(const check::Options& options) {
  if (options.for_ever) return "entries for ever";
  std::string out = counted(options.entries, "entry each", "entries each");
  for (const auto& [node, entries] : options.entries_of)
    out += fmt::format(", p{}: {}", node.value, with_commas(entries));
  return out;
}

std::string links_text(const catalogue::Entry& entry, const check::Options& options) {
  if (entry.assumes.links == Links::none) return "shared registers";
  const bool fifo = options.fifo.value_or(entry.assumes.links == Links::reliable_fifo);
  return fifo ? "FIFO links" : "unordered links";
}

double states_per_second(const check::Report& report) {
  return static_cast<double>(report.states) / std::max(report.seconds, 1e-9);
}

std::string verdict(const check::Report& report) {
  if (!report.findings.empty()) return "violated";
  if (!report.holds()) return "silent";
  return report.complete ? "holds" : "bounded";
}

std::string exploration_text(const Explored& explored) {
  const check::Report& report = explored.report;
  std::string out = configuration_text(explored) + "\n" + figures_text(report) + "\n" +
                    verdicts_text(report) + "\n" + coverage_text(report, explored.plan.options.budget) + "\n";
  if (verdict(report) == "silent")
    out += "What must be possible never happens, so that nothing can go wrong proves nothing.\n";
  for (std::size_t i = 0; i < report.findings.size(); ++i) out += finding_text(explored, i);
  return out;
}

Json exploration_json(const Explored& explored) {
  const auto& [entry, plan, report, beyond, played] = explored;
  Json findings = Json::array();
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const check::Finding& finding = report.findings[i];
    Json found = {{"property", finding.property}, {"why", finding.why}, {"steps", finding.steps}};
    if (!finding.cycle.empty()) found["cycle"] = finding.cycle.size();
    if (i < played.size()) {
      found["confirmed"] = played[i].confirmed ? Json(*played[i].confirmed) : Json();
      if (!played[i].contradiction.empty()) found["contradiction"] = played[i].contradiction;
    }
    findings.push_back(std::move(found));
  }
  return {{"protocol", entry.name},
          {"variant", plan.setting.variant},
          {"nodes", plan.options.nodes},
          {"entries", plan.options.entries},
          {"reduction", reduction(report)},
          {"states", report.states},
          {"edges", report.edges},
          {"depth", report.depth},
          {"final_states", report.final_states},
          {"seconds", report.seconds},
          {"states_per_second", states_per_second(report)},
          {"bytes", report.bytes},
          {"bytes_per_state", bytes_per_state(report)},
          {"complete", report.complete},
          {"stopped_by", report.stopped_by.empty() ? Json() : Json(report.stopped_by)},
          {"beyond_assumptions", beyond},
          {"properties", report.properties},
          {"findings", findings},
          {"sometimes", report.sometimes},
          {"figures", report.figures},
          {"holds", report.holds()}};
}

}  // namespace conclave::cli
