// conclave catalogue: what there is.
#include <nlohmann/json.hpp>

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

Json to_json(const catalogue::Entry& entry) {
  Json variants = Json::array();
  for (const catalogue::Variant& variant : entry.variants)
    variants.push_back({{"name", variant.name}, {"what", variant.what}, {"deviation", variant.deviation}});
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
  table.add({"  source", std::string(entry.source)});
  for (const catalogue::Variant& variant : entry.variants)
    table.add({fmt::format("  --variant {}", variant.name),
               fmt::format("{}{}", variant.what,
                           variant.deviation ? " (a deviation, to show what goes wrong)" : "")});
  fmt::print("{}", table.to_string());
  return ok;
}

int show_all() {
  Table table(std::vector(6, Table::Align::left));
  table.add({"name", "family", "year", "assumes", "cost per entry", "keeps"});
  table.add_rule();
  for (const catalogue::Entry& entry : catalogue::entries())
    table.add({std::string(entry.name), std::string(entry.family), std::to_string(entry.year),
               readable(enumerator_name(entry.assumes.links)), std::string(entry.cost),
               joined(entry.properties)});
  fmt::print("{}\n{} algorithms; conclave catalogue NAME says more of one.\n", table.to_string(),
             catalogue::entries().size());
  return ok;
}

// docs/protocols.md: the test suite keeps it equal to this.
int show_markdown() {
  fmt::print(
      "# Protocols\n\nWritten by `conclave catalogue --markdown`; change the catalogue, not this page.\n\n"
      "| name | paper | links | messages per entry | keeps | does not keep |\n|---|---|---|---|---|---|\n");
  for (const catalogue::Entry& entry : catalogue::entries())
    fmt::print("| [{}](../{}) | {} | {} | {} | {} | {} |\n", entry.name, entry.source, entry.paper,
               readable(enumerator_name(entry.assumes.links)), entry.cost, joined(entry.properties),
               entry.remark);
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

void add_catalogue(CLI::App& app, Action& action) {
  struct Flags {
    std::string name;
    bool json = false;
    bool markdown = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("catalogue", "List every algorithm: paper, assumptions, cost, variants");
  verb->add_option("NAME", flags->name, "only this one, in full");
  verb->add_flag("--json", flags->json, "for programs: a list of objects");
  verb->add_flag("--markdown", flags->markdown, "as a page for people: docs/protocols.md")
      ->excludes("--json")
      ->excludes("NAME");
  verb->footer("Example:\n  conclave catalogue ricart-agrawala");
  verb->callback([flags, &action] {
    action = [flags] {
      const catalogue::Entry* only = nullptr;
      if (!flags->name.empty() && !(only = entry_or_complain(flags->name))) return usage_error;
      if (flags->markdown) return show_markdown();
      if (!flags->json) return only ? show_one(*only) : show_all();
      Json list = Json::array();
      for (const catalogue::Entry& entry : catalogue::entries()) {
        if (!only || &entry == only) list.push_back(to_json(entry));
      }
      fmt::print("{}\n", list.dump(2));
      return ok;
    };
  });
}

}  // namespace conclave::cli
