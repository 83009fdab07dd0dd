// conclave compare: the comparison table of the literature, measured.
#include "catalogue/compare.hpp"

#include <algorithm>
#include <cmath>
#include <expected>
#include <nlohmann/json.hpp>

#include "cli/report.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "plot/figure.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string family = "mutex";
  std::vector<std::int64_t> nodes;
  std::string load = "both";
  std::uint64_t seed = 1;
  std::string plot;
  bool json = false;
};

constexpr std::int64_t most_nodes = 256;

std::string cell(const std::optional<catalogue::Measured>& measured) {
  if (!measured) return "-";
  const std::string text = fmt::format("{:.2f}", measured->value);
  return measured->differs ? paint(text + " *", Colour::yellow) : text + "  ";
}

// The properties that held in all runs of the row; those that broke in red.
std::string kept(const catalogue::ComparedRow& row) {
  std::string out;
  const auto& verdicts = row.light ? row.light->judged.verdicts : row.heavy->judged.verdicts;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const std::string& property = verdicts[i].property;
    if (property == "FCFS" && !row.entry->claims_property(property)) continue;
    const bool holds = (!row.light || row.light->judged.verdicts[i].holds) &&
                       (!row.heavy || row.heavy->judged.verdicts[i].holds);
    const bool claimed = row.entry->claims_property(property);
    const std::string mark = holds ? (claimed ? property : "(" + property + ")") : "no " + property;
    out +=
        (out.empty() ? "" : " ") + paint(mark, holds ? (claimed ? Colour::green : Colour::dim) : Colour::red);
  }
  return out;
}

// An empty figure stands for a load that was not asked for.
std::string literature(const catalogue::ComparedRow& row, bool heavy) {
  const auto& load = heavy ? row.heavy : row.light;
  if (!load) return "";
  return heavy ? load->claims.synchronisation_delay.text : load->claims.client_delay.text;
}

void print_table(std::uint32_t nodes, const std::vector<catalogue::ComparedRow>& rows, bool light,
                 bool heavy) {
  using enum Table::Align;
  fmt::print("\n{}\n", paint(fmt::format("N = {}", nodes), Colour::bold));
  std::vector<Table::Align> align = {left};
  std::vector<std::string> head = {"algorithm"};
  const auto column = [&](Table::Align where, const char* name) {
    align.push_back(where);
    head.emplace_back(name);
  };
  if (light) column(right, "msgs low");
  if (light) column(left, "claimed");
  if (heavy) column(right, "msgs high");
  if (heavy) column(left, "claimed");
  if (light) column(right, "client/T");
  if (light) column(left, "claimed");
  if (heavy) column(right, "sync/T");
  if (heavy) column(left, "claimed");
  if (heavy) column(right, "entries/100T");
  column(left, "kept");
  Table table(align);
  table.add(head);
  table.add_rule();
  for (const catalogue::ComparedRow& row : rows) {
    std::vector<std::string> cells = {std::string(row.entry->name)};
    const auto add = [&](bool wanted, std::string text) {
      if (wanted) cells.push_back(std::move(text));
    };
    add(light, light ? cell(row.light->messages) : "");
    add(light, light ? row.light->claims.messages.text : "");
    add(heavy, heavy ? cell(row.heavy->messages) : "");
    add(heavy, heavy ? row.heavy->claims.messages.text : "");
    add(light, light ? cell(row.light->delay) : "");
    add(light, literature(row, false));
    add(heavy, heavy ? cell(row.heavy->delay) : "");
    add(heavy, literature(row, true));
    add(heavy, heavy ? fmt::format("{:.1f}", row.heavy->throughput) : "");
    cells.push_back(kept(row));
    table.add(cells);
  }
  fmt::print("{}", table.to_string());
  for (const catalogue::ComparedRow& row : rows) {
    for (const std::string& remark : row.remarks)
      fmt::print("  {} {}: {}\n", paint("*", Colour::yellow), row.entry->name, remark);
  }
}

Json figure_json(const catalogue::Figure& figure) {
  return {{"text", figure.text},
          {"low", figure.low < 0 ? Json() : Json(figure.low)},
          {"high", figure.high < 0 ? Json() : Json(figure.high)}};
}

