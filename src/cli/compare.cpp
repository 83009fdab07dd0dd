// conclave compare: the comparison table of the literature, measured.
#include "catalogue/compare.hpp"

#include <nlohmann/json.hpp>

#include "cli/report.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::vector<std::int64_t> nodes = {3, 7, 13, 31};
  std::string load = "both";
  std::uint64_t seed = 1;
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

int run(const Flags& flags) {
  if (flags.load != "low" && flags.load != "high" && flags.load != "both")
    return complain(fmt::format("--load {}: must be low, high or both", flags.load));
  for (const std::int64_t nodes : flags.nodes) {
    if (nodes < 1 || nodes > most_nodes)
      return complain(fmt::format("--nodes {}: compare runs with 1 to {} nodes", nodes, most_nodes));
  }
  const bool light = flags.load != "high";
  const bool heavy = flags.load != "low";
  bool failed = false;
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
    for (const catalogue::Entry& entry : catalogue::entries()) {
      if (entry.family != "mutex") continue;
      if (on_terminal(stderr)) fmt::print(stderr, "\rN = {}: {}\033[K", nodes, entry.name);
      rows.push_back(catalogue::compare(entry, static_cast<std::uint32_t>(nodes), light, heavy, flags.seed));
      const catalogue::ComparedRow& row = rows.back();
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
  return failed ? property_failed : ok;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("compare", "Measure every mutual exclusion algorithm against the literature");
  verb->add_option("--nodes", flags->nodes, "numbers of processes")->delimiter(',')->capture_default_str();
  verb->add_option("--load", flags->load, "low, high or both")->capture_default_str();
  verb->add_option("--seed", flags->seed, "of the order of requests under low load")->capture_default_str();
  verb->add_flag("--json", flags->json, "the table for programs");
  verb->footer("Example:\n  conclave compare --nodes 7,31 --load high");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
