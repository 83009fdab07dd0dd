#include "scenario/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "catalogue/judge.hpp"
#include "catalogue/limits/rows.hpp"
#include "core/ensure.hpp"

namespace conclave::scenario {
namespace {

void follow(const std::string& problem, const std::string& direction) {
  if (!problem.empty()) ensure(false, fmt::format("'{}' cannot be done: {}", direction, problem).c_str());
}

// The signed number in the field `key`; conclave writes no spaces.
std::optional<std::int64_t> value_field(const std::string& object, const std::string& key) {
  const std::size_t at = object.find('"' + key + "\":");
  if (at == std::string::npos) return std::nullopt;
  return std::stoll(object.substr(at + key.size() + 3));
}

}  // namespace

bool Run::holds(std::string_view property) const {
  const auto found = std::ranges::find(verdicts, property, &trace::Verdict::property);
  ensure(found != verdicts.end(), "a scenario asks for properties that its monitor watches");
  return found->holds;
}

std::uint64_t Run::messages() const {
  std::uint64_t count = 0;
  for (const trace::Step& step : trace.steps) {
    if (step.kind != trace::Kind::tell) count += step.sends.size();
  }
  return count;
}

std::uint64_t Run::bounced() const {
  return static_cast<std::uint64_t>(std::ranges::count(trace.steps, trace::Kind::bounce,
                                                       [](const trace::Step& step) { return step.kind; }));
}

std::vector<NodeId> Run::entered() const {
  std::vector<NodeId> order;
  for (const trace::Step& step : trace.steps) {
    for (const trace::Item& event : step.events) {
      if (event.type == "Granted") order.push_back(*step.node);
    }
  }
  return order;
}

std::map<NodeId, NodeId> Run::leaders(Ticks until) const {
  std::map<NodeId, NodeId> leaders;
  for (const trace::Step& step : trace.steps) {
    if (until < step.at) break;
    if (!step.node) continue;
    if (step.kind == trace::Kind::crash) leaders.erase(*step.node);
    for (const trace::Item& event : step.events) {
      leaders.erase(*step.node);
      if (const auto leader = trace::number_field(event.content, "leader"))
        leaders[*step.node] = NodeId{static_cast<std::uint32_t>(*leader)};
    }
  }
  return leaders;
}

std::map<NodeId, std::int64_t> Run::decided() const {
  std::map<NodeId, std::int64_t> decided;
  for (const trace::Step& step : trace.steps) {
    for (const trace::Item& event : step.events) {
      if (event.type != "Decided") continue;
      const auto value = value_field(event.content, "value");
      ensure(value.has_value(), "a decision says what was decided");
      decided.try_emplace(*step.node, *value);
    }
  }
  return decided;
}

std::vector<trace::Step> Run::to_draw() const {
  const auto is_routine = [&](const std::string& type) {
    return std::ranges::find(routine, type) != routine.end();
  };
  std::set<std::uint64_t> left_out;  // routine messages: their loss is routine too
  std::vector<trace::Step> some;
  for (const trace::Step& step : trace.steps) {
    for (const trace::Sent& sent : step.sends) {
      if (is_routine(sent.what.type)) left_out.insert(sent.id);
    }
    if (step.kind == trace::Kind::lose && step.message && left_out.contains(*step.message)) continue;
    const bool matters =
        !is_routine(step.input.type) || !step.events.empty() ||
        std::ranges::any_of(step.sends, [&](const trace::Sent& sent) { return !is_routine(sent.what.type); });
    if (matters) some.push_back(step);
  }
  return some;
}

const catalogue::Entry& row(std::string_view name) {
  const catalogue::Entry* entry = catalogue::find_limit(name);  // the list has a row of that name to read
  if (!entry) entry = catalogue::find(name);
  ensure(entry != nullptr, "scenarios play what is in the catalogue");
  return *entry;
}

trace::Run Recorder::run(const catalogue::Setting& setting) const {
  ensure(!dropped_some(), "a run that one can watch is not that long");
  trace::Run run = {.header = header(), .steps = steps(), .end = end_};
  run.header.protocol = setting.protocol;
  run.header.variant = setting.variant;
  return run;
}

Directed::Directed(std::string title, catalogue::Setting setting)
    : title_(std::move(title)),
      setting_(std::move(setting)),
      monitor_(row(setting_.protocol).monitor({.nodes = setting_.members.size()}, setting_)),
      tee_({monitor_.get(), &recorder_}),
      stage_(row(setting_.protocol).stage(setting_, &tee_)) {}

void Directed::command(NodeId node, std::string_view type) {
  follow(stage_->command(node, type), fmt::format("{} of p{}", type, node.value));
}

void Directed::deliver(NodeId from, NodeId to, std::string_view type) {
  follow(stage_->deliver(from, to, type, false),
         fmt::format("{} from p{} to p{}", type, from.value, to.value));
}

void Directed::tell(NodeId from, NodeId to) {
  follow(stage_->tell(from, to), fmt::format("p{} tells p{}", from.value, to.value));
}

void Directed::crash(NodeId node) { follow(stage_->crash(node), fmt::format("p{} crashes", node.value)); }

void Directed::fire(NodeId node) { follow(stage_->fire(node), fmt::format("time-out of p{}", node.value)); }

void Directed::inject(NodeId from, NodeId to, std::string_view type) {
  follow(stage_->inject(from, to, type), fmt::format("{} between p{} and p{}", type, from.value, to.value));
}

void Directed::deliver_all() {
  constexpr std::size_t patience = 10'000;
  for (std::size_t i = 0; stage_->deliver_oldest(); ++i)
    ensure(i < patience, "a scenario delivers all only where messages come to an end");
}

Run Directed::finish() {
  stage_->end();
  return {.title = std::move(title_),
          .trace = recorder_.run(setting_),
          .verdicts = monitor_->verdicts(),
          .facts = monitor_->facts()};
}

sim::Options timed(const NodeSet& members, std::uint64_t latency, sim::Script script) {
  sim::Options options = {.nodes = members.size(), .members = members};
  options.delay.usual = {sim::Delay::Shape::fixed, latency, latency};
  options.script = std::move(script);
  options.detector = false;
  options.ranked = true;
  return options;
}

Run simulated(std::string title, const sim::Options& options, const catalogue::Setting& setting) {
  Recorder recorder;
  catalogue::Judged judged = catalogue::judge(row(setting.protocol), options, setting, &recorder);
  if (!judged.report.broken.empty()) ensure(false, judged.report.broken.c_str());
  return {.title = std::move(title),
          .trace = recorder.run(setting),
          .verdicts = std::move(judged.verdicts),
          .facts = std::move(judged.facts)};
}

}  // namespace conclave::scenario