Json load_json(const catalogue::Entry& entry, const catalogue::ComparedLoad& load, bool heavy) {
  const auto measured = [](const std::optional<catalogue::Measured>& value,
                           const catalogue::Figure& claim) -> Json {
    return {{"measured", value ? Json(value->value) : Json()},
            {"claimed", figure_json(claim)},
            {"differs", value && value->differs}};
  };
  Json properties = Json::object();
  for (const trace::Verdict& verdict : load.judged.verdicts)
    properties[verdict.property] = status(entry, load.judged, verdict);
  return {{"messages_per_entry", measured(load.messages, load.claims.messages)},
          {heavy ? "synchronisation_delay" : "client_delay",
           measured(load.delay, heavy ? load.claims.synchronisation_delay : load.claims.client_delay)},
          {"entries_per_100_delays", load.throughput},
          {"entries", load.judged.summary.entries.size()},
          {"messages", load.judged.report.sent},
          {"properties", properties}};
}

bool differs(const catalogue::Measurement& figure) {
  const catalogue::Figure& claim = figure.claimed;
  const auto slack = [&](double bound) { return std::abs(bound) * figure.tolerance + 1e-9; };
  return (claim.low >= 0 && figure.measured < claim.low - slack(claim.low)) ||
         (claim.high >= 0 && figure.measured > claim.high + slack(claim.high));
}

// Messages against N, on logarithmic axes: of every algorithm the dearest of its figures.
class CostPlot {
 public:
  void add(std::string_view name, double nodes, std::string_view what, double messages) {
    auto& costs = of_[std::string(name)];
    costs[std::string(what)].push_back({nodes, messages});
  }
  plot::Figure figure(const std::string& family) const {
    plot::Figure figure = {.title = fmt::format("{}: messages against N", family),
                           .x = {"N", plot::Scale::logarithmic},
                           .y = {"messages", plot::Scale::logarithmic}};
    for (const auto& [name, costs] : of_) {
      const auto last = [](const auto& cost) { return cost.second.back().y; };
      const auto dearest = std::ranges::max_element(costs, {}, last);
      figure.series.push_back({.name = fmt::format("{}: {}", name, dearest->first),
                               .points = dearest->second,
                               .style = plot::Style::line_with_dots});
    }
    return figure;
  }
  bool empty() const { return of_.empty(); }

 private:
  std::map<std::string, std::map<std::string, std::vector<plot::Point>>> of_;
};

int save_plot(const Flags& flags, const CostPlot& costs) {
  if (costs.empty()) return complain(fmt::format("--plot: no figure of {} counts messages", flags.family));
  const auto written = write_file(flags.plot, plot::to_svg(costs.figure(flags.family)));
  return written ? ok : complain(written.error());
}

// Families without loads: each algorithm measures the figures that are claimed of it.
int run_figures(const Flags& flags, const std::vector<const catalogue::Entry*>& rows) {
  using enum Table::Align;
  Json list = Json::array();
  bool failed = false;
  CostPlot costs;
  for (const std::int64_t nodes : flags.nodes) {
    Table table({left, left, right, left});
    table.add({"algorithm", "figure", "measured", "claimed"});
    table.add_rule();
    for (const catalogue::Entry* entry : rows) {
      if (nodes < entry->least_nodes || nodes > entry->most_nodes) continue;
      if (on_terminal(stderr)) fmt::print(stderr, "\rN = {}: {}\033[K", nodes, entry->name);
      std::string name(entry->name);
      for (const auto& figure : entry->measure(static_cast<std::uint32_t>(nodes), flags.seed)) {
        const bool off = differs(figure);
        if (figure.what.starts_with("messages"))
          costs.add(entry->name, static_cast<double>(nodes), figure.what, figure.measured);
        failed = failed || off;
        const std::string text = fmt::format("{:.6g}", figure.measured);
        table.add({std::exchange(name, ""), figure.what, off ? paint(text + " *", Colour::red) : text + "  ",
                   figure.claimed.text});
        list.push_back({{"protocol", entry->name},
                        {"nodes", nodes},
                        {"figure", figure.what},
                        {"measured", figure.measured},
                        {"claimed", figure_json(figure.claimed)},
                        {"differs", off}});
      }
    }
    if (on_terminal(stderr)) fmt::print(stderr, "\r\033[K");
    if (!flags.json)
      fmt::print("\n{}\n{}", paint(fmt::format("N = {}", nodes), Colour::bold), table.to_string());
  }
  if (flags.json) fmt::print("{}\n", list.dump(2));
  if (!flags.json && failed) fmt::print("\n* differs from the claim\n");
  if (!flags.plot.empty()) {
    if (const int status = save_plot(flags, costs); status != ok) return status;
  }
  return failed ? property_failed : ok;
}

