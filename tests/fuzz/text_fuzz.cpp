// Whatever the text, the parsers of what users write return a value or a sentence; and what they accept
// prints as text that parses to the same. The first byte chooses the parser (L: logs of vector clocks, J:
// values in traces), the rest is parsed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "causality/log.hpp"
#include "core/describe.hpp"
#include "core/read_json.hpp"
#include "protocols/raft/raft.hpp"
#include "sim/delay.hpp"
#include "sim/faults.hpp"
#include "sim/script.hpp"
#include "trace/json.hpp"

namespace {

using namespace conclave;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

void parse_one_script(const std::string& text) {
  const NodeSet members = NodeSet::range({1}, 5);
  const auto script = sim::parse_script(text, members);
  if (!script) return require(!script.error().empty(), "a script is refused with a sentence");
  const auto again = sim::parse_script(sim::to_json(*script), members);
  require(again && *again == *script, "a script that was printed parses to the same");
}

// A trace that was read and written reads and writes the same.
std::string write(const trace::Run& run) {
  std::ostringstream out;
  trace::JsonWriter writer(out);
  writer.begin(run.header);
  for (const trace::Step& step : run.steps) writer.see(step);
  writer.end(run.end);
  return out.str();
}

void read_one_trace(const std::string& text) {
  std::istringstream in(text);
  const auto run = trace::read(in);
  if (!run) return require(!run.error().empty(), "a trace is refused with a sentence");
  const std::string written = write(*run);
  std::istringstream back(written);
  const auto again = trace::read(back);
  require(again && write(*again) == written, "a trace that was written reads the same");
}

// Writes what it is shown in ShiViz's usual form.
std::string written_log(const std::string& text, const causality::LogOptions& options, std::string& error) {
  std::istringstream in(text);
  std::ostringstream out;
  causality::ShivizWriter writer(out);
  causality::Collector collector;
  causality::LogTee both({&writer, &collector});
  const auto summary = causality::read_log(in, {}, options, both);
  error = summary ? std::string() : summary.error();
  writer.finish();
  for (const auto& execution : collector.finish()) {
    const causality::History& history = execution->history;
    if (history.flaw()) {
      require(!causality::in_words(*history.flaw(), execution->names).empty(), "a flaw is said in words");
    } else {
      require(history.concurrent_pairs() <= history.events() * history.events(), "pairs are counted");
      require(history.longest_chain() <= history.events(), "a chain has no event twice");
    }
  }
  return out.str();
}

// A log that was read and written reads and writes the same. The text may begin with an expression, as such
// files do.
void read_one_log(const std::string& text) {
  std::string error;
  const std::string written =
      written_log(text, {.limits = {.line = 4096, .hosts = 16, .host_name = 32}}, error);
  if (!error.empty()) return;
  const std::string again = written_log(written, {}, error);
  require(error.empty() && again == written, "a log that was written reads the same");
}

template <class... T>
void read_one_value(const std::string& text) {
  const auto read = [&]<class Value>(Value value) {
    if (!read_json(text, value)) return;
    Value again = {};
    require(read_json(describe_json(value), again) && again == value,
            "a value that was described reads the same");
  };
  (read(T{}), ...);
}

void parse_one_delay(const std::string& text) {
  const auto delay = sim::Delay::parse(text);
  if (!delay) return require(!delay.error().empty(), "a delay is refused with a sentence");
  const auto again = sim::Delay::parse(delay->to_string());
  require(again && again->to_string() == delay->to_string(), "a delay that was printed parses to the same");
}

void parse_one_list_of_faults(const std::string& text) {
  for (const bool beyond : {false, true}) {
    const Assumptions assumes = {.links = Links::reliable_unordered};
    const auto faults = sim::Faults::parse(text, assumes, beyond);
    if (!faults) {
      require(!faults.error().empty(), "faults are refused with a sentence");
      continue;
    }
    require(beyond || faults->beyond(assumes).empty(), "no fault that the assumptions rule out is accepted");
    const auto again = sim::Faults::parse(faults->to_string(), assumes, beyond);
    require(again && again->to_string() == faults->to_string(), "faults that were printed parse to the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 'L') return read_one_log(text), 0;
  if (data[0] == 'J')
    return read_one_value<log::Propose, log::Reconfigure, log::Compact, raft::Raft::Setup, raft::Raft>(text),
           0;
  switch (data[0] % 4) {
    case 0: parse_one_script(text); break;
    case 1: read_one_trace(text); break;
    case 2: parse_one_delay(text); break;
    default: parse_one_list_of_faults(text); break;
  }
  return 0;
}
