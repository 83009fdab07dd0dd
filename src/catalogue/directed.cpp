#include "catalogue/directed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/ensure.hpp"
#include "sim/direct.hpp"
#include "sim/slowness.hpp"
#include "trace/parse_json.hpp"
#include "trace/tee.hpp"

namespace conclave::catalogue {
namespace {

constexpr const char* checked = "check";  // the world of counterexamples

// A stage knows neither what it plays nor how the play is meant to end.
class Titled : public trace::Observer {
 public:
  Titled(trace::Observer& inner, const Setting& setting, std::string world)
      : inner_(inner), setting_(setting), world_(std::move(world)) {}
  void begin(const trace::Header& header) override {
    trace::Header titled = header;
    titled.protocol = setting_.protocol;
    titled.variant = setting_.variant;
    titled.world = world_;
    titled.seed = setting_.seed;
    inner_.begin(titled);
  }
  void see(const trace::Step& step) override {
    if (trace::is_directed(step)) return inner_.see(step);
    trace::Step start = step;  // by hand, even starting takes its time
    start.at = {};
    inner_.see(start);
  }
  void end(const trace::End& end) override {
    trace::End ending = end;
    ending.broken = broken;
    if (shown) {
      ending.at = shown->at;
      ending.quiet = shown->quiet;
    }
    if (!broken.empty()) ending.quiet = false;
    inner_.end(ending);
  }
  bool wants_contents() const override { return inner_.wants_contents(); }
  bool wants_vectors() const override { return inner_.wants_vectors(); }

  std::string broken = {};
  std::optional<trace::End> shown = {};

 private:
  trace::Observer& inner_;
  const Setting& setting_;
  std::string world_;
};

// A counterexample ends where it has shown what it is to show. Who still waits then has not waited in vain.
void judge_only_what_happened(const Entry& entry, const sim::Options& options, Judged& judged) {
  static constexpr std::array<std::string_view, 9> waits_for_the_end = {
      "EM2", "ND", "E2", "I2", "termination", "complete", "growth", "attached", "placed"};
  std::erase_if(judged.verdicts, [](const trace::Verdict& verdict) {
    return std::ranges::find(waits_for_the_end, verdict.property) != waits_for_the_end.end();
  });
  find_failure(entry, options, judged);
}

// The parameters of an algorithm that carries them in its state.
std::string setup_in(const trace::Run& run) {
  if (run.steps.empty() || run.steps.front().kind != trace::Kind::start) return {};
  const auto state = trace::parse_json<nlohmann::ordered_json>(run.steps.front().changed);
  return state.is_object() && state.contains("setup") ? state["setup"].dump() : std::string();
}

Directed run(const Entry& entry, const sim::Options& options, const Setting& given,
             const trace::Directions& directions, trace::Observer* also, const trace::Run* shown) {
  ensure(entry.stage != nullptr, "only what has a stage can be directed");
  Directed directed;
  Setting setting = given;
  setting.seed = options.seed;
  if (shown) setting.shown = setup_in(*shown);
  const std::string world = shown ? shown->header.world : checked;
  std::optional<trace::Repetition> repetition;
  if (shown) repetition.emplace(shown->steps);
  const sim::Options known = sim::of_unknown_slowness(options);
  directed.judged = judge_run(entry, known, setting, also, [&](trace::Observer* observer) {
    sim::Tally tally;
    std::vector<trace::Observer*> all = {observer, &tally};
    if (repetition) all.push_back(&*repetition);
    trace::Tee tee(all);
    Titled titled(tee, setting, world);
    const auto stage = entry.stage(setting, &titled);
    sim::Followed followed = run_directions(*stage, directions, repetition ? &*repetition : nullptr);
    titled.broken = followed.broken;
    if (shown) {
      titled.shown = shown->end;
      const bool whole = followed.problem.empty() && followed.directions == directions.size();
      if (!followed.broken.empty() && (!whole || shown->end.broken.empty()))
        followed.problem =
            fmt::format("step {}: the replay breaks the rule '{}', the trace does not show that",
                        tally.report().steps, followed.broken);
      if (whole && followed.broken.empty() && !shown->end.broken.empty())
        followed.problem = fmt::format("the trace ends with the broken rule '{}', the replay breaks none",
                                       shown->end.broken);
    }
    stage->end();
    directed.problem = std::move(followed.problem);
    return tally.report();
  });
  const sim::Report& report = directed.judged.report;
  if (world == checked && !report.quiet && report.broken.empty())
    judge_only_what_happened(entry, options, directed.judged);
  return directed;
}

}  // namespace

Directed direct(const Entry& entry, const sim::Options& options, const Setting& setting,
                const trace::Directions& directions, trace::Observer* also) {
  return run(entry, options, setting, directions, also, nullptr);
}

Directed repeat(const Entry& entry, const sim::Options& options, const Setting& setting,
                const trace::Run& shown, trace::Observer* also) {
  const auto directions = trace::directions_of(shown.steps);
  if (!directions) return {.problem = directions.error()};
  return run(entry, options, setting, *directions, also, &shown);
}

}  // namespace conclave::catalogue