// The algorithms of a family that have something to compare; the other families' names if it has none.
std::expected<std::vector<const catalogue::Entry*>, std::string> rows_of(const std::string& family) {
  std::vector<const catalogue::Entry*> rows;
  std::vector<std::string_view> families;
  for (const catalogue::Entry& entry : catalogue::entries()) {
    if (!entry.measure && !entry.claims) continue;
    if (entry.family == family) rows.push_back(&entry);
    if (std::ranges::find(families, entry.family) == families.end()) families.push_back(entry.family);
  }
  if (rows.empty())
    return std::unexpected(
        fmt::format("there is no family '{}' to compare; there are {}", family, fmt::join(families, ", ")));
  return rows;
}

// A curve needs more points than a table has rows.
std::vector<std::int64_t> usual_sizes(bool with_loads, bool plots) {
  if (plots) return {4, 8, 16, 32, 64};
  return with_loads ? std::vector<std::int64_t>{3, 7, 13, 31} : std::vector<std::int64_t>{4, 8};
}

int run(Flags flags) {
  const auto family = rows_of(flags.family);
  if (!family) return complain(family.error());
  const bool with_loads = family->front()->claims != nullptr;
  if (flags.nodes.empty()) flags.nodes = usual_sizes(with_loads, !flags.plot.empty());
  if (flags.load != "low" && flags.load != "high" && flags.load != "both")
    return complain(fmt::format("--load {}: must be low, high or both", flags.load));
  for (const std::int64_t nodes : flags.nodes) {
    if (nodes < 1 || nodes > most_nodes)
      return complain(fmt::format("--nodes {}: compare runs with 1 to {} nodes", nodes, most_nodes));
  }
  if (!with_loads) return run_figures(flags, *family);
  const bool light = flags.load != "high";
  const bool heavy = flags.load != "low";
  bool failed = false;
  CostPlot costs;
  Json list = Json::array();
  if (!flags.json)
    fmt::print(
        "Messages per entry, client delay (request to entry, the section being free) and synchronisation "
        "delay\n"
        "(exit to next entry, somebody waiting), in message delays T. Every message takes T, every entry "
        "lasts T.\n"
        "low: one request at a time. high: everybody asks again within 2T. * differs from the claim.\n"
        "kept: a property in brackets is not claimed, yet was not violated here either.\n");
  for (const std::int64_t nodes : flags.nodes) {
    std::vector<catalogue::ComparedRow> rows;
    for (const catalogue::Entry* row_entry : *family) {
      const catalogue::Entry& entry = *row_entry;
      if (on_terminal(stderr)) fmt::print(stderr, "\rN = {}: {}\033[K", nodes, entry.name);
      rows.push_back(catalogue::compare(entry, static_cast<std::uint32_t>(nodes), light, heavy, flags.seed));
      const catalogue::ComparedRow& row = rows.back();
      if (light && row.light->messages)
        costs.add(entry.name, static_cast<double>(nodes), "messages per entry", row.light->messages->value);
      failed = failed || (light && row.light->judged.failure) || (heavy && row.heavy->judged.failure);
      if (!flags.json) continue;
      Json object = {{"protocol", entry.name}, {"nodes", nodes}};
      if (light) object["low"] = load_json(entry, *row.light, false);
      if (heavy) object["high"] = load_json(entry, *row.heavy, true);
      object["remarks"] = row.remarks;
      list.push_back(object);
    }
    if (on_terminal(stderr)) fmt::print(stderr, "\r\033[K");
    if (!flags.json) print_table(static_cast<std::uint32_t>(nodes), rows, light, heavy);
  }
  if (flags.json) fmt::print("{}\n", list.dump(2));
  if (!flags.plot.empty()) {
    if (const int status = save_plot(flags, costs); status != ok) return status;
  }
  return failed ? property_failed : ok;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("compare", "Measure every algorithm of a family against the literature");
  verb->add_option("FAMILY", flags->family,
                   "mutex, election, consensus, log, timesync, registers, overlay, causality")
      ->capture_default_str();
  verb->add_option("--nodes", flags->nodes, "numbers of processes (usually 3,7,13,31 or 4,8)")
      ->delimiter(',');
  verb->add_option("--load", flags->load, "for mutex: low, high or both")->capture_default_str();
  verb->add_option("--seed", flags->seed, "of the order of requests under low load")->capture_default_str();
  verb->add_option("--plot", flags->plot,
                   "messages against N on logarithmic axes, as a picture in this file");
  verb->add_flag("--json", flags->json, "the table for programs");
  verb->footer(
      "Examples:\n  conclave compare --nodes 7,31 --load high\n  conclave compare election --nodes 5,10");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
