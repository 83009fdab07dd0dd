// conclave trace merge: one trace of what several processes wrote of one run.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "trace/merge.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::vector<std::string> files;
  std::string run;
  std::string output;
};

using Runs = std::map<std::string, std::vector<trace::Part>>;

std::expected<Runs, std::string> read_all(const std::vector<std::string>& files) {
  Runs runs;
  for (const std::string& name : files) {
    std::ifstream file(name, std::ios::binary);
    if (!file) return std::unexpected(fmt::format("cannot read '{}': {}", name, std::strerror(errno)));
    auto parts = trace::read_parts(file, name);
    if (!parts) return std::unexpected(parts.error());
    for (trace::Part& part : *parts) runs[part.header.run].push_back(std::move(part));
  }
  return runs;
}

void list(const Runs& runs) {
  using Align = Table::Align;
  Table table({Align::left, Align::left, Align::left, Align::right, Align::left});
  table.add({"run", "algorithm", "written by", "steps", ""});
  for (const auto& [name, parts] : runs) {
    std::string who;
    std::size_t steps = 0;
    bool ended = true;
    for (const trace::Part& part : parts) {
      who += fmt::format("{}p{}", who.empty() ? "" : " ", part.header.node->value);
      steps += part.steps.size();
      ended = ended && part.end;
    }
    table.add({name.empty() ? "(without a name)" : name, parts.front().header.protocol, who,
               with_commas(steps), ended ? "" : "not ended"});
  }
  fmt::print("{}", table.to_string());
}

int run(const Flags& flags) {
  const auto runs = read_all(flags.files);
  if (!runs) return complain(runs.error());
  auto chosen = runs->begin();
  if (!flags.run.empty()) {
    chosen = runs->find(flags.run);
    if (chosen == runs->end()) {
      list(*runs);
      return complain(fmt::format("no file tells of a run '{}'", flags.run));
    }
  } else if (runs->size() > 1) {
    list(*runs);
    return complain(fmt::format("the files tell of {} runs: say which one with --run", runs->size()));
  }
  const auto merged = trace::merge(chosen->second);
  if (!merged) return complain(merged.error());
  for (const std::string& remark : merged->remarks) fmt::print(stderr, "conclave: {}\n", remark);
  const auto write = [&](std::ostream& out) {
    trace::JsonWriter writer(out);
    writer.begin(merged->run.header);
    for (const trace::Step& step : merged->run.steps) writer.see(step);
    writer.end(merged->run.end);
  };
  if (flags.output.empty() || flags.output == "-") {
    write(std::cout);
    std::cout.flush();
    return std::cout ? ok : complain("cannot write to the standard output");
  }
  OutputFile file(flags.output);
  if (file.stream()) write(file.stream());
  if (const auto written = file.finish(); !written) return complain(written.error());
  return ok;
}

}  // namespace

void add_trace_merge(CLI::App& trace, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = trace.add_subcommand(
      "merge", "Join what several processes wrote of one run to one trace, in causal order");
  verb->add_option("FILE", flags->files, "what each of them wrote; docs/trace.md describes it")->required();
  verb->add_option("--run", flags->run, "which run, where the files tell of several, as printer@3");
  verb->add_option("-o,--output", flags->output, "where to write the trace; else to the standard output");
  verb->footer(
      "Example:\n  conclave trace merge m1.jsonl m2.jsonl m3.jsonl --run printer@3 -o printer.jsonl\n"
      "  conclave trace printer.jsonl --diagram");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
