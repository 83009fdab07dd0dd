// conclave catalogue: what there is.
#include <nlohmann/json.hpp>

#include "catalogue/engines.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "core/describe.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string readable(std::string_view enumerator) {
  std::string text(enumerator);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

// What becomes of the others when a member of the service dies; empty for what does not run as one.
std::string on_death(const catalogue::Entry& entry) {
  return entry.engine ? catalogue::engine_of(entry, {}).on_death : "";
}

Json to_json(const catalogue::Entry& entry) {
  Json variants = Json::array();
  for (const catalogue::Variant& variant : entry.variants)
    variants.push_back({{"name", variant.name}, {"what", variant.what}, {"deviation", variant.deviation}});
  Json parameters = Json::array();
  for (const catalogue::Parameter& parameter : entry.parameters)
    parameters.push_back({{"name", parameter.name}, {"what", parameter.what}, {"usual", parameter.usual}});
  return {{"name", entry.name},
          {"family", entry.family},
          {"title", entry.title},
          {"paper", entry.paper},
          {"year", entry.year},
          {"worlds", entry.worlds},
          {"assumptions", Json::parse(describe_json(entry.assumes))},
          {"cost", entry.cost},
          {"properties", entry.properties},
          {"remark", entry.remark},
          {"variants", variants},
          {"parameters", parameters},
          {"when_a_member_dies", on_death(entry)},
          {"source", entry.source}};
}

int show_one(const catalogue::Entry& entry) {
  fmt::print("{}: {}\n\n", paint(entry.name, Colour::bold), entry.title);
  Table table({Table::Align::left, Table::Align::left});
  table.add({"  paper", std::string(entry.paper)});
  table.add({"  family", std::string(entry.family)});
  table.add({"  worlds", joined(entry.worlds)});
  table.add({"  links", readable(enumerator_name(entry.assumes.links))});
  table.add({"  crashes", readable(enumerator_name(entry.assumes.crashes))});
  table.add({"  timing", readable(enumerator_name(entry.assumes.timing))});
  table.add({"  cost", std::string(entry.cost)});
  table.add({"  keeps", joined(entry.properties)});
  if (!entry.remark.empty()) table.add({"  does not keep", std::string(entry.remark)});
  if (entry.engine) table.add({"  when a member dies", on_death(entry)});
  table.add({"  source", std::string(entry.source)});
  for (const catalogue::Variant& variant : entry.variants)
    table.add({fmt::format("  --variant {}", variant.name),
               fmt::format("{}{}", variant.what,
                           variant.deviation ? " (a deviation, to show what goes wrong)" : "")});
  for (const catalogue::Parameter& parameter : entry.parameters)
    table.add({fmt::format("  --set {}={}", parameter.name, parameter.usual), std::string(parameter.what)});
  fmt::print("{}", table.to_string());
  return ok;
}

int show_all(const std::vector<const catalogue::Entry*>& rows) {
  Table table(std::vector(6, Table::Align::left));
  table.add({"name", "family", "year", "assumes", "cost", "keeps"});
  table.add_rule();
  for (const catalogue::Entry* row : rows) {
    const catalogue::Entry& entry = *row;
    table.add({std::string(entry.name), std::string(entry.family),
               entry.year > 0 ? std::to_string(entry.year) : "-",
               entry.simulate ? readable(enumerator_name(entry.assumes.links)) : "-", std::string(entry.cost),
               joined(entry.properties)});
  }
  fmt::print("{}\n{} algorithms; conclave catalogue NAME says more of one.\n", table.to_string(),
             rows.size());
  return ok;
}

// docs/protocols.md: the test suite keeps it equal to this.
int show_markdown() {
  fmt::print(
      "# Protocols\n\nWritten by `conclave catalogue --markdown`; change the catalogue, not this page.\n\n"
      "| name | family | paper | links | cost | keeps | does not keep |\n|---|---|---|---|---|---|---|\n");
  for (const catalogue::Entry& entry : catalogue::entries())
    fmt::print("| [{}](../{}) | {} | {} | {} | {} | {} | {} |\n", entry.name, entry.source, entry.family,
               entry.paper, readable(enumerator_name(entry.assumes.links)), entry.cost,
               joined(entry.properties), entry.remark);
  fmt::print("\n| as a service (`conclave serve --engine NAME`) | when a member dies |\n|---|---|\n");
  for (const catalogue::Entry& entry : catalogue::entries()) {
    if (entry.engine) fmt::print("| {} | {} |\n", entry.name, on_death(entry));
  }
  fmt::print("\n| variant | of | what |\n|---|---|---|\n");
  for (const catalogue::Entry& entry : catalogue::entries()) {
    for (const catalogue::Variant& variant : entry.variants) {
      if (variant.name != "canonical")
        fmt::print("| {} | {} | {}{} |\n", variant.name, entry.name, variant.what,
                   variant.deviation ? " (a deviation, to show what goes wrong)" : "");
    }
  }
  return ok;
}

}  // namespace

const catalogue::Entry* entry_or_complain(const std::string& name) {
  if (const catalogue::Entry* entry = catalogue::find(name)) return entry;
  std::string hint = "conclave catalogue lists all";
  if (const auto near = catalogue::similar(name); !near.empty())
    hint = fmt::format("did you mean {}?", near.front());
  complain(fmt::format("there is no algorithm '{}'; {}", name, hint));
  return nullptr;
}

namespace {

struct Flags {
  std::string name;
  std::string family;
  std::string world;
  bool json = false;
  bool names = false;
  bool markdown = false;
};

int run(const Flags& flags) {
  std::vector<const catalogue::Entry*> rows;
  if (!flags.name.empty()) {
    const catalogue::Entry* only = entry_or_complain(flags.name);
    if (!only) return usage_error;
    if (!flags.json && !flags.names) return show_one(*only);
    rows.push_back(only);
  } else {
    for (const catalogue::Entry& entry : catalogue::entries()) {
      const bool in_world =
          flags.world.empty() || std::ranges::find(entry.worlds, flags.world) != entry.worlds.end();
      if (in_world && (flags.family.empty() || entry.family == flags.family)) rows.push_back(&entry);
    }
    if (rows.empty())
      return complain(
          fmt::format("nothing in the catalogue is of family '{}' and world '{}'; conclave catalogue "
                      "lists all",
                      flags.family, flags.world));
  }
  if (flags.markdown) return show_markdown();
  if (flags.names) {
    for (const catalogue::Entry* entry : rows) fmt::print("{}\n", entry->name);
    return ok;
  }
  if (!flags.json) return show_all(rows);
  Json list = Json::array();
  for (const catalogue::Entry* entry : rows) list.push_back(to_json(*entry));
  fmt::print("{}\n", list.dump(2));
  return ok;
}

}  // namespace

void add_catalogue(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("catalogue", "List every algorithm: paper, assumptions, cost, variants");
  verb->add_option("NAME", flags->name, "only this one, in full");
  verb->add_option("--family", flags->family, "only this family: mutex, election, …")->excludes("NAME");
  verb->add_option("--world", flags->world, "only what runs there: sim, check, live, or tool")
      ->excludes("NAME");
  verb->add_flag("--json", flags->json, "for programs: a list of objects");
  verb->add_flag("--names", flags->names, "for scripts: a name a line")->excludes("--json");
  verb->add_flag("--markdown", flags->markdown, "as a page for people: docs/protocols.md")
      ->excludes("--json")
      ->excludes("--names")
      ->excludes("NAME");
  verb->footer("Examples:\n  conclave catalogue ricart-agrawala\n  conclave catalogue --family election");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
