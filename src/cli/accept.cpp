// conclave accept: run a file of acceptance vectors.
#include "accept/vectors.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::string file;
  std::string only = "*";
  bool json = false;
};

const char* word(accept::Result::Outcome outcome) {
  switch (outcome) {
    case accept::Result::Outcome::passed: return "passed";
    case accept::Result::Outcome::failed: return "failed";
    case accept::Result::Outcome::skipped: return "skipped";
  }
  return "";
}

int run(const Flags& flags) {
  const auto text = read_file(flags.file);
  if (!text) return complain(text.error());
  const auto vectors = accept::parse(*text);
  if (!vectors) return complain(fmt::format("{}: {}", flags.file, vectors.error()));

  std::map<accept::Result::Outcome, std::size_t> counts;
  accept::Json list = accept::Json::array();
  for (const accept::Vector& vector : *vectors) {
    if (!accept::matches(flags.only, vector.name)) continue;
    const accept::Result result = accept::run(vector);
    ++counts[result.outcome];
    if (flags.json) {
      list.push_back({{"name", vector.name},
                      {"kind", vector.kind},
                      {"outcome", word(result.outcome)},
                      {"why", result.why}});
      continue;
    }
    const Colour colour = result.outcome == accept::Result::Outcome::passed   ? Colour::green
                          : result.outcome == accept::Result::Outcome::failed ? Colour::red
                                                                              : Colour::dim;
    fmt::print("{}  {}{}\n", paint(fmt::format("{:<7}", word(result.outcome)), colour), vector.name,
               result.why.empty() ? "" : ": " + result.why);
  }
  const std::size_t passed = counts[accept::Result::Outcome::passed];
  const std::size_t failed = counts[accept::Result::Outcome::failed];
  const std::size_t skipped = counts[accept::Result::Outcome::skipped];
  if (passed + failed + skipped == 0)
    return complain(fmt::format("no vector of {} matches '{}'; it has {} vectors", flags.file, flags.only,
                                vectors->size()));
  if (flags.json) {
    fmt::print(
        "{}\n",
        accept::Json{{"passed", passed}, {"failed", failed}, {"skipped", skipped}, {"vectors", list}}.dump(
            2));
  } else {
    fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  }
  return failed > 0 ? property_failed : ok;
}

}  // namespace

void add_accept(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("accept", "Run a file of acceptance vectors: scripts, counts, formulas");
  verb->add_option("FILE", flags->file, "the vectors, as JSON; docs/vectors.md describes the format")
      ->required();
  verb->add_option("--only", flags->only, "only those whose name matches, e.g. 'ra/*'")
      ->capture_default_str();
  verb->add_flag("--json", flags->json, "the results for programs");
  verb->footer("Example:\n  conclave accept tests/vectors/mutex.json --only 'maekawa*'");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
