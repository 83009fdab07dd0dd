#include "catalogue/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sim/seeds.hpp"
#include "trace/tee.hpp"

namespace conclave::catalogue {

void find_failure(const Entry& entry, const sim::Options& options, Judged& judged) {
  judged.failed.clear();
  judged.failure.reset();
  const auto fail = [&](std::string_view what, std::string why) {
    judged.failed = what;
    judged.failure = std::move(why);
  };
  if (!judged.report.broken.empty())
    return fail("rule", fmt::format("the protocol broke its own rule: {}", judged.report.broken));
  for (const trace::Verdict& verdict : judged.verdicts) {
    if (!verdict.holds && entry.claims_property(verdict.property))
      return fail(verdict.property, fmt::format("{} is violated: {}", verdict.property, verdict.why));
  }
  if (judged.report.steps >= options.step_limit && !options.run_on)
    fail("end", fmt::format("no end after {} steps", judged.report.steps));
}

namespace {

// What no trace shows: what holds of the states of all processes together.
void add_what_was_found_inside(const Entry& entry, Judged& judged) {
  if (!judged.report.looked_inside) return;
  for (const std::string_view property : entry.properties) {
    if (std::ranges::find(judged.verdicts, property, &trace::Verdict::property) != judged.verdicts.end())
      continue;
    const auto wrong = std::ranges::find(judged.report.wrongs, property, &Wrong::property);
    trace::Verdict verdict = {.property = std::string(property)};
    if (wrong != judged.report.wrongs.end()) {
      verdict.holds = false;
      verdict.why = wrong->why;
    }
    judged.verdicts.push_back(std::move(verdict));
  }
}

}  // namespace

Judged judge_run(const Entry& entry, const sim::Options& options, const Setting& setting,
                 trace::Observer* also, const std::function<sim::Report(trace::Observer*)>& run) {
  Judged judged;
  judged.order_watched = options.nodes <= most_nodes_for_vectors;
  const auto monitor = entry.monitor(options, setting);
  trace::Tee both({monitor.get(), also});
  trace::Observer* const observer = also ? static_cast<trace::Observer*>(&both) : monitor.get();
  const auto start = std::chrono::steady_clock::now();
  judged.report = run(observer);
  judged.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const auto* mutex = dynamic_cast<const trace::MutexMonitor*>(monitor.get()))
    judged.summary = mutex->summary();
  judged.verdicts = monitor->verdicts();
  add_what_was_found_inside(entry, judged);
  judged.facts = monitor->facts();
  judged.chart = monitor->chart();
  find_failure(entry, options, judged);
  return judged;
}

Judged judge(const Entry& entry, const sim::Options& options, const Setting& given, trace::Observer* also) {
  Setting setting = given;
  setting.seed = options.seed;
  return judge_run(entry, options, setting, also,
                   [&](trace::Observer* observer) { return entry.simulate(options, setting, observer); });
}

std::optional<sim::Script> shrink_failure(const Entry& entry, sim::Options options, const Setting& setting) {
  options.record = true;
  const Judged original = judge(entry, options, setting);
  const sim::Script& done = original.report.done;
  options.record = false;
  options.faults = {};
  const auto fails = [&](const sim::Script& script) {
    options.script = script;
    return judge(entry, options, setting).failed == original.failed;
  };
  if (!fails(done)) return std::nullopt;
  return sim::shrink(done, fails);
}

}  // namespace conclave::catalogue
