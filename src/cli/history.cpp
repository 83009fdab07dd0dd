// conclave history: judges a file of what clients of a store asked and were told.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "linear/history_file.hpp"
#include "linear/linear.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  linear::Bounds bounds;
  bool json = false;
};

std::expected<linear::History, std::string> read(const std::string& file) {
  if (file == "-") return linear::read_history(std::cin);
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) return std::unexpected("it is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::unexpected(std::strerror(errno));
  return linear::read_history(in);
}

const char* word_for(linear::Outcome outcome) {
  switch (outcome) {
    case linear::Outcome::fine: return "linearizable";
    case linear::Outcome::broken: return "not linearizable";
    case linear::Outcome::gave_up: return "gave up";
  }
  return "";
}

Json lines_of(const linear::History& operations) {
  Json lines = Json::array();
  for (const linear::Operation& operation : operations)
    lines.push_back(Json::parse(linear::to_line(operation)));
  return lines;
}

void print_json(const linear::History& history, const linear::Verdict& verdict) {
  Json out = {{"verdict", word_for(verdict.outcome)},
              {"operations", history.size()},
              {"keys", verdict.keys},
              {"unknown", verdict.unknown},
              {"steps", verdict.steps},
              {"broken", verdict.broken},
              {"gave_up", verdict.gave_up}};
  if (verdict.outcome == linear::Outcome::broken) {
    out["witnesses"] = lines_of(verdict.witnesses);
    out["order"] = verdict.order;
    out["misfit"] = verdict.misfit ? Json(*verdict.misfit) : Json(nullptr);
  }
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

int run(const Flags& flags) {
  const auto history = read(flags.file);
  if (!history)
    return complain(fmt::format("{}: {}; docs/history.md has the format", flags.file, history.error()));
  if (history->empty()) return complain(fmt::format("{}: there is no operation in it", flags.file));
  const linear::Verdict verdict = linear::judge(*history, flags.bounds);
  const bool fine = verdict.outcome == linear::Outcome::fine;
  if (flags.json) {
    print_json(*history, verdict);
    return fine ? ok : property_failed;
  }
  fmt::print("{} operations on {} keys, {} without an outcome: {}\n", with_commas(history->size()),
             with_commas(verdict.keys), with_commas(verdict.unknown),
             paint(word_for(verdict.outcome), fine ? Colour::green : Colour::red));
  if (!fine) fmt::print("{}", linear::explain(verdict));
  if (verdict.outcome == linear::Outcome::gave_up)
    fmt::print("at most {} steps and {} situations for each key; --steps and --memory allow more\n",
               with_commas(flags.bounds.steps), with_commas(flags.bounds.memory));
  return fine ? ok : property_failed;
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("history", "judge whether what clients were told is linearizable");
  const auto flags = std::make_shared<Flags>();
  verb->add_option("FILE", flags->file, "operations, one JSON object on a line each; - is the standard input")
      ->required();
  verb->add_option("--steps", flags->bounds.steps,
                   fmt::format("of the search, for each key ({})", flags->bounds.steps))
      ->check(CLI::PositiveNumber);
  verb->add_option(
          "--memory", flags->bounds.memory,
          fmt::format("situations remembered, for each key; 24 to 48 bytes each ({})", flags->bounds.memory))
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer(
      "Examples:\n"
      "  conclave history run.jsonl\n"
      "  printf '%s\\n' '{\"process\":1,\"op\":\"put\",\"key\":\"a\",\"value\":\"1\",\"begin\":0,\"end\":2}' "
      "\\\n"
      "                '{\"process\":2,\"op\":\"get\",\"key\":\"a\",\"found\":null,\"begin\":3,\"end\":4}' "
      "|\n"
      "    conclave history -\n\n"
      "Exit status: 0 linearizable, 1 not, or nobody knows within the bounds, 2 not a history.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
